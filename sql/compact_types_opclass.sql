--
-- convert() and revert() carry over indexes with operator classes that are not the default ones, as
-- Django and Rails make them.
--
CREATE EXTENSION compact_char8;

\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/plan_has.sql'
\i :file

CREATE TABLE person (id int PRIMARY KEY, name varchar(60) COLLATE "en-x-icu" UNIQUE, mail text NOT NULL, code char(8) COLLATE "en-x-icu", note text COLLATE "en-x-icu");
INSERT INTO person SELECT i, 'a name of a person ' || i, 'person' || i || '@example.com', i, 'some words on the person ' || i FROM generate_series(1, 1000) i;
CREATE INDEX person_name_like ON person (name varchar_pattern_ops);
COMMENT ON INDEX person_name_like IS 'it''s for LIKE';
ALTER TABLE person CLUSTER ON person_name_like;
CREATE UNIQUE INDEX person_mail ON person (mail text_pattern_ops DESC NULLS LAST);
ALTER TABLE person REPLICA IDENTITY USING INDEX person_mail;
CREATE INDEX person_several ON person (note text_pattern_ops, name varchar_pattern_ops, id) INCLUDE (mail) WITH (fillfactor = 70) WHERE id > 4;
CREATE INDEX person_code ON person (code bpchar_pattern_ops);
CREATE INDEX person_ops ON person (name varchar_ops);
CREATE INDEX person_hash ON person USING hash (note text_pattern_ops);
CREATE INDEX person_bloom ON person USING brin (note text_bloom_ops (false_positive_rate = 0.05));
CREATE VIEW indexes AS SELECT indexrelid::regclass::text AS index, regexp_replace(pg_get_indexdef(indexrelid), '.* USING ', '') AS definition,
  indisunique, indisclustered, indisreplident, obj_description(indexrelid, 'pg_class')
FROM pg_index WHERE indrelid = (SELECT oid FROM pg_class WHERE relname = 'person') AND NOT indisprimary;
CREATE TABLE before AS SELECT * FROM indexes;
SELECT * FROM indexes ORDER BY 1;
SELECT column_name, proposed_type, risk, blockers FROM compact_types.advise('person');
-- Only an index for patterns served = and IN: such a column is converted if the user names it.
SELECT column_name, new_type FROM compact_types.convert('person', skip_blocked => true);
SELECT column_name, new_type FROM compact_types.revert('person');
SELECT * FROM compact_types.convert('person', '{name}');
SELECT * FROM indexes ORDER BY 1;
SELECT column_name, new_type FROM compact_types.convert('person', '{mail,code,note}');
SELECT * FROM indexes ORDER BY 1;
SELECT relreplident FROM pg_class WHERE relname = 'person';
SET enable_seqscan = off;
SELECT plan_has($$SELECT * FROM person WHERE name LIKE 'a name of a person 99%'$$, 'person_name_like'), count(*) FROM person WHERE name LIKE 'a name of a person 99%';
SELECT plan_has($$SELECT * FROM person WHERE code LIKE '99%'$$, 'person_code'), count(*) FROM person WHERE code LIKE '99%';
SELECT plan_has($$SELECT * FROM person WHERE note LIKE 'some words on the person 99%' AND id > 4$$, 'person_several'), count(*) FROM person WHERE note LIKE 'some words on the person 99%';
RESET enable_seqscan;
INSERT INTO person VALUES (0, 'x', 'person7@example.com', '', '') ON CONFLICT (mail) DO NOTHING;
INSERT INTO person VALUES (0, 'x', 'person7@example.com', '', '');
-- revert() gives each index its former definition, also for one column of several.
SELECT count(*) FROM compact_types.definitions;
SELECT column_name, new_type FROM compact_types.revert('person', '{name,mail}');
SELECT * FROM indexes ORDER BY 1;
SELECT column_name, new_type FROM compact_types.revert('person');
TABLE indexes EXCEPT TABLE before;
TABLE before EXCEPT TABLE indexes;
SELECT count(*) FROM compact_types.definitions;
-- An index that was created after the conversion, or has changed since then, keeps its definition.
SELECT column_name, new_type FROM compact_types.convert('person', '{name}');
ALTER INDEX person_ops RENAME TO person_renamed;
DROP INDEX person_name_like;
CREATE INDEX person_name_like ON person (name COLLATE "C", id);
CREATE INDEX person_new ON person (name varchar_pattern_ops);
SELECT column_name, new_type FROM compact_types.revert('person');
SELECT * FROM indexes WHERE index ~ 'name|new' ORDER BY 1;
DROP INDEX person_name_like, person_new;
ALTER INDEX person_renamed RENAME TO person_ops;
-- The former definition is that of the table's owner.
SELECT column_name, new_type FROM compact_types.convert('person', '{note}');
CREATE ROLE regress_opclass_owner;
ALTER TABLE person OWNER TO regress_opclass_owner;
SELECT column_name, blockers FROM compact_types.advise('person') WHERE column_name = 'note';
SELECT * FROM compact_types.revert('person');
DROP INDEX person_bloom;
GRANT ALL ON SCHEMA public TO regress_opclass_owner;
SELECT column_name, new_type FROM compact_types.revert('person');
SELECT * FROM indexes WHERE index ~ 'several|hash' ORDER BY 1;
-- A foreign key uses the index, so it keeps its definition.
CREATE TABLE referenced (id int, mail text NOT NULL);
INSERT INTO referenced SELECT i, 'person' || i || '@example.com' FROM generate_series(1, 1000) i;
CREATE UNIQUE INDEX referenced_mail ON referenced (mail text_pattern_ops);
SELECT column_name, new_type FROM compact_types.convert('referenced');
CREATE TABLE referencing (mail compact_text REFERENCES referenced (mail));
SELECT column_name, new_type FROM compact_types.revert('referenced');
SELECT pg_get_indexdef('referenced_mail'::regclass), pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'referencing'::regclass;
-- The column goes back to another type than it had.
CREATE EXTENSION compact_char30;
CREATE TABLE other_type (c varchar(30), d char(8));
INSERT INTO other_type SELECT 'some words here ' || i, i FROM generate_series(1, 1000) i;
CREATE INDEX other_c ON other_type (c varchar_pattern_ops);
CREATE INDEX other_d ON other_type (d bpchar_pattern_ops);
SELECT column_name, new_type FROM compact_types.convert('other_type', '{c,d}');
ALTER TABLE other_type ALTER c TYPE compact_char30, ALTER d TYPE compact_text;
SELECT column_name, new_type FROM compact_types.revert('other_type', unrecorded => true);
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'other_type'::regclass ORDER BY 1;
-- An index with an explicit collation, and a setting that changes the text of definitions
CREATE TABLE collated (c text COLLATE "C");
INSERT INTO collated SELECT 'some words here ' || i FROM generate_series(1, 1000) i;
CREATE INDEX collated_c ON collated (c COLLATE "en-x-icu" text_pattern_ops);
SET quote_all_identifiers = on;
SELECT column_name, new_type FROM compact_types.convert('collated', '{c}');
RESET quote_all_identifiers;
SELECT pg_get_indexdef('collated_c'::regclass);
SET enable_seqscan = off;
SELECT plan_has($$SELECT * FROM collated WHERE c LIKE 'some words here 99%'$$, 'collated_c');
RESET enable_seqscan;
SELECT column_name, new_type FROM compact_types.revert('collated');
SELECT pg_get_indexdef('collated_c'::regclass);
-- The owner could not create the index again.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_opclass_space LOCATION '';
CREATE INDEX collated_space ON collated (c text_pattern_ops) TABLESPACE regress_opclass_space;
ALTER TABLE collated OWNER TO regress_opclass_owner;
SELECT column_name, blockers FROM compact_types.advise('collated');
SELECT column_name, new_type FROM compact_types.convert('collated', '{c}', skip_blocked => true);
GRANT CREATE ON TABLESPACE regress_opclass_space TO regress_opclass_owner;
SELECT column_name, new_type FROM compact_types.convert('collated', '{c}');
REVOKE CREATE ON TABLESPACE regress_opclass_space FROM regress_opclass_owner;
SELECT * FROM compact_types.revert('collated');
SELECT * FROM compact_types.revert('collated', skip_blocked => true);
GRANT CREATE ON TABLESPACE regress_opclass_space TO regress_opclass_owner;
SELECT column_name, new_type FROM compact_types.revert('collated');
SELECT tablespace, indexdef FROM pg_indexes WHERE tablename = 'collated' ORDER BY 2;
-- These are still obstacles: an own class, and an exclusion constraint.
CREATE OPERATOR CLASS own_ops FOR TYPE text USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 bttextcmp(text, text);
CREATE TABLE obstacles (a text, b text);
INSERT INTO obstacles SELECT s, s FROM (SELECT 'some words on the person ' || i FROM generate_series(1, 1000) i) x (s);
CREATE INDEX obstacles_own ON obstacles (a own_ops);
ALTER TABLE obstacles ADD EXCLUDE (b text_pattern_ops WITH =);
SELECT column_name, blockers FROM compact_types.advise('obstacles');

DROP VIEW indexes;
DROP TABLE person, before, obstacles, referencing, referenced, other_type, collated;
DROP TABLESPACE regress_opclass_space;
DROP FUNCTION plan_has;
DROP OPERATOR FAMILY own_ops USING btree;
REVOKE ALL ON SCHEMA public FROM regress_opclass_owner;
DROP ROLE regress_opclass_owner;
DROP EXTENSION compact_char8, compact_char30;
