-- t/toast_policy/same.pl runs these statements on plain tables, and on tables whose values go out of
-- line.
--
-- The format is that of t/vertical_partition/same.sql.  split_here() calls enable_out_of_line(), or
-- does nothing.  outside() returns false if another number of values is out of line than the given
-- one, or if amcheck finds damage.  On plain tables, it returns true.  Each topic begins in a new
-- session, so that one of its first statements has to load the library.

-- Return text that does not compress.
CREATE FUNCTION noise(size int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(translate(encode(sha256((seed || '-' || i)::bytea), 'base64'), E'\n', ''), ''), size) FROM generate_series(1, size / 40 + 1) i $$;
CREATE FUNCTION digits(size int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT translate(noise(size, seed), 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/=', '123456789012345678901234567890123456789012345678901234') $$;

--
-- Constraints
--

CREATE TABLE owner (id int PRIMARY KEY, label text CONSTRAINT owner_label UNIQUE);
CREATE TABLE doc (
	id int CONSTRAINT doc_key PRIMARY KEY,
	owner int CONSTRAINT doc_owner REFERENCES owner ON DELETE SET NULL ON UPDATE CASCADE,
	n int NOT NULL DEFAULT 0,
	code text NOT NULL CONSTRAINT doc_code UNIQUE,
	body text NOT NULL CONSTRAINT doc_body CHECK (length(body) > 5),
	note text DEFAULT noise(200, 0),
	swap text CONSTRAINT doc_swap UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE line (code text CONSTRAINT line_code REFERENCES doc (code) ON UPDATE CASCADE ON DELETE CASCADE, pos int, words text, PRIMARY KEY (code, pos));
CREATE TABLE holds (code text CONSTRAINT holds_code REFERENCES doc (code) DEFERRABLE INITIALLY DEFERRED);
SELECT split_here('owner', '{label}');
SELECT split_here('doc', '{code,body,note,swap}');
SELECT split_here('line', '{code,words}');

\connect
INSERT INTO owner SELECT i, noise(200, i) FROM generate_series(1, 5) i;
INSERT INTO doc (id, owner, code, body, swap) SELECT i, 1 + i % 5, noise(150, 100 + i), noise(300, i), noise(180, 200 + i) FROM generate_series(1, 10) i;
INSERT INTO line SELECT noise(150, 100 + i % 4 + 1), i, noise(200, i) FROM generate_series(1, 12) i;
SELECT outside('owner', 5), outside('doc', 40), outside('line', 24);
SELECT id, owner, n, code, body, note, swap FROM doc ORDER BY id;
SELECT d.*, count(*), min(l.words) FROM doc d JOIN line l USING (code) GROUP BY d.id ORDER BY d.id;
SELECT d.body, d.note, count(l.pos) FROM doc d LEFT JOIN line l ON l.code = d.code GROUP BY d.id HAVING count(l.pos) < 3 ORDER BY 1;
SELECT o.label, count(*), array_agg(d.body ORDER BY d.id) FROM owner o JOIN doc d ON d.owner = o.id GROUP BY o.label ORDER BY 1;
SELECT note, count(*) FROM doc GROUP BY note;
SELECT DISTINCT left(words, 5) FROM line ORDER BY 1;

INSERT INTO doc (id, code, body) VALUES (1, 'x', noise(300, 1));
INSERT INTO doc (id, code, body) VALUES (11, noise(150, 101), noise(300, 1));
INSERT INTO doc (id, code, body) VALUES (11, 'new', 'short');
INSERT INTO doc (id, code, body) VALUES (11, 'new', NULL);
INSERT INTO doc (id, owner, code, body) VALUES (11, 77, 'new', noise(300, 1));
INSERT INTO line VALUES (noise(150, 999), 1, 'no such code');
UPDATE doc SET body = 'short' WHERE id = 1;
UPDATE doc SET code = noise(150, 102) WHERE id = 1;
SELECT outside('owner', 5), outside('doc', 40), outside('line', 24);

INSERT INTO doc (id, code, body) VALUES (1, 'x', noise(300, 51)) ON CONFLICT ON CONSTRAINT doc_key DO UPDATE SET body = excluded.body, n = doc.n + 1 RETURNING id, n, body, note;
INSERT INTO doc (id, code, body) VALUES (11, noise(150, 102), noise(300, 52)) ON CONFLICT ON CONSTRAINT doc_code DO UPDATE SET n = doc.n + 10 RETURNING id, n, code, body;
INSERT INTO doc (id, code, body) VALUES (11, noise(150, 103), noise(300, 53)) ON CONFLICT (code) DO UPDATE SET (body, note) = (SELECT excluded.body || doc.body, NULL) RETURNING id, body, note;
INSERT INTO doc (id, code, body) VALUES (4, 'x', noise(300, 54)), (12, noise(150, 112), noise(300, 12)) ON CONFLICT (id) DO NOTHING RETURNING id, code;
INSERT INTO doc (id, code, body) VALUES (5, 'x', noise(300, 55)) ON CONFLICT ON CONSTRAINT doc_key DO UPDATE SET n = 1 WHERE doc.body = noise(300, 5) AND excluded.body = noise(300, 55) RETURNING id, n, body;
INSERT INTO doc (id, code, body) VALUES (13, 'one', noise(300, 13)), (13, 'two', noise(300, 14)) ON CONFLICT ON CONSTRAINT doc_key DO UPDATE SET body = excluded.body;
INSERT INTO doc (id, code, body, swap) VALUES (14, 'one', noise(300, 13), noise(180, 201)) ON CONFLICT ON CONSTRAINT doc_swap DO NOTHING;
SELECT outside('doc', 42);

BEGIN;
UPDATE doc SET swap = noise(180, 211 - id) WHERE id <= 10;
SELECT id, swap FROM doc ORDER BY id;
COMMIT;
UPDATE doc SET swap = noise(180, 201) WHERE id > 3;
SELECT id, swap = noise(180, 211 - id) FROM doc ORDER BY id;

UPDATE doc SET code = noise(150, 900) WHERE id = 2 RETURNING id, code;
SELECT code = noise(150, 900), pos, words FROM line ORDER BY pos;
UPDATE doc SET code = 'short' WHERE id = 3;
DELETE FROM doc WHERE id = 4;
SELECT code, pos FROM line ORDER BY pos;
UPDATE owner SET id = 50 WHERE id = 5;
DELETE FROM owner WHERE id = 4;
SELECT id, owner, n, body FROM doc ORDER BY id;
BEGIN;
INSERT INTO holds VALUES (noise(150, 901));
INSERT INTO doc (id, code, body) VALUES (20, noise(150, 901), noise(300, 20));
COMMIT;
DELETE FROM doc WHERE id = 20;
SELECT outside('owner', 4), outside('doc', 40), outside('line', 15);

CREATE TABLE excludes (id int, body text, EXCLUDE USING hash (body WITH =));
SELECT split_here('excludes', '{body}');
INSERT INTO excludes VALUES (1, noise(200, 1)), (2, noise(200, 2));
INSERT INTO excludes VALUES (3, noise(200, 1));
UPDATE excludes SET body = noise(200, 2) WHERE id = 1;
UPDATE excludes SET id = 3 WHERE id = 1;
SELECT * FROM excludes ORDER BY id;
SELECT outside('excludes', 2);

--
-- Queries, cursors and transactions
--

\connect
CREATE TABLE wide (id int PRIMARY KEY, n int, body text, j jsonb, a text[], b bytea, v varchar(400), num numeric);
SELECT split_here('wide', '{body,j,a,b,v,num}');
INSERT INTO wide SELECT i, i % 3, noise(200, i), jsonb_build_object('i', i, 't', noise(200, i)), ARRAY[noise(90, i), noise(90, -i)], noise(150, i)::bytea, noise(300, i), digits(400, i)::numeric FROM generate_series(1, 20) i;
INSERT INTO wide VALUES (21), (22, 1, 'tiny', '{}', '{}', '', '', 1);
SELECT outside('wide', 120);

\connect
SELECT * FROM wide ORDER BY id;
SELECT n, count(*), max(body), min(v), sum(num), jsonb_agg(j ORDER BY id) FROM wide GROUP BY n ORDER BY n;
SELECT body, rank() OVER (ORDER BY body DESC), lag(v) OVER (PARTITION BY n ORDER BY id) FROM wide ORDER BY id;
SELECT x.id, y.id FROM wide x JOIN wide y ON x.body = y.body AND x.j = y.j AND x.a = y.a AND x.b = y.b AND x.num = y.num ORDER BY 1;
SELECT id, j->>'t', a[2], substr(v, 250, 20), length(b), num % 10, row_to_json(w) FROM wide w WHERE j @> '{"i": 7}' OR v LIKE '%zz%' ORDER BY id;
SELECT w FROM wide w WHERE w.id IN (3, 21) ORDER BY id;
SELECT body FROM wide WHERE id < 5 UNION SELECT v FROM wide WHERE id < 5 EXCEPT SELECT noise(200, 1) ORDER BY 1;
SELECT count(*) FROM wide TABLESAMPLE SYSTEM (100);
SELECT id, tableoid::regclass FROM wide WHERE ctid IS NOT NULL AND xmin IS NOT NULL ORDER BY id LIMIT 2;
COPY (SELECT id, body, a FROM wide WHERE id < 4 ORDER BY id) TO stdout;
COPY wide TO stdout WITH (FORMAT csv, FORCE_QUOTE *);
SET enable_hashagg = off; SET enable_hashjoin = off; SET enable_nestloop = off; SET work_mem = '64kB';
SELECT body, v, count(*) FROM wide, generate_series(1, 50) GROUP BY 1, 2 ORDER BY 1, 2;
RESET ALL;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET debug_parallel_query = on;
SELECT n, count(body), md5(string_agg(body, ',' ORDER BY id)) FROM wide GROUP BY n ORDER BY n;
RESET ALL;

BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, body, v FROM wide ORDER BY id;
FETCH 2 FROM c;
UPDATE wide SET body = noise(250, 90), v = 'short' WHERE id BETWEEN 2 AND 4;
FETCH 2 FROM c;
FETCH BACKWARD 3 FROM c;
DECLARE w CURSOR FOR SELECT * FROM wide WHERE id IN (5, 6) FOR UPDATE;
FETCH FROM w;
UPDATE wide SET n = 100, body = body || 'x' WHERE CURRENT OF w RETURNING id, n, body;
FETCH FROM w;
DELETE FROM wide WHERE CURRENT OF w;
SELECT id, n, body, v FROM wide WHERE id < 8 ORDER BY id;
ROLLBACK;
SELECT id, n, body, v FROM wide WHERE id < 8 ORDER BY id;
SELECT outside('wide', 120);

BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT id, body FROM wide WHERE id < 4 ORDER BY id;
UPDATE wide SET body = NULL WHERE id < 4;
DELETE FROM wide WHERE id = 2;
COMMIT;
VACUUM wide;
FETCH ALL FROM h;
CLOSE h;
INSERT INTO wide (id, n, body) VALUES (2, 2, noise(200, 2));

BEGIN;
INSERT INTO wide (id, body) VALUES (30, noise(200, 30));
SAVEPOINT a;
UPDATE wide SET body = noise(200, 31), v = noise(300, 31) WHERE id = 30;
INSERT INTO wide (id, body) VALUES (31, noise(200, 31));
DELETE FROM wide WHERE id = 7;
SELECT id, body, v FROM wide WHERE id IN (7, 30, 31) ORDER BY id;
ROLLBACK TO a;
SELECT id, body, v FROM wide WHERE id IN (7, 30, 31) ORDER BY id;
UPDATE wide SET n = 1 WHERE id = 30 RETURNING body;
SAVEPOINT b;
UPDATE wide SET body = body || 'b' WHERE id = 30 RETURNING body;
RELEASE b;
ROLLBACK TO a;
UPDATE wide SET n = 2 WHERE id = 30 RETURNING body;
COMMIT;
SELECT id, n, body, v FROM wide WHERE id IN (7, 30, 31) ORDER BY id;
SELECT outside('wide', 114);

BEGIN;
UPDATE wide SET body = noise(220, id), n = -1 WHERE id IN (8, 9);
INSERT INTO wide (id, body) VALUES (40, noise(200, 40));
DELETE FROM wide WHERE id = 10;
PREPARE TRANSACTION 'same';
SELECT id, n, body FROM wide WHERE id IN (8, 9, 10, 40) ORDER BY id;
\connect
COMMIT PREPARED 'same';
SELECT id, n, body FROM wide WHERE id IN (8, 9, 10, 40) ORDER BY id;
BEGIN;
UPDATE wide SET body = noise(230, id), n = -2 WHERE id IN (8, 9);
PREPARE TRANSACTION 'same';
\connect
ROLLBACK PREPARED 'same';
SELECT id, n, body FROM wide WHERE id IN (8, 9, 10, 40) ORDER BY id;
SELECT outside('wide', 109);

BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE wide SET n = n + 1 WHERE id = 8 RETURNING n, body;
UPDATE wide SET body = body || '!' WHERE id = 8 RETURNING n, body;
COMMIT;

-- The value is stored in another row, in another column, and in the same place.
UPDATE wide SET v = body, body = v WHERE id = 11 RETURNING body, v;
UPDATE wide x SET body = y.v, v = y.body FROM wide y WHERE x.id = 12 AND y.id = 13 RETURNING x.body, x.v, y.body;
UPDATE wide x SET body = y.body FROM wide y WHERE x.id = 20 AND y.id = 19 RETURNING x.body;
UPDATE wide SET body = body, j = j, n = n + 1 WHERE id = 14 RETURNING n, body, j;
UPDATE wide SET (n, body) = (SELECT n + 1, body FROM wide y WHERE y.id = wide.id) WHERE id = 15 RETURNING n, body;
UPDATE wide SET j['t'] = '"new"', a[1] = 'new', a[3] = noise(100, 3) WHERE id = 16 RETURNING j, a;
UPDATE wide SET j = j || jsonb_build_object('more', body), b = b || b, num = num * 2 WHERE id = 17 RETURNING j, b, num;
INSERT INTO wide SELECT id + 100, n, body, j, a, b, v, num FROM wide WHERE id BETWEEN 11 AND 20 RETURNING id, body;
WITH d AS (DELETE FROM wide WHERE id > 105 AND id < 115 RETURNING *) INSERT INTO wide SELECT id + 100, n, body || 'w', j, a, b, v, num FROM d RETURNING id, body, v;
WITH u AS (UPDATE wide SET n = n + 1 WHERE id = 18 RETURNING *) SELECT u.body = w.body, u.n - w.n, u.j FROM u JOIN wide w USING (id);
SELECT * FROM wide ORDER BY id;
SELECT outside('wide', 167);

MERGE INTO wide w USING (SELECT i AS id, noise(210, i) AS body FROM generate_series(15, 26) i) s ON w.id = s.id
WHEN MATCHED AND w.id = 16 THEN DELETE
WHEN MATCHED AND w.body IS NULL THEN DO NOTHING
WHEN MATCHED AND w.id < 19 THEN UPDATE SET n = w.n + 1
WHEN MATCHED THEN UPDATE SET body = s.body || w.id
WHEN NOT MATCHED THEN INSERT (id, body) VALUES (s.id, s.body);
SELECT id, n, body, j, v FROM wide WHERE id BETWEEN 15 AND 26 ORDER BY id;

-- 17
MERGE INTO wide w USING (SELECT 17 AS id, noise(210, 17) AS body) s ON w.id = s.id
WHEN MATCHED THEN UPDATE SET body = s.body
WHEN NOT MATCHED BY SOURCE AND w.id > 200 THEN DELETE
RETURNING merge_action(), w.id, w.body, s.body;

-- 18
UPDATE wide SET body = noise(240, 19), n = 5 WHERE id = 19 RETURNING old.body, new.body, old.v, new.v, old.n;
DELETE FROM wide WHERE id = 19 RETURNING old.body, new.body;

COPY wide (id, n, body) FROM stdin;
501	1	Lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat 1234567890
502	2	short
503	3	Lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat 0987654321
504	4	\N
\.
COPY wide (id, n, body) FROM stdin;
505	1	Lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat 1234567890
505	2	short
\.
SELECT id, n, body FROM wide WHERE id > 500 ORDER BY id;

-- Functions and procedures that keep values across statements and transactions
CREATE FUNCTION keep(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r wide;
	t text;
BEGIN
	SELECT * INTO r FROM wide WHERE id = i;
	SELECT body INTO t FROM wide WHERE id = i;
	UPDATE wide SET body = 'gone', v = NULL WHERE id = i;
	INSERT INTO wide SELECT r.id + 1000, r.n, r.body, r.j, r.a, r.b, r.v, r.num;
	r.id := r.id + 2000;
	r.body := r.body || 'r';
	INSERT INTO wide VALUES (r.*);
	RETURN t || r.v;
END $$;
SELECT keep(13), keep(14);
SELECT id, body, v FROM wide WHERE id IN (13, 14) OR id BETWEEN 1000 AND 3000 ORDER BY id;
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
DECLARE
	r record;
	kept wide;
BEGIN
	SELECT * INTO kept FROM wide WHERE id = 12;
	FOR r IN SELECT id, body FROM wide WHERE id IN (11, 12, 15) ORDER BY id LOOP
		UPDATE wide SET body = noise(260, r.id), v = r.body WHERE id = r.id;
		IF r.id = 15 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
	INSERT INTO wide VALUES (5000, 1, kept.body, kept.j, kept.a, kept.b, kept.v, kept.num);
END $$;
CALL commits();
SELECT id, body, v FROM wide WHERE id IN (11, 12, 15, 5000) ORDER BY id;
CREATE FUNCTION of_row(w wide) RETURNS text LANGUAGE sql AS 'SELECT w.id || w.body';
SELECT of_row(w) FROM wide w WHERE id < 10 ORDER BY id;
PREPARE p(int, text) AS UPDATE wide SET n = n + 1, body = coalesce($2, body) WHERE id = $1 RETURNING n, body;
EXECUTE p(9, NULL); EXECUTE p(9, noise(270, 9)); EXECUTE p(9, 'short'); EXECUTE p(9, NULL); EXECUTE p(9, noise(280, 9)); EXECUTE p(9, NULL);
SET plan_cache_mode = force_generic_plan;
EXECUTE p(9, NULL); EXECUTE p(9, noise(290, 9));
RESET plan_cache_mode;

-- A table with a column of the row type, and an array of rows
CREATE TABLE rows (id int, w wide, list wide[]);
SELECT split_here('rows', '{w,list}');
INSERT INTO rows SELECT 1, w, ARRAY[w, w] FROM wide w WHERE id = 8;
UPDATE wide SET body = NULL, j = NULL, v = NULL WHERE id = 8;
VACUUM wide;
SELECT id, (w).body, (w).j, list[2].v FROM rows;
UPDATE rows SET w.body = (w).v WHERE id = 1 RETURNING (w).body, (w).j;
SELECT outside('rows', 2);
DROP TABLE rows;

--
-- Triggers, rules, views and policies
--

\connect
CREATE TABLE watched (id int PRIMARY KEY, n int DEFAULT 0, body text, more text, twice text GENERATED ALWAYS AS (body || body) STORED);
CREATE TABLE seen (n serial, what text, old text, new text);
SELECT split_here('watched', '{body,more,twice}'), split_here('seen', '{old,new}');
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen (what, old, new) VALUES (TG_NAME, CASE WHEN TG_OP <> 'INSERT' THEN OLD::text END, CASE WHEN TG_OP <> 'DELETE' THEN NEW::text END);
	RETURN coalesce(NEW, OLD);
END $$;
CREATE FUNCTION see_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen (what, old, new) SELECT TG_NAME, string_agg(o::text, ';' ORDER BY o.id), (SELECT string_agg(w::text, ';' ORDER BY w.id) FROM new_rows w) FROM old_rows o;
	RETURN NULL;
END $$;
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.body = 'old' THEN NEW.body := OLD.body;
	ELSIF NEW.body = 'swap' THEN NEW.body := OLD.more; NEW.more := OLD.body;
	ELSIF NEW.body = 'none' THEN RETURN NULL;
	ELSIF NEW.body = 'row' THEN NEW := OLD;
	ELSIF NEW.body = 'long' THEN NEW.body := noise(300, NEW.id);
	END IF;
	NEW.n := NEW.n + 1;
	RETURN NEW;
END $$;
CREATE TRIGGER a_change BEFORE INSERT OR UPDATE ON watched FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER b_before BEFORE INSERT OR UPDATE OR DELETE ON watched FOR EACH ROW EXECUTE FUNCTION see();
CREATE TRIGGER c_after AFTER INSERT OR UPDATE OR DELETE ON watched FOR EACH ROW EXECUTE FUNCTION see();
CREATE TRIGGER d_when AFTER UPDATE OF body ON watched FOR EACH ROW WHEN (OLD.body IS DISTINCT FROM NEW.body) EXECUTE FUNCTION see();
CREATE TRIGGER e_all AFTER UPDATE ON watched REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION see_all();
CREATE CONSTRAINT TRIGGER f_late AFTER INSERT OR UPDATE OR DELETE ON watched DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see();

\connect
BEGIN;
INSERT INTO watched (id, body, more) VALUES (1, noise(200, 1), noise(200, 11)), (2, 'long', 'short'), (3, noise(200, 3), NULL), (4, 'none', 'x') RETURNING *;
UPDATE watched SET body = noise(210, 1) WHERE id = 1 RETURNING *;
UPDATE watched SET n = n + 1;
UPDATE watched SET body = 'swap' WHERE id = 1 RETURNING *;
DELETE FROM watched WHERE id = 3 RETURNING *;
COMMIT;
UPDATE watched SET body = 'old', n = 5 RETURNING *;
UPDATE watched SET body = 'row' RETURNING *;
UPDATE watched SET body = 'none' RETURNING *;
UPDATE watched SET body = 'short' WHERE id = 2 RETURNING *;
UPDATE watched SET more = more WHERE id = 1;
INSERT INTO watched (id, body) VALUES (1, 'long') ON CONFLICT (id) DO UPDATE SET body = 'swap', n = excluded.n RETURNING *;
MERGE INTO watched w USING (VALUES (2, noise(222, 2)), (7, 'long')) s (id, body) ON w.id = s.id WHEN MATCHED THEN UPDATE SET body = s.body WHEN NOT MATCHED THEN INSERT (id, body) VALUES (s.id, s.body);
SELECT * FROM watched ORDER BY id;
SELECT what, old, new FROM seen ORDER BY n;
SELECT outside('watched', 7);
DROP TRIGGER b_before ON watched; DROP TRIGGER e_all ON watched; DROP TRIGGER f_late ON watched;

CREATE VIEW lengthy AS SELECT id, n, body FROM watched WHERE length(body) > 100 WITH CHECK OPTION;
INSERT INTO lengthy VALUES (20, 0, noise(200, 20)) RETURNING *;
INSERT INTO lengthy VALUES (21, 0, 'short');
UPDATE lengthy SET n = n + 1 WHERE id = 20 RETURNING *;
UPDATE lengthy SET body = 'short' WHERE id = 20;
DELETE FROM lengthy WHERE id = 20 RETURNING body;
CREATE VIEW by_trigger AS SELECT id, body FROM watched;
CREATE FUNCTION by_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE watched SET body = NEW.body, more = OLD.body WHERE id = OLD.id; RETURN NEW; END $$;
CREATE TRIGGER by_trigger INSTEAD OF UPDATE ON by_trigger FOR EACH ROW EXECUTE FUNCTION by_trigger();
UPDATE by_trigger SET body = noise(230, 7) WHERE id = 7 RETURNING *;
SELECT id, body, more FROM watched WHERE id = 7;
CREATE RULE also AS ON DELETE TO watched DO ALSO INSERT INTO seen (what, old) VALUES ('rule', OLD.body);
DELETE FROM watched WHERE id = 7;
DROP RULE also ON watched;
SELECT what, old FROM seen ORDER BY n DESC LIMIT 3;

CREATE ROLE same_reader;
GRANT SELECT (id, body), UPDATE (n, body), INSERT, DELETE ON watched TO same_reader;
GRANT SELECT, INSERT ON seen TO same_reader;
GRANT USAGE ON seen_n_seq TO same_reader;
INSERT INTO watched (id, body, more) SELECT i, noise(200, i), 'policy' FROM generate_series(30, 33) i;
ALTER TABLE watched ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON watched TO same_reader USING (id % 2 = 0 AND body <> noise(200, 32)) WITH CHECK (length(body) > 150);
SET ROLE same_reader;
SELECT id, body FROM watched ORDER BY id;
SELECT more FROM watched;
UPDATE watched SET n = 1 WHERE id = 30 RETURNING body;
UPDATE watched SET n = 1 WHERE id IN (31, 32) RETURNING body;
UPDATE watched SET body = 'short' WHERE id = 30;
UPDATE watched SET body = body || '+' WHERE id = 30 RETURNING body;
INSERT INTO watched (id, body) VALUES (34, 'short');
INSERT INTO watched (id, body) VALUES (34, noise(200, 34)) RETURNING body;
DELETE FROM watched WHERE id IN (31, 34) RETURNING body;
RESET ROLE;
SELECT id, n, body FROM watched ORDER BY id;
ALTER TABLE watched DISABLE ROW LEVEL SECURITY;
DROP POLICY even ON watched;
REVOKE ALL ON watched, seen, seen_n_seq FROM same_reader;
DROP ROLE same_reader;

--
-- ALTER TABLE and other DDL
--

\connect
CREATE TABLE alt (id int PRIMARY KEY, n int DEFAULT 0, body text, other text);
INSERT INTO alt SELECT i, 0, noise(200, i), noise(150, i) FROM generate_series(1, 10) i;
SELECT split_here('alt', '{body}');
SELECT outside('alt', 10);
\connect
ALTER TABLE alt ADD COLUMN late text DEFAULT noise(160, 99);
ALTER TABLE alt ADD COLUMN early text DEFAULT 'early';
SELECT id, late, early FROM alt ORDER BY id;
SELECT split_here('alt', '{late}', false);
UPDATE alt SET n = n + 1 WHERE id <= 3 RETURNING id, body, late;
SELECT outside('alt', 13);
VACUUM FULL alt;
SELECT id, body, late, early FROM alt ORDER BY id;
SELECT outside('alt', 20);
ALTER TABLE alt DROP COLUMN late;
UPDATE alt SET n = n + 1 WHERE id <= 3;
SELECT outside('alt', 17);
ALTER TABLE alt ADD COLUMN late text;
UPDATE alt SET late = noise(170, id) WHERE id <= 2;
SELECT outside('alt', 17);
SELECT split_here('alt', '{late}', false);
UPDATE alt SET late = noise(170, id) WHERE id >= 9;
SELECT id, n, body, late FROM alt ORDER BY id;
VACUUM FULL alt;
SELECT outside('alt', 14);
ALTER TABLE alt DROP COLUMN body;
SELECT * FROM alt ORDER BY id;
INSERT INTO alt (id, late) VALUES (11, noise(170, 11));
UPDATE alt SET n = n + 1;
ALTER TABLE alt ADD COLUMN body text;
SELECT split_here('alt', '{body}', false);
UPDATE alt SET body = noise(200, id);
SELECT outside('alt', 16);
CLUSTER alt USING alt_pkey;
SELECT id, n, body, late FROM alt ORDER BY id;
SELECT outside('alt', 16);

ALTER TABLE alt ALTER n TYPE bigint;
ALTER TABLE alt ALTER body TYPE varchar(400);
ALTER TABLE alt ALTER body TYPE varchar(100);
UPDATE alt SET n = n + 1;
SELECT split_here('alt', '{body}', false);
UPDATE alt SET body = noise(200, id) WHERE id > 8;
ALTER TABLE alt ALTER body TYPE text;
ALTER TABLE alt ALTER body TYPE bytea USING convert_to(body, 'UTF8');
ALTER TABLE alt ALTER body TYPE text USING convert_from(body, 'UTF8');
ALTER TABLE alt ALTER body TYPE text COLLATE "POSIX";
SELECT id, n, body, late FROM alt ORDER BY id;
SELECT split_here('alt', '{body}');
SELECT outside('alt', 16);

\connect
ALTER TABLE alt ALTER body SET STORAGE PLAIN;
UPDATE alt SET n = n + 1 WHERE id < 4 RETURNING body;
INSERT INTO alt (id, body, late) SELECT 20, body, late FROM alt WHERE id = 2 RETURNING body, late;
ALTER TABLE alt ALTER body SET STORAGE MAIN;
UPDATE alt SET n = n + 1 WHERE id < 6 RETURNING body;
ALTER TABLE alt ALTER body SET STORAGE EXTENDED;
UPDATE alt SET n = n + 1, body = body || 'x' WHERE id < 8 RETURNING body;
ALTER TABLE alt ALTER body SET STORAGE EXTERNAL;
UPDATE alt SET n = n + 1 RETURNING body;
ALTER TABLE alt ALTER body SET COMPRESSION lz4;
SELECT id, n, body, late FROM alt ORDER BY id;
SELECT split_here('alt', '{body,late}');
SELECT outside('alt', 18);

ALTER TABLE alt SET (toast_tuple_target = 100);
ALTER TABLE alt SET (toast_tuple_target = 180, fillfactor = 60);
UPDATE alt SET n = n + 1 WHERE id > 5 RETURNING id, late;
INSERT INTO alt (id, late, body) VALUES (21, noise(150, 21), noise(190, 21));
SELECT outside('alt', 19);
ALTER TABLE alt SET (toast_tuple_target = 4000);
UPDATE alt SET n = n + 1, late = noise(300, id) WHERE id > 5 RETURNING id, body, late;
VACUUM FULL alt;
SELECT outside('alt', 0);
ALTER TABLE alt SET (toast_tuple_target = 128), ALTER other SET STORAGE EXTERNAL;
UPDATE alt SET n = n + 1 WHERE id < 10;
SELECT id, n, other, body, late FROM alt ORDER BY id;
SELECT outside('alt', 24);
ALTER TABLE alt RESET (toast_tuple_target), ALTER other SET STORAGE EXTENDED;
UPDATE alt SET n = n + 1 WHERE id < 9;
UPDATE alt SET body = body || '.' WHERE id = 9;
SELECT id, n, other, body, late FROM alt ORDER BY id;
SELECT outside('alt', 23);
ALTER TABLE alt ADD COLUMN again int DEFAULT 7, ALTER n TYPE int;
SELECT outside('alt', 0);
SELECT split_here('alt', '{body,late}');

\connect
ALTER TABLE alt SET UNLOGGED;
SELECT outside('alt', 23);
UPDATE alt SET n = n + 1;
ALTER TABLE alt SET LOGGED;
SELECT outside('alt', 23);
ALTER TABLE alt RENAME body TO text;
ALTER TABLE alt RENAME TO altered;
CREATE SCHEMA elsewhere;
ALTER TABLE altered SET SCHEMA elsewhere;
UPDATE elsewhere.altered SET text = noise(210, id), n = 0;
SELECT * FROM elsewhere.altered ORDER BY id;
SELECT outside('elsewhere.altered', 23);
ALTER TABLE elsewhere.altered SET SCHEMA public;
ALTER TABLE altered RENAME TO alt;
ALTER TABLE alt RENAME text TO body;
ALTER TABLE alt ADD CONSTRAINT long CHECK (length(body) > 1000) NOT VALID;
ALTER TABLE alt VALIDATE CONSTRAINT long;
INSERT INTO alt (id, body) VALUES (40, noise(200, 40));
ALTER TABLE alt DROP CONSTRAINT long, ALTER body SET NOT NULL, ADD UNIQUE (body), ADD CHECK (length(body) < 400);
INSERT INTO alt (id, body) VALUES (40, noise(210, 1));
INSERT INTO alt (id, body) VALUES (40, NULL);
INSERT INTO alt (id, body) VALUES (40, noise(400, 1));
CREATE INDEX CONCURRENTLY alt_late ON alt (late DESC, md5(body)) WHERE n >= 0;
REINDEX TABLE CONCURRENTLY alt;
SET enable_seqscan = off;
SELECT id FROM alt WHERE body = noise(210, 3);
SELECT id, late FROM alt WHERE n >= 0 AND late IS NOT NULL ORDER BY late DESC LIMIT 3;
RESET enable_seqscan;
ANALYZE alt;
CREATE STATISTICS alt_stats ON body, late FROM alt;
ANALYZE alt;
ALTER TABLE alt REPLICA IDENTITY USING INDEX alt_pkey;
VACUUM (FULL, ANALYZE) alt;
SELECT outside('alt', 23);
ALTER TABLE alt SET ACCESS METHOD heap;
UPDATE alt SET n = n + 1 WHERE id < 5;
INSERT INTO alt (id, body) VALUES (41, noise(200, 41));
SELECT id, n, body, late FROM alt ORDER BY id;
ALTER TABLE alt RESET (toast_tuple_target);
VACUUM FULL alt;
SELECT id, n, body, late FROM alt ORDER BY id;
SELECT outside('alt', 0);
BEGIN;
SELECT split_here('alt', '{body}');
UPDATE alt SET n = n + 1;
SELECT outside('alt', 24);
ROLLBACK;
UPDATE alt SET n = n + 1, late = noise(200, 5);
SELECT outside('alt', 0);
BEGIN;
SAVEPOINT a;
SELECT split_here('alt', '{body}');
INSERT INTO alt (id, body) VALUES (50, noise(200, 50));
ROLLBACK TO a;
INSERT INTO alt (id, body) VALUES (51, noise(200, 51));
COMMIT;
SELECT outside('alt', 0);
SELECT id, n, body, late FROM alt ORDER BY id;

CREATE TABLE copy_of AS SELECT * FROM alt;
SELECT * INTO copy_too FROM alt;
CREATE TABLE like_it (LIKE alt INCLUDING ALL);
SELECT split_here('like_it', '{body}', false);
INSERT INTO like_it SELECT * FROM alt;
SELECT count(*) FROM (TABLE like_it EXCEPT TABLE copy_of) x;
SELECT outside('like_it', 29);
CREATE TABLE second (LIKE like_it);
SELECT split_here('second', '{late,body}');
INSERT INTO second SELECT * FROM like_it;
UPDATE second s SET late = l.body FROM like_it l WHERE l.id = s.id AND s.id < 5 RETURNING s.late, s.body;
INSERT INTO like_it SELECT s.* FROM second s ON CONFLICT (id) DO UPDATE SET late = excluded.late RETURNING id, late;
DELETE FROM like_it USING second s WHERE s.body = like_it.body AND s.id > 10 RETURNING like_it.body, s.late;
TRUNCATE second;
SELECT count(*) FROM second;
SELECT * FROM like_it ORDER BY id;
CREATE MATERIALIZED VIEW mat AS SELECT id, body, late FROM like_it;
CREATE UNIQUE INDEX ON mat (id);
SELECT split_here('mat', '{body,late}');
SELECT outside('mat', 20);
UPDATE like_it SET body = noise(205, id) WHERE id IN (2, 3);
DELETE FROM like_it WHERE id = 4;
REFRESH MATERIALIZED VIEW CONCURRENTLY mat;
SELECT * FROM mat ORDER BY id;
SELECT outside('mat', 18);
REFRESH MATERIALIZED VIEW mat;
SELECT * FROM mat ORDER BY id;
SELECT outside('mat', 18);
CREATE TEMP TABLE temporary (id int, body text) ON COMMIT DELETE ROWS;
SELECT split_here('temporary', '{body}');
BEGIN;
INSERT INTO temporary SELECT id, body FROM like_it;
SELECT * FROM temporary ORDER BY id;
SELECT outside('temporary', 9);
COMMIT;
SELECT * FROM temporary;

-- 18
ALTER TABLE like_it ADD COLUMN computed text GENERATED ALWAYS AS (body || late) VIRTUAL;
INSERT INTO like_it (id, body, late) VALUES (60, noise(200, 60), noise(200, 61)) RETURNING computed;
UPDATE like_it SET n = n + 1 RETURNING id, computed;
VACUUM FULL like_it;
SELECT id, computed FROM like_it ORDER BY id;

--
-- Tables whose rows are always small
--

\connect
CREATE TABLE narrow (id int PRIMARY KEY, n int, c varchar(200), d varchar(200));
SELECT split_here('narrow', '{c}');
INSERT INTO narrow SELECT i, 0, noise(180, i), noise(150, i) FROM generate_series(1, 5) i;
SELECT outside('narrow', 5);
VACUUM FULL narrow;
ALTER TABLE narrow ALTER n TYPE bigint;
TRUNCATE narrow;
INSERT INTO narrow SELECT i, 0, noise(180, i), noise(150, i) FROM generate_series(1, 5) i;
SELECT outside('narrow', 5);
ALTER TABLE narrow SET UNLOGGED;
CLUSTER narrow USING narrow_pkey;
SELECT outside('narrow', 5);
ALTER TABLE narrow RESET (toast_tuple_target);
UPDATE narrow SET n = 1 RETURNING c;
VACUUM FULL narrow;
SELECT * FROM narrow ORDER BY id;
SELECT outside('narrow', 0);
INSERT INTO narrow VALUES (6, 0, noise(180, 6), NULL);
SELECT split_here('narrow', '{c}');
SELECT outside('narrow', 6);
ALTER TABLE narrow DROP c;
-- The values of c disappear.  As no column is governed any more, heap applies its own rule to rows
-- that had a value out of line, and moves the values of d.
UPDATE narrow SET n = 2 WHERE id < 3 RETURNING *;
UPDATE narrow SET d = NULL WHERE id = 3 RETURNING *;
SELECT outside('narrow', 5);
VACUUM FULL narrow;
SELECT * FROM narrow ORDER BY id;
-- The rows do not have the value of the new column, so they are shorter than it.
CREATE TABLE missing AS SELECT i AS id FROM generate_series(1, 3) i;
ALTER TABLE missing ADD late text DEFAULT noise(180, 1);
SELECT split_here('missing', '{late}', false);
VACUUM FULL missing;
SELECT * FROM missing ORDER BY id;
SELECT outside('missing', 3);

--
-- Partitions and inheritance
--

\connect
CREATE TABLE part (id int, kind text, n int DEFAULT 0, body text, PRIMARY KEY (id, kind)) PARTITION BY LIST (kind);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
CREATE TABLE part_b PARTITION OF part FOR VALUES IN ('b') PARTITION BY RANGE (id);
CREATE TABLE part_b1 PARTITION OF part_b FOR VALUES FROM (0) TO (10);
CREATE TABLE part_rest PARTITION OF part DEFAULT;
INSERT INTO part SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, 0, noise(200, i) FROM generate_series(1, 8) i;
SELECT split_here('part', '{body}');
SELECT outside('part_a', 4), outside('part_b1', 4), outside('part_rest', 0);
\connect
UPDATE part SET kind = 'c', n = n + 1 WHERE id IN (1, 2) RETURNING tableoid::regclass, id, kind, n, body;
UPDATE part SET kind = 'a' WHERE id = 3 RETURNING tableoid::regclass, body;
UPDATE part SET n = n + 1 RETURNING tableoid::regclass, id, body;
SELECT outside('part_a', 4), outside('part_b1', 2), outside('part_rest', 2);
\connect
-- A new partition has no limit, and neither has a table that is attached.
DELETE FROM part WHERE kind = 'c';
CREATE TABLE part_c PARTITION OF part FOR VALUES IN ('c');
CREATE TABLE part_d (id int, kind text, n int DEFAULT 0, body text, PRIMARY KEY (id, kind));
INSERT INTO part_d SELECT i, 'd', 0, noise(200, i) FROM generate_series(1, 3) i;
ALTER TABLE part ATTACH PARTITION part_d FOR VALUES IN ('d');
UPDATE part SET kind = 'c' WHERE kind = 'a' AND id < 5 RETURNING tableoid::regclass, body;
UPDATE part SET kind = 'a' WHERE kind = 'd' AND id < 3 RETURNING tableoid::regclass, body;
SELECT outside('part_a', 4), outside('part_c', 0), outside('part_d', 0);
ALTER TABLE part DETACH PARTITION part_a;
UPDATE part_a SET n = n + 10 RETURNING id, body;
UPDATE part_a SET body = body || 'x' WHERE id = 1 RETURNING id, body;
ALTER TABLE part ATTACH PARTITION part_a FOR VALUES IN ('a');
SELECT split_here('part', '{body}');
SELECT outside('part_a', 4), outside('part_c', 2), outside('part_d', 1);
SELECT tableoid::regclass, * FROM part ORDER BY kind, id;
ALTER TABLE part ADD COLUMN more text DEFAULT noise(140, 1);
UPDATE part SET more = more || id RETURNING more;
ALTER TABLE part DROP COLUMN more;
INSERT INTO part VALUES (4, 'a', 1, noise(200, 40)), (5, 'b', 1, noise(200, 50)) ON CONFLICT (id, kind) DO UPDATE SET body = excluded.body || part.body RETURNING tableoid::regclass, body;
MERGE INTO part p USING (SELECT i AS id, noise(200, i) AS body FROM generate_series(1, 4) i) s ON p.id = s.id AND p.kind = 'a' WHEN MATCHED THEN UPDATE SET kind = 'c', id = p.id + 50, body = s.body || p.body WHEN NOT MATCHED THEN INSERT (id, kind, body) VALUES (s.id, 'a', s.body);
COPY part (id, kind, body) FROM stdin;
90	a	Lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat 1234567890
91	c	short
92	d	Lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat 0987654321
\.
DELETE FROM part WHERE kind = 'c' AND id < 53 RETURNING tableoid::regclass, id, body;
SELECT tableoid::regclass, * FROM part ORDER BY kind, id;
SELECT outside('part_a', 4);
ALTER TABLE part DETACH PARTITION part_d CONCURRENTLY;
DROP TABLE part_d;

\connect
CREATE TABLE base (id int, n int DEFAULT 0, body text);
CREATE TABLE derived (extra text) INHERITS (base);
SELECT split_here('base', '{body}'), split_here('derived', '{body,extra}');
INSERT INTO base SELECT i, 0, noise(200, i) FROM generate_series(1, 3) i;
INSERT INTO derived SELECT i, 0, noise(200, i), noise(150, i) FROM generate_series(11, 13) i;
UPDATE base SET n = n + 1 RETURNING tableoid::regclass, id, body;
UPDATE base SET body = body || 'x' WHERE id IN (1, 11) RETURNING tableoid::regclass, id, body;
UPDATE ONLY base SET body = 'short' WHERE id IN (2, 12);
ALTER TABLE base ADD COLUMN added text DEFAULT 'added';
ALTER TABLE derived NO INHERIT base;
UPDATE derived SET n = n + 1;
ALTER TABLE derived INHERIT base;
DELETE FROM base WHERE id IN (3, 13) RETURNING body;
SELECT tableoid::regclass, * FROM base ORDER BY id;
SELECT * FROM derived ORDER BY id;
SELECT outside('base', 1), outside('derived', 4);
