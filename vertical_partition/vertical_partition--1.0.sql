/* vertical_partition--1.0.sql */

\echo Use "CREATE EXTENSION vertical_partition" to load this file. \quit

-- This schema has the functions and views that users call and read.  It also has the functions that
-- the definitions of split views and of triggers name, because a dump contains these names.
CREATE SCHEMA vertical_partition;
COMMENT ON SCHEMA vertical_partition IS 'split() and merge(), and other functions and views for split tables';
GRANT USAGE ON SCHEMA vertical_partition TO PUBLIC;

-- This schema has all other functions.  PUBLIC needs the USAGE privilege on it: split(), merge(),
-- relink(), advise() and ALTER TABLE call these functions with the privileges of their caller, who
-- is the owner of some table.  Each function that changes something or acts as a role checks that
-- the caller may do so.  Statements that read or write a split table need no privilege on this
-- schema.  The four functions that have the names of functions for users are for C code alone,
-- which needs no EXECUTE privilege.  So a REVOKE on the functions for users is effective.
CREATE SCHEMA vertical_partition_internal;
COMMENT ON SCHEMA vertical_partition_internal IS 'internal functions of the schema vertical_partition';
GRANT USAGE ON SCHEMA vertical_partition_internal TO PUBLIC;

--
-- The layout of split tables, and functions that the server calls: vertical_partition_layout.c,
-- vertical_partition_advise.c, vertical_partition_link.c, vertical_partition_write.c,
-- vertical_partition_guard.c
--

CREATE FUNCTION vertical_partition_internal.layout(view regclass, OUT hot regclass, OUT cold regclass, OUT method text,
    OUT key_columns name[], OUT cold_columns name[], OUT link_column name, OUT cold_key_columns name[])
RETURNS record LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'vp_layout_row';

CREATE FUNCTION vertical_partition_internal.layout_columns(view oid, OUT attnum int2, OUT part oid, OUT part_attnum int2)
RETURNS SETOF record LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'vp_layout_columns';

CREATE FUNCTION vertical_partition_internal.linked_support(internal)
RETURNS internal LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'vp_linked_support';
-- only the planner calls this function, and the planner checks no privilege
REVOKE ALL ON FUNCTION vertical_partition_internal.linked_support(internal) FROM PUBLIC;

CREATE FUNCTION vertical_partition.linked(method text, hot oid, cold_key anyelement)
RETURNS boolean LANGUAGE C STABLE PARALLEL SAFE SUPPORT vertical_partition_internal.linked_support
AS 'MODULE_PATHNAME', 'vp_linked';
COMMENT ON FUNCTION vertical_partition.linked(text, oid, anyelement) IS
'part of the definition of a split view: raises an error for a hot row without its cold row';

CREATE FUNCTION vertical_partition.write_row()
RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'vp_write_row';
COMMENT ON FUNCTION vertical_partition.write_row() IS 'trigger of a split view: writes the row to the parts';

CREATE FUNCTION vertical_partition.guard_part()
RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'vp_guard_part';
COMMENT ON FUNCTION vertical_partition.guard_part() IS 'trigger of a part: refuses to write to the part instead of the view';

CREATE FUNCTION vertical_partition.delete_cold()
RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'vp_delete_cold';
COMMENT ON FUNCTION vertical_partition.delete_cold() IS 'trigger of a hot part: deletes the cold row after ON DELETE CASCADE';

--
-- For each row_pointer split, this table has the file (relfilenode) of the cold part for which the
-- pointers were made.  A restored database has no rows in this table, and needs relink().
--

CREATE TABLE vertical_partition_internal.row_pointers (
    cold oid PRIMARY KEY,
    filenode oid NOT NULL);
-- Every statement that locks rows of a row_pointer split reads this table.  It does so by C
-- functions that check no privilege.  A wrong row of this table would let SELECT FOR UPDATE omit
-- rows whose pointers are wrong.  Other reads compare the keys of both parts, and raise an error
-- for a wrong pointer.  So users get no privilege to write to this table or to lock it.  But PUBLIC
-- may read it, for roles that copy all tables, for logical replication or a backup.
GRANT SELECT ON vertical_partition_internal.row_pointers TO PUBLIC;

-- A publication of all tables includes this table as well.  But the publisher's rows of this table
-- name parts and files of the publisher, so this trigger makes a subscriber ignore them.
CREATE FUNCTION vertical_partition_internal.leave_out()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION vertical_partition_internal.leave_out() FROM PUBLIC;
CREATE TRIGGER leave_out BEFORE INSERT OR UPDATE OR DELETE ON vertical_partition_internal.row_pointers
FOR EACH ROW EXECUTE FUNCTION vertical_partition_internal.leave_out();
ALTER TABLE vertical_partition_internal.row_pointers ENABLE REPLICA TRIGGER leave_out;

-- Record that the pointers of a split view are valid for the current file of its cold part, or for no
-- file if "valid" is false.  Return false if the pointers are not valid, also because a subscription
-- writes to the parts.
CREATE FUNCTION vertical_partition_internal.set_row_pointers(cold regclass, valid boolean DEFAULT true)
RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_set_row_pointers_of';

-- Record that the pointers are valid for no file, so that rows of the cold part may be moved.
CREATE FUNCTION vertical_partition.forget_row_pointers(relation regclass)
RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_forget_row_pointers_of';
COMMENT ON FUNCTION vertical_partition.forget_row_pointers(regclass) IS
'allow VACUUM FULL and CLUSTER of a cold part with row pointers; call relink() afterwards';

--
-- Functions that run statements as another role: vertical_partition_owner.c.  A statement that
-- reads the rows of a table, or parses its definition again, may run code of the table's owner.  So
-- run() or execute_as() run such a statement as the owner.  Only publications are altered with the
-- privileges of the caller, who owns them.
--
-- While such statements run, the owner's code or another session can give the name of a relation,
-- or of its schema, to another object.  So hold_schema_name() prevents other sessions from renaming
-- the schema.  Relations are identified by their OIDs.  Names are built from the OIDs just before
-- they are used, and the result is checked afterwards.
--

CREATE FUNCTION vertical_partition_internal.execute_as(owner oid, statement text)
RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_execute_as';

CREATE FUNCTION vertical_partition_internal.execute(statement text)
RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_execute';

CREATE FUNCTION vertical_partition_internal.point_rows(hot regclass, link name, query text)
RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_point_rows';

CREATE FUNCTION vertical_partition_internal.validate_foreign_key(key oid)
RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_validate_foreign_key';

CREATE FUNCTION vertical_partition_internal.hold_schema_name(relation regclass)
RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_hold_schema_name';

-- Prevent changes of the privileges on a relation until the transaction ends.  No lock on the
-- relation prevents these.  A GRANT in another session waits, and fails if the relation is gone by
-- then.
CREATE FUNCTION vertical_partition_internal.hold_privileges(relation regclass)
RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_hold_privileges';

CREATE FUNCTION vertical_partition_internal.lock(relation oid, partner_of oid, exclusive boolean, patience integer)
RETURNS boolean LANGUAGE C AS 'MODULE_PATHNAME', 'vp_lock_relation';

-- Raise an error unless all new sessions preload the library.  See vertical_partition_preload.c.
CREATE FUNCTION vertical_partition_internal.check_preload(table_name text, force boolean)
RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_check_preload';

-- Give a split view the primary key of its hot part, for GROUP BY.  See vertical_partition_key.c.
CREATE FUNCTION vertical_partition.declare_key(relation regclass)
RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'vp_declare_key';
COMMENT ON FUNCTION vertical_partition.declare_key(regclass) IS
'declare the primary key of the view of a split table, so that GROUP BY of the key works';

-- Send a NOTICE or WARNING.  See vertical_partition_context.c.
CREATE FUNCTION vertical_partition_internal.tell(level text, message text, detail text DEFAULT NULL, hint text DEFAULT NULL)
RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'vp_tell';

-- Report the progress of split(), merge() or relink().  If total is given, the next INSERT copies
-- about this number of rows.  See vertical_partition_progress.c.
CREATE FUNCTION vertical_partition_internal.report(command text, relation oid, phase text, total bigint DEFAULT NULL)
RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'vp_report';

-- Run statements as the owner of a table.
CREATE FUNCTION vertical_partition_internal.run(owner oid, statements text[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s text;
BEGIN
    FOREACH s IN ARRAY coalesce(statements, '{}') LOOP
        PERFORM vertical_partition_internal.execute_as(owner, s);
    END LOOP;
END
$$;

--
-- Functions that split() and merge() share, to recreate the properties of a table
--

-- Return the name of a relation, qualified and quoted.
CREATE FUNCTION vertical_partition_internal.qualified_name(relation oid)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('%I.%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation
$$;

-- Append a suffix to a name.  If the result would be too long, shorten the name first, as
-- PostgreSQL does.
CREATE FUNCTION vertical_partition_internal.suffixed_name(name name, suffix text)
RETURNS name LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    base text := suffixed_name.name;
BEGIN
    WHILE octet_length(base) + octet_length(suffix) > current_setting('max_identifier_length')::integer LOOP
        base := left(base, -1);
    END LOOP;
    RETURN base || suffix;
END
$$;

-- A statement that recreates an object, in pieces.  The statement consists of head, the name of the
-- table that has the columns, and tail.  For a foreign key of the table to itself, the name of the
-- table that has the referenced columns follows, and then reference_tail.  If head is NULL, tail is
-- the whole statement.
CREATE TYPE vertical_partition_internal.definition AS (
    step integer,                   -- statements of a lower step run first
    object text,                    -- for messages
    columns smallint[],             -- columns used; 0: the whole row, negative: a system column
    is_primary boolean,
    action text,                    -- of a foreign key: DELETE if it deletes rows, SET if it changes columns
    tablespace name,
    head text,
    tail text,
    reference smallint[],
    reference_tail text,
    name name,                      -- of a foreign key
    validate boolean,               -- must the foreign key be valid?
    referenced oid);                -- the referenced table, unless it is the table itself
REVOKE ALL ON TYPE vertical_partition_internal.definition FROM PUBLIC;

-- Split the definition of a foreign key into the text before and after the referenced table's
-- name.  tail is NULL if the definition is not understood.
CREATE FUNCTION vertical_partition_internal.foreign_key(constraint_oid oid, OUT head text, OUT tail text)
RETURNS record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT x.head, CASE WHEN starts_with(d.def, x.head || x.referenced || '(')
        THEN substr(d.def, length(x.head || x.referenced) + 1) END
    FROM (SELECT 'FOREIGN KEY (' || (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.ord)
                FROM unnest(c.conkey) WITH ORDINALITY k (attnum, ord)
                    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum)
            || ') REFERENCES ' AS head, vertical_partition_internal.qualified_name(c.confrelid) AS referenced
        FROM pg_constraint c WHERE c.oid = constraint_oid) x,
        pg_get_constraintdef(constraint_oid) d (def)
$$;

-- Add NOT VALID to the end of a foreign key's definition, unless the definition already ends with
-- NOT VALID or NOT ENFORCED.  The rows are checked later.
CREATE FUNCTION vertical_partition_internal.not_valid(tail text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN tail ~ ' NOT (VALID|ENFORCED)$' THEN tail ELSE tail || ' NOT VALID' END
$$;

-- Return storage parameters as a list for WITH (...).
CREATE FUNCTION vertical_partition_internal.options_list(options text[], namespace text DEFAULT '')
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(format('%s%I=%L', namespace, split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')
    FROM unnest(options) o
$$;

-- Return the definitions of the indexes, constraints and extended statistics of a table, and of
-- their properties.  "family" is the table itself, or a split view and its parts.  A foreign key
-- that refers to a table of the family will refer to the new table.
CREATE FUNCTION vertical_partition_internal.definitions(relation oid, family oid[])
RETURNS SETOF vertical_partition_internal.definition LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH
    indexes AS (
        SELECT i.indexrelid, c.relname, i.indisprimary, i.indisreplident, i.indisclustered, c.reloptions, t.spcname,
            vertical_partition_internal.qualified_name(i.indexrelid) AS name,
            pg_describe_object('pg_class'::regclass, i.indexrelid, 0) AS object,
            'CREATE ' || CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END || 'INDEX ' || quote_ident(c.relname) || ' ON ' AS head,
            pg_get_indexdef(i.indexrelid) AS def,
            n.oid AS constraint_oid, n.contype, n.condeferrable, n.condeferred,
            ARRAY(SELECT k FROM unnest(i.indkey::int2[]) k WHERE k <> 0
                UNION SELECT d.refobjsubid::int2 FROM pg_depend d
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.refobjsubid <> 0
                UNION SELECT 0::int2 WHERE i.indexprs::text LIKE '%:varattno 0 %' OR i.indpred::text LIKE '%:varattno 0 %') AS columns
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
            LEFT JOIN pg_constraint n ON n.conindid = i.indexrelid AND n.conrelid = relation AND n.contype IN ('p', 'u', 'x')
        WHERE i.indrelid = relation),
    constraints AS (
        SELECT c.*, pg_describe_object('pg_constraint'::regclass, c.oid, 0) AS object, f.head, f.tail
        FROM pg_constraint c LEFT JOIN LATERAL vertical_partition_internal.foreign_key(c.oid) f ON c.contype = 'f'
        WHERE c.conrelid = relation AND c.contype <> 't'),
    extended AS (
        SELECT s.oid, s.stxname, format('%I.%I', n.nspname, s.stxname) AS name, s.stxowner,
            (to_jsonb(s) ->> 'stxstattarget')::integer AS target,
            pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0) AS object,
            pg_get_statisticsobjdef(s.oid) AS def,
            ARRAY(SELECT k FROM unnest(s.stxkeys::int2[]) k
                UNION SELECT d.refobjsubid::int2 FROM pg_depend d
                    WHERE d.classid = 'pg_statistic_ext'::regclass AND d.objid = s.oid
                        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.refobjsubid <> 0
                UNION SELECT 0::int2 WHERE s.stxexprs::text LIKE '%:varattno 0 %') AS columns
        FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace
        WHERE s.stxrelid = relation)

    SELECT 10, object, columns, indisprimary, NULL::text, spcname, head,
        CASE WHEN starts_with(def, head || vertical_partition_internal.qualified_name(relation) || ' USING ')
            THEN substr(def, length(head || vertical_partition_internal.qualified_name(relation)) + 1) END,
        NULL::smallint[], NULL::text, NULL::name, NULL::boolean, NULL::oid
    FROM indexes WHERE contype IS DISTINCT FROM 'x'
    UNION ALL
    SELECT 20, object, columns, indisprimary, NULL, NULL, 'ALTER TABLE ',
        format(' ADD CONSTRAINT %1$I %2$s USING INDEX %1$I%3$s%4$s', relname,
            CASE contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END,
            CASE WHEN condeferrable THEN ' DEFERRABLE' END, CASE WHEN condeferred THEN ' INITIALLY DEFERRED' END),
        NULL, NULL, NULL, NULL, NULL
    FROM indexes WHERE contype IN ('p', 'u')
    UNION ALL
    SELECT 20, object, columns, false, NULL, spcname, 'ALTER TABLE ',
        format(' ADD CONSTRAINT %I %s', relname, pg_get_constraintdef(constraint_oid)), NULL, NULL, NULL, NULL, NULL
    FROM indexes WHERE contype = 'x'
    UNION ALL
    SELECT 21, object, columns, false, NULL, NULL, NULL,
        format('ALTER INDEX %s SET (%s)', name, vertical_partition_internal.options_list(reloptions)), NULL, NULL, NULL, NULL, NULL
    FROM indexes WHERE contype = 'x' AND reloptions IS NOT NULL
    UNION ALL
    SELECT 22, x.object, x.columns, x.indisprimary, NULL, NULL, NULL,
        format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s', x.name, a.attnum, a.attstattarget), NULL, NULL, NULL, NULL, NULL
    FROM indexes x JOIN pg_attribute a ON a.attrelid = x.indexrelid AND a.attstattarget >= 0
    UNION ALL
    SELECT 23, object, columns, indisprimary, NULL, NULL, 'ALTER TABLE ', format(' CLUSTER ON %I', relname), NULL, NULL, NULL, NULL, NULL
    FROM indexes WHERE indisclustered
    UNION ALL
    SELECT 24, object, columns, indisprimary, NULL, NULL, 'ALTER TABLE ', format(' REPLICA IDENTITY USING INDEX %I', relname), NULL, NULL, NULL, NULL, NULL
    FROM indexes WHERE indisreplident
    UNION ALL
    SELECT 25, object, columns, indisprimary, NULL, NULL, NULL, format('COMMENT ON INDEX %s IS %L', name, obj_description(indexrelid, 'pg_class')),
        NULL, NULL, NULL, NULL, NULL
    FROM indexes WHERE obj_description(indexrelid, 'pg_class') IS NOT NULL
    UNION ALL
    SELECT 30, object, conkey, false, NULL, NULL, 'ALTER TABLE ', format(' ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), NULL, NULL, NULL, NULL, NULL
    FROM constraints WHERE contype = 'c' OR contype = 'n' AND NOT convalidated
    UNION ALL
    SELECT 40, object, conkey, false,
        nullif(concat(CASE WHEN confdeltype = 'c' THEN 'DELETE' END,
            CASE WHEN confdeltype NOT IN ('a', 'r', 'c') OR confupdtype NOT IN ('a', 'r') THEN 'SET' END), ''),
        NULL, 'ALTER TABLE ',
        format(' ADD CONSTRAINT %I %s', conname,
            CASE WHEN confrelid = ANY (family) THEN head
                ELSE head || vertical_partition_internal.qualified_name(confrelid) || vertical_partition_internal.not_valid(tail) END),
        CASE WHEN confrelid = ANY (family) THEN confkey END, CASE WHEN confrelid = ANY (family) THEN vertical_partition_internal.not_valid(tail) END, conname, tail <> vertical_partition_internal.not_valid(tail),
        CASE WHEN confrelid <> ALL (family) THEN confrelid END
    FROM constraints WHERE contype = 'f' AND conparentid = 0
    UNION ALL
    SELECT 50, object, conkey, contype = 'p', NULL, NULL, format('COMMENT ON CONSTRAINT %I ON ', conname),
        format(' IS %L', obj_description(oid, 'pg_constraint')), NULL, NULL, NULL, NULL, NULL
    FROM constraints WHERE obj_description(oid, 'pg_constraint') IS NOT NULL
    UNION ALL
    SELECT 60, object, columns, false, NULL, NULL,
        CASE WHEN right(def, length(vertical_partition_internal.qualified_name(relation)) + 6) = ' FROM ' || vertical_partition_internal.qualified_name(relation)
            THEN left(def, - length(vertical_partition_internal.qualified_name(relation))) END, '', NULL, NULL, NULL, NULL, NULL
    FROM extended
    UNION ALL
    SELECT 61, object, columns, false, NULL, NULL, NULL, format('ALTER STATISTICS %s SET STATISTICS %s', name, target), NULL, NULL, NULL, NULL, NULL
    FROM extended WHERE target >= 0
    UNION ALL
    SELECT 62, object, columns, false, NULL, NULL, NULL, format('COMMENT ON STATISTICS %s IS %L', name, obj_description(oid, 'pg_statistic_ext')),
        NULL, NULL, NULL, NULL, NULL
    FROM extended WHERE obj_description(oid, 'pg_statistic_ext') IS NOT NULL
$$;

-- Return a temporary name for an object, to be used as long as another object has the final name.
CREATE FUNCTION vertical_partition_internal.temporary_name(object oid)
RETURNS name LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ('vertical_partition_' || object)::name
$$;

-- Return the clause of CREATE TABLE for an identity column.  The sequence of this column is like
-- the given one, but has a temporary name.
CREATE FUNCTION vertical_partition_internal.identity_clause(sequence oid)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(' GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME %I.%I START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s%s)',
        n.nspname, vertical_partition_internal.temporary_name(sequence), q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache,
        CASE WHEN q.seqcycle THEN ' CYCLE' END)
    FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE q.seqrelid = sequence
$$;

-- Return the columns of a table.
CREATE FUNCTION vertical_partition_internal.columns(relation oid, OUT attnum smallint, OUT name name,
    OUT type text,                  -- with its collation
    OUT clause text,                -- of CREATE TABLE
    OUT generated text,
    OUT uses smallint[],            -- columns that it is computed from
    OUT default_value text,
    OUT settings text,              -- actions of ALTER TABLE
    OUT comment text,
    OUT identity "char",
    OUT sequence oid)               -- of an identity column
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.attnum, a.attname, x.type, format('%I %s%s%s%s', a.attname, x.type, x.generated, x.identity, x.not_null), x.generated,
        ARRAY(SELECT DISTINCT p.refobjsubid::int2 FROM pg_depend p
            WHERE a.attgenerated <> '' AND p.refclassid = 'pg_class'::regclass AND p.refobjid = relation
                AND p.refobjsubid NOT IN (0, a.attnum)
                AND (p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
                    OR p.classid = 'pg_class'::regclass AND p.objid = relation AND p.objsubid = a.attnum)),
        CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END,
        nullif(concat_ws(', ',
            CASE WHEN a.attstattarget >= 0 THEN format('ALTER %I SET STATISTICS %s', a.attname, a.attstattarget) END,
            CASE WHEN a.attstorage <> t.typstorage AND a.attgenerated IN ('', 's') THEN format('ALTER %I SET STORAGE %s', a.attname,
                CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END) END,
            CASE a.attcompression WHEN 'p' THEN format('ALTER %I SET COMPRESSION pglz', a.attname)
                WHEN 'l' THEN format('ALTER %I SET COMPRESSION lz4', a.attname) END,
            (SELECT format('ALTER %I SET (%s)', a.attname, vertical_partition_internal.options_list(array_agg(o)))
                FROM unnest(a.attoptions) o WHERE split_part(o, '=', 1) IN ('n_distinct', 'n_distinct_inherited') HAVING count(*) > 0)), ''),
        col_description(relation, a.attnum), a.attidentity, s.sequence
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN LATERAL (
            SELECT p.objid FROM pg_depend p JOIN pg_sequence q ON q.seqrelid = p.objid
            WHERE p.classid = 'pg_class'::regclass AND p.refclassid = 'pg_class'::regclass
                AND p.refobjid = relation AND p.refobjsubid = a.attnum AND p.deptype = 'i' AND a.attidentity <> '') s (sequence) ON true
        CROSS JOIN LATERAL (SELECT
            format_type(a.atttypid, a.atttypmod)
                || CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || a.attcollation::regcollation ELSE '' END,
            CASE WHEN a.attgenerated <> '' THEN format(' GENERATED ALWAYS AS (%s) %s', pg_get_expr(d.adbin, d.adrelid),
                CASE a.attgenerated WHEN 's' THEN 'STORED' ELSE 'VIRTUAL' END) END,
            vertical_partition_internal.identity_clause(s.sequence),
            coalesce((SELECT CASE WHEN c.convalidated THEN
                    format(' CONSTRAINT %I NOT NULL%s', c.conname, CASE WHEN c.connoinherit THEN ' NO INHERIT' END) ELSE '' END
                FROM pg_constraint c WHERE c.conrelid = relation AND c.contype = 'n' AND c.conkey = ARRAY[a.attnum]),
                CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END)) x (type, generated, identity, not_null)
    WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
$$;

-- Return true if a partitioned table has partitions of other owners.  Reading rows of the table can
-- run code of these owners.
CREATE FUNCTION vertical_partition_internal.has_foreign_partitions(relation oid)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM pg_partition_tree(relation) t JOIN pg_class c ON c.oid = t.relid, pg_class r
        WHERE r.oid = relation AND r.relkind = 'p' AND c.relowner <> r.relowner)
$$;

-- Return true if a foreign key compares values after a user-defined cast.  A check of the foreign
-- key would run this cast as the owner of the referenced table.
CREATE FUNCTION vertical_partition_internal.has_users_cast(constraint_oid oid)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_constraint f
            CROSS JOIN LATERAL unnest(f.conkey, f.conpfeqop) k (attnum, operator)
            JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum
            JOIN pg_operator o ON o.oid = k.operator
            JOIN pg_cast x ON x.casttarget = o.oprright AND x.castsource IN (
                WITH RECURSIVE base AS (
                    SELECT t.oid, t.typbasetype FROM pg_type t WHERE t.oid = a.atttypid
                    UNION ALL
                    SELECT t.oid, t.typbasetype FROM pg_type t JOIN base b ON t.oid = b.typbasetype)
                SELECT b.oid FROM base b)
            JOIN pg_proc p ON p.oid = x.castfunc
            JOIN pg_roles r ON r.oid = p.proowner
        WHERE f.oid = constraint_oid AND NOT r.rolsuper)
$$;

-- Return the foreign keys of other tables that refer to a table.
CREATE FUNCTION vertical_partition_internal.foreign_keys_to(relation oid, family oid[], OUT constraint_oid oid, OUT owner oid, OUT strange boolean,
    OUT referencing text, OUT name name, OUT columns smallint[], OUT head text, OUT tail text)
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.oid, r.relowner, r.relkind = 'p' AND (r.relowner <> t.relowner OR vertical_partition_internal.has_foreign_partitions(r.oid)),
        vertical_partition_internal.qualified_name(c.conrelid), c.conname, c.confkey, f.head, f.tail
    FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid JOIN pg_class t ON t.oid = c.confrelid,
        vertical_partition_internal.foreign_key(c.oid) f
    WHERE c.contype = 'f' AND c.confrelid = relation AND c.conrelid <> ALL (family) AND c.conparentid = 0
$$;

-- Return the objects that depend on a table or on its row type, and that cannot be recreated on
-- other tables.  Also return other properties of the table that cannot be carried over.
CREATE FUNCTION vertical_partition_internal.dependents(relation oid, family oid[])
RETURNS SETOF text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid)
    FROM pg_depend d
    WHERE d.refclassid = 'pg_class'::regclass
        AND (d.refobjid = relation OR d.refobjid IN (SELECT sequence FROM vertical_partition_internal.columns(relation)))
        AND NOT CASE d.classid
            WHEN 'pg_constraint'::regclass THEN EXISTS (SELECT FROM pg_constraint c
                WHERE c.oid = d.objid AND (c.conrelid = relation OR c.confrelid = relation))
            WHEN 'pg_class'::regclass THEN d.objid = relation
                OR (SELECT c.relkind FROM pg_class c WHERE c.oid = d.objid) IN ('i', 't', 'S') AND d.deptype <> 'n'
            WHEN 'pg_attrdef'::regclass THEN EXISTS (SELECT FROM pg_attrdef a WHERE a.oid = d.objid AND a.adrelid = ANY (family))
            WHEN 'pg_trigger'::regclass THEN EXISTS (SELECT FROM pg_trigger t WHERE t.oid = d.objid AND (t.tgrelid = relation OR t.tgisinternal))
            WHEN 'pg_type'::regclass THEN EXISTS (SELECT FROM pg_type t WHERE t.oid = d.objid AND t.typrelid = relation)
            WHEN 'pg_statistic_ext'::regclass THEN true
            WHEN 'pg_publication_rel'::regclass THEN true
            WHEN 'pg_rewrite'::regclass THEN EXISTS (SELECT FROM pg_rewrite r
                WHERE r.oid = d.objid AND r.ev_class = ANY (family) AND r.rulename = '_RETURN')
            ELSE false END
    UNION
    SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
    FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
        JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)
    WHERE c.oid = relation AND NOT (d.classid = 'pg_type'::regclass AND d.objid = t.typarray)
    UNION
    SELECT pg_describe_object(t.tableoid, t.oid, 0)
    FROM pg_trigger t
    WHERE t.tgrelid = relation AND NOT t.tgisinternal AND (t.tgtype & 1 = 1 OR t.tgtype & 32 <> 0
            OR t.tgoldtable IS NOT NULL OR t.tgnewtable IS NOT NULL OR t.tgenabled <> 'O')
        AND (t.tgname NOT IN ('vertical_partition_write', 'vertical_partition_guard', 'vertical_partition_delete') OR cardinality(family) = 1)
    UNION
    -- the parts have no defaults
    SELECT pg_describe_object(f.tableoid, f.oid, 0) || ', whose action SET DEFAULT would set NULL'
    FROM pg_constraint f
    WHERE f.conrelid = relation AND f.contype = 'f' AND 'd' IN (f.confdeltype, f.confupdtype) AND cardinality(family) = 1
    UNION
    -- an action of a foreign key writes to the hot part, but the trigger belongs to the view
    SELECT format('%s, which would not fire for changes that %s makes', pg_describe_object(t.tableoid, t.oid, 0), pg_describe_object(f.tableoid, f.oid, 0))
    FROM pg_trigger t JOIN pg_constraint f ON f.conrelid = t.tgrelid
    WHERE t.tgrelid = relation AND NOT t.tgisinternal AND t.tgtype & 1 = 0 AND f.contype = 'f' AND cardinality(family) = 1
        AND (t.tgtype & 8 <> 0 AND f.confdeltype = 'c'
            OR t.tgtype & 16 <> 0 AND f.confdeltype IN ('n', 'd')
                AND (t.tgattr::text = '' OR t.tgattr::int2[] && coalesce(f.confdelsetcols, f.conkey))
            OR t.tgtype & 16 <> 0 AND f.confupdtype IN ('c', 'n', 'd') AND (t.tgattr::text = '' OR t.tgattr::int2[] && f.conkey))
    UNION
    SELECT pg_describe_object(d.classid, d.objid, 0) || ', which depends on an extension'
    FROM pg_depend d
    WHERE d.deptype = 'x'
        AND (d.classid = 'pg_class'::regclass AND d.objid IN (SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = relation)
            OR d.classid = 'pg_trigger'::regclass AND d.objid IN (SELECT t.oid FROM pg_trigger t WHERE t.tgrelid = relation))
    UNION
    SELECT pg_describe_object('pg_class'::regclass, i.indexrelid, 0) || ', which is invalid' FROM pg_index i WHERE i.indrelid = relation AND NOT i.indisvalid
    UNION
    -- constraints with WITHOUT OVERLAPS or PERIOD do not use the equality of a unique index
    SELECT pg_describe_object(c.tableoid, c.oid, 0) || ', of periods' FROM pg_constraint c
    WHERE c.conrelid = relation AND (to_jsonb(c) ->> 'conperiod')::boolean
    UNION
    -- the trigger of a view cannot set the value that RETURNING shows for such a column
    SELECT format('column %s, a virtual generated column', a.attname) FROM pg_attribute a
    WHERE a.attrelid = relation AND a.attgenerated NOT IN ('', 's')
    UNION
    SELECT 'security label ' || s.label FROM pg_seclabel s WHERE s.classoid = 'pg_class'::regclass AND s.objoid = relation
    UNION
    SELECT 'subscription of the table' FROM pg_subscription_rel s WHERE s.srrelid = relation
    UNION
    SELECT 'row security' FROM pg_class c WHERE c.oid = relation AND (c.relrowsecurity OR c.relforcerowsecurity)
    UNION
    SELECT pg_describe_object(s.tableoid, s.oid, 0) || ', which has another owner'
    FROM pg_statistic_ext s JOIN pg_class c ON c.oid = s.stxrelid WHERE c.oid = relation AND s.stxowner <> c.relowner
    UNION
    SELECT pg_describe_object(t.tableoid, t.oid, 0) || ', whose function the owner may not execute'
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.oid = relation AND NOT t.tgisinternal AND NOT has_function_privilege(c.relowner, t.tgfoid, 'EXECUTE')
    UNION
    SELECT format('constraint %s, whose table %s the owner may not refer to', f.conname, vertical_partition_internal.qualified_name(p.oid))
    FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class p ON p.oid = f.confrelid
    WHERE c.oid = relation AND f.contype = 'f' AND f.conparentid = 0 AND NOT (
        has_schema_privilege(c.relowner, p.relnamespace, 'USAGE') AND (
            has_table_privilege(c.relowner, p.oid, 'REFERENCES')
            OR (SELECT bool_and(has_column_privilege(c.relowner, p.oid, k, 'REFERENCES')) FROM unnest(f.confkey) k)))
    UNION
    SELECT format('constraint %s, whose table %s has partitions of other owners', f.conname, vertical_partition_internal.qualified_name(f.confrelid))
    FROM pg_constraint f
    WHERE f.conrelid = relation AND f.contype = 'f' AND f.conparentid = 0 AND vertical_partition_internal.has_foreign_partitions(f.confrelid)
    UNION
    SELECT format('constraint %s on table %s, which compares after a cast that a user has made', f.conname, vertical_partition_internal.qualified_name(f.conrelid))
    FROM pg_constraint f
    WHERE relation IN (f.conrelid, f.confrelid) AND f.contype = 'f' AND f.conparentid = 0 AND vertical_partition_internal.has_users_cast(f.oid)
    UNION
    SELECT format('privilege %s, granted by %s', x.privilege_type, pg_get_userbyid(x.grantor))
    FROM pg_class c, LATERAL (
        SELECT (aclexplode(c.relacl)).*
        UNION ALL
        SELECT (aclexplode(a.attacl)).* FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0) x
    WHERE c.oid = relation AND x.grantor <> c.relowner
$$;

-- Return statements that grant the privileges of a relation.  The first one revokes the default
-- privileges of the owner.
CREATE FUNCTION vertical_partition_internal.grants(relation oid)
RETURNS SETOF text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('REVOKE ALL ON %s %s FROM %I', k.kind, k.name, pg_get_userbyid(c.relowner))
    FROM pg_class c, LATERAL (SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, vertical_partition_internal.qualified_name(c.oid)) k (kind, name)
    WHERE c.oid = relation AND c.relacl IS NOT NULL
    UNION ALL
    SELECT format('GRANT %s%s ON %s %s TO %s%s', x.privilege_type, x.columns, k.kind, k.name,
        CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END,
        CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' END)
    FROM pg_class c, LATERAL (SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, vertical_partition_internal.qualified_name(c.oid)) k (kind, name),
        LATERAL (
            SELECT '' AS columns, (aclexplode(c.relacl)).*
            UNION ALL
            SELECT format(' (%I)', a.attname), (aclexplode(a.attacl)).* FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0) x
    WHERE c.oid = relation
$$;

-- Return the OID of a relation that was just created for an owner in a schema.  Before, no relation
-- in the schema had that name.  Raise an error if the name belongs to another relation now.
CREATE FUNCTION vertical_partition_internal.new_relation(name text, owner oid, schema oid)
RETURNS oid LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    relation oid := (SELECT c.oid FROM pg_class c
        WHERE c.oid = to_regclass(name) AND c.relowner = owner AND c.relnamespace = schema);
BEGIN
    IF relation IS NULL THEN
        RAISE EXCEPTION 'relation % was changed by another session', name USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN relation;
END
$$;

-- Give the owner of a new relation all privileges on it.  Revoke all privileges of other roles,
-- which default privileges can have granted.
CREATE FUNCTION vertical_partition_internal.own(relation oid, owner oid)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name text := vertical_partition_internal.qualified_name(relation);
    kind text;
    acl aclitem[];
BEGIN
    SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, relacl INTO kind, acl
    FROM pg_class WHERE oid = relation;
    IF acl IS NOT NULL THEN
        PERFORM vertical_partition_internal.run(owner, ARRAY(
            SELECT DISTINCT format('REVOKE ALL ON %s %s FROM %s', kind, name,
                CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
            FROM aclexplode(acl) x WHERE x.grantee <> owner)
            || format('GRANT ALL ON %s %s TO %I', kind, name, pg_get_userbyid(owner)));
    END IF;
END
$$;

-- Raise an error if the owner of a table may not create the objects that replace it.
CREATE FUNCTION vertical_partition_internal.check_privileges(relation oid, caller text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT * FROM vertical_partition_internal.missing_privileges(relation) LIMIT 1 LOOP
        RAISE EXCEPTION 'cannot % %', caller, vertical_partition_internal.qualified_name(relation) USING ERRCODE = 'insufficient_privilege',
            DETAIL = format('Its owner, role "%s", has no CREATE privilege on %s "%s", where tables are created as that role.', r.owner, r.kind, r.name),
            HINT = format('GRANT CREATE ON %s %I TO %I;', upper(r.kind), r.name, r.owner);
    END LOOP;
END
$$;

-- Return the schemas and tablespaces in which the owner of a table would have to create objects,
-- but has no CREATE privilege.
CREATE FUNCTION vertical_partition_internal.missing_privileges(relation oid, OUT kind text, OUT name name, OUT owner name)
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT DISTINCT 'schema', n.nspname, pg_get_userbyid(c.relowner)
    FROM pg_class c, pg_namespace n
    WHERE c.oid = relation AND NOT has_schema_privilege(c.relowner, n.oid, 'CREATE')
        AND (n.oid = c.relnamespace OR n.oid IN (SELECT s.stxnamespace FROM pg_statistic_ext s WHERE s.stxrelid = relation))
    UNION
    SELECT DISTINCT 'tablespace', t.spcname, pg_get_userbyid(c.relowner)
    FROM pg_class c, pg_class u, pg_tablespace t
    WHERE c.oid = relation AND (u.oid = relation OR u.oid IN (SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = relation))
        AND t.oid = u.reltablespace AND NOT has_tablespace_privilege(c.relowner, t.oid, 'CREATE')
    ORDER BY 1, 2
$$;

-- Return the owner of the extension, who could drop the extension and all split views with it.
-- Return NULL if this role is a superuser, or has the privileges of the owner of the database or of
-- the relation.
CREATE FUNCTION vertical_partition_internal.strange_extension_owner(relation oid)
RETURNS name LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_get_userbyid(e.extowner)
    FROM pg_extension e, pg_class c, pg_database d
    WHERE e.extname = 'vertical_partition' AND c.oid = relation AND d.datname = current_database()
        AND NOT pg_has_role(e.extowner, c.relowner, 'USAGE') AND NOT pg_has_role(e.extowner, d.datdba, 'USAGE')
$$;

-- Return the clauses that follow the columns in CREATE TABLE, for a table like the given one.
CREATE FUNCTION vertical_partition_internal.table_clauses(relation oid)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(' USING %I', m.amname) || coalesce(' WITH (' || nullif(concat_ws(', ',
            vertical_partition_internal.options_list(c.reloptions), vertical_partition_internal.options_list(o.reloptions, 'toast.')), '') || ')', '')
        || coalesce(' TABLESPACE ' || quote_ident(t.spcname), '')
    FROM pg_class c JOIN pg_am m ON m.oid = c.relam
        LEFT JOIN pg_class o ON o.oid = c.reltoastrelid
        LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
    WHERE c.oid = relation
$$;

-- Copy rows, and send a notice.  Do not use nested loops: a table that was just filled has no
-- statistics yet, so the planner could choose a nested loop that would take for ever.
CREATE FUNCTION vertical_partition_internal.copy_rows(owner oid, target oid, columns text, query text, label text)
RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
DECLARE
    n bigint;
BEGIN
    n := vertical_partition_internal.execute_as(owner,
        format('INSERT INTO %s (%s) %s', vertical_partition_internal.qualified_name(target), columns, query));
    PERFORM vertical_partition_internal.tell('notice', format('copied %s rows to %s, %s bytes', n, label, pg_table_size(target)));
    RETURN n;
END
$$;

-- Return the relations that have to be locked together with "relations", which will be recreated.
-- These are the sequences of their columns, and the tables that foreign keys connect to them.
CREATE FUNCTION vertical_partition_internal.locked_with(relations oid[], OUT relation oid, OUT partner_of oid)
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.objid, NULL::oid
    FROM pg_depend d JOIN pg_sequence q ON q.seqrelid = d.objid
    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (relations)
        AND d.deptype IN ('a', 'i')
    UNION
    SELECT f.confrelid, min(f.conrelid) FROM pg_constraint f
    WHERE f.contype = 'f' AND f.conrelid = ANY (relations) AND f.confrelid <> ALL (relations)
    GROUP BY f.confrelid
    UNION
    -- do not lock tables of other owners, which are refused later
    SELECT f.conrelid, min(f.confrelid) FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
    WHERE f.contype = 'f' AND f.confrelid = ANY (relations) AND f.conrelid <> ALL (relations) AND pg_has_role(c.relowner, 'USAGE')
    GROUP BY f.conrelid
$$;

-- Lock relations.  Lock out readers, too, of those for which "exclusive" is true, and of all further
-- ones.  If all_that_goes_with_them is true, also lock the relations of locked_with().  So the
-- caller gets the locks on all relations that it will need.  It never requests another or a stronger
-- lock later, while a transaction that holds such a lock waits for a lock of the caller.
--
-- Because of foreign keys and sequences, transactions lock tables in no common order.  So this
-- function waits for a lock without a limit only while it holds none.  It has to get the other
-- locks within a moment (the constant "patience").  Otherwise the function releases its locks, and
-- starts again with another relation.  If the holder of the missing lock waits for a relation that
-- the function had locked, the function starts with the next relation in turn.  Else it starts with
-- the relation whose lock was missing.
CREATE FUNCTION vertical_partition_internal.lock_all(relations oid[], exclusive boolean[], all_that_goes_with_them boolean)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    patience constant interval := '500 ms';
    lock_timeout constant interval := nullif(current_setting('lock_timeout')::interval, interval '0');
    beginning constant timestamptz := clock_timestamp();
    attempt integer := 0;
    told boolean := false;
    first oid;
    missed oid;
    hopeless boolean;
    since timestamptz;
    wanted oid[];
    had oid[];
    partners oid[];
    i integer;
BEGIN
    LOOP
        missed := NULL;
        hopeless := false;
        BEGIN
            SELECT relations || array_agg(l.relation ORDER BY l.relation), array_fill(NULL::oid, ARRAY[cardinality(relations)]) || array_agg(l.partner_of ORDER BY l.relation)
            INTO wanted, partners FROM vertical_partition_internal.locked_with(relations) l WHERE all_that_goes_with_them;
            had := '{}';
            FOR i IN SELECT x FROM generate_subscripts(wanted, 1) x ORDER BY wanted[x] IS DISTINCT FROM first, x LOOP
                WHILE NOT vertical_partition_internal.lock(wanted[i], partners[i], coalesce(exclusive[i], true), CASE WHEN had <> '{}' THEN 10 END) LOOP
                    hopeless := EXISTS (
                        SELECT FROM pg_locks w JOIN pg_locks h ON h.pid = w.pid
                        WHERE w.locktype = 'relation' AND w.relation = ANY (had) AND NOT w.granted
                            AND h.locktype = 'relation' AND h.relation = wanted[i] AND h.granted);
                    IF hopeless OR clock_timestamp() > since + patience THEN
                        missed := wanted[i];
                        RAISE lock_not_available USING
                            MESSAGE = format('could not obtain lock on relation %s', vertical_partition_internal.qualified_name(missed));
                    END IF;
                END LOOP;
                since := CASE WHEN had = '{}' THEN clock_timestamp() ELSE since END;
                had := had || wanted[i];
            END LOOP;
            -- a relation may have been added before the first one was locked
            missed := (SELECT min(l.relation) FROM vertical_partition_internal.locked_with(relations) l
                WHERE all_that_goes_with_them AND l.relation <> ALL (wanted));
            IF missed IS NULL THEN
                RETURN;
            END IF;
            RAISE lock_not_available;
        EXCEPTION WHEN lock_not_available THEN
            IF missed IS NULL OR clock_timestamp() > beginning + lock_timeout THEN
                RAISE;
            END IF;
            attempt := attempt + 1;
            IF NOT told AND clock_timestamp() > beginning + interval '10 s' THEN
                told := true;
                PERFORM vertical_partition_internal.tell('notice',
                    format('waiting for a moment in which %s is free, and whatever foreign keys and sequences join to it',
                        vertical_partition_internal.qualified_name(relations[1])),
                    format('Relation %s is not, after %s attempts.', vertical_partition_internal.qualified_name(missed), attempt));
            END IF;
            first := CASE WHEN hopeless THEN wanted[1 + attempt % cardinality(wanted)] ELSE missed END;
        END;
    END LOOP;
END
$$;

-- Raise an error if the parts do not belong to the owner of the view: anybody can create a view of
-- any tables that looks like a split view.
CREATE FUNCTION vertical_partition_internal.check_parts(view regclass, hot regclass, cold regclass)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid IN (hot, cold) AND NOT pg_has_role(relowner, 'USAGE')) THEN
        RAISE EXCEPTION 'must be owner of the parts of %', view USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- a superuser has the privileges of all owners, but the view's owner must own the parts
    IF EXISTS (SELECT FROM pg_class p, pg_class v WHERE v.oid = view AND p.oid IN (hot, cold) AND p.relowner <> v.relowner) THEN
        RAISE EXCEPTION 'split table % and its parts have different owners', view USING ERRCODE = 'insufficient_privilege',
            HINT = format('Use ALTER VIEW %s OWNER TO, which changes the owner of the parts as well.', view);
    END IF;
END
$$;

-- Check that the caller may lock a relation.  Then lock the relation and, if it is a split view,
-- its parts.  If "exclusive" is true, lock out all other sessions, else all sessions but readers.
CREATE FUNCTION vertical_partition_internal.lock_relation(relation regclass, caller text, exclusive boolean)
RETURNS pg_catalog.pg_class LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    before pg_class;
    after pg_class;
    name text;
    layout record;
BEGIN
    IF relation IS NULL THEN
        RAISE EXCEPTION '%() needs a relation', caller USING ERRCODE = 'null_value_not_allowed';
    END IF;
    SELECT * INTO before FROM pg_class WHERE oid = relation;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'relation with OID % does not exist', relation::oid USING ERRCODE = 'undefined_table';
    END IF;
    IF NOT pg_has_role(before.relowner, 'USAGE') THEN
        RAISE EXCEPTION 'must be owner of relation %', before.relname USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'cannot execute %() in a read-only transaction', caller USING ERRCODE = 'read_only_sql_transaction';
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'cannot execute %() in a % transaction', caller, upper(current_setting('transaction_isolation'))
        USING ERRCODE = 'feature_not_supported',
            DETAIL = 'Rows committed after its snapshot was taken would be lost.', HINT = 'Use READ COMMITTED.';
    END IF;
    name := vertical_partition_internal.qualified_name(relation);
    layout := vertical_partition_internal.layout(relation);
    IF before.relkind IN ('r', 'p', 'v') THEN
        IF layout.hot IS NOT NULL THEN
            -- check the parts before taking locks, and again below, when nobody can change them
            PERFORM vertical_partition_internal.check_parts(relation, layout.hot, layout.cold);
            PERFORM vertical_partition_internal.lock_all(ARRAY[relation::oid, layout.hot::oid, layout.cold::oid], array_fill(exclusive, '{3}'), exclusive);
        ELSE
            PERFORM vertical_partition_internal.lock_all(ARRAY[relation::oid], ARRAY[exclusive], exclusive);
        END IF;
    END IF;
    SELECT * INTO after FROM pg_class WHERE oid = relation;
    IF NOT FOUND OR vertical_partition_internal.qualified_name(relation) <> name OR NOT pg_has_role(after.relowner, 'USAGE')
        OR vertical_partition_internal.layout(relation) IS DISTINCT FROM layout THEN
        RAISE EXCEPTION 'relation % was changed by another session', name USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF layout.hot IS NOT NULL THEN
        PERFORM vertical_partition_internal.check_parts(relation, layout.hot, layout.cold);
    END IF;
    RETURN after;
END
$$;

-- Recreate the objects of a table on the tables that have their columns.  free_names() has freed
-- the names of indexes and statistics before.  A foreign key to a table of another owner is
-- validated in a special way, see validate_foreign_key().
CREATE FUNCTION vertical_partition_internal.define(owner oid, definitions vertical_partition_internal.definition[],
    first_table oid, first_columns smallint[], second_table oid)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET default_tablespace = ''
AS $$
DECLARE
    d vertical_partition_internal.definition;
    relation oid;
    foreign_key oid;
BEGIN
    FOR d IN SELECT * FROM unnest(definitions) ORDER BY step, object LOOP
        PERFORM set_config('default_tablespace', coalesce(d.tablespace, ''), true);
        relation := CASE WHEN d.columns <@ first_columns THEN first_table ELSE second_table END;
        PERFORM vertical_partition_internal.execute_as(owner,
            CASE WHEN d.head IS NULL THEN d.tail
                ELSE d.head || vertical_partition_internal.qualified_name(relation) || d.tail END
            || CASE WHEN d.reference IS NULL THEN ''
                ELSE vertical_partition_internal.qualified_name(CASE WHEN d.reference <@ first_columns THEN first_table ELSE second_table END)
                    || d.reference_tail END);
        IF d.step = 10 THEN
            PERFORM vertical_partition_internal.tell('notice', format('built %s', d.object));
        END IF;
        IF d.step = 40 THEN
            SELECT c.oid INTO foreign_key FROM pg_constraint c
            WHERE c.conrelid = relation AND c.contype = 'f' AND c.conname = d.name
                AND c.confrelid = coalesce(d.referenced, CASE WHEN d.reference <@ first_columns THEN first_table ELSE second_table END);
            IF NOT FOUND THEN
                RAISE EXCEPTION 'relation % was changed by another session', vertical_partition_internal.qualified_name(relation)
                USING ERRCODE = 'object_not_in_prerequisite_state';
            END IF;
            IF d.validate THEN
                PERFORM vertical_partition_internal.validate_foreign_key(foreign_key);
            END IF;
        END IF;
    END LOOP;
END
$$;

-- Rename the indexes and statistics of a table that will be dropped, so that new ones can take
-- their names.
CREATE FUNCTION vertical_partition_internal.free_names(relation oid)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT vertical_partition_internal.run(c.relowner, ARRAY(
        SELECT format('ALTER INDEX %s RENAME TO %I', vertical_partition_internal.qualified_name(i.indexrelid),
            vertical_partition_internal.temporary_name(i.indexrelid))
        FROM pg_index i WHERE i.indrelid = relation
        UNION ALL
        SELECT format('ALTER STATISTICS %I.%I RENAME TO %I', n.nspname, s.stxname, vertical_partition_internal.temporary_name(s.oid))
        FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace
        WHERE s.stxrelid = relation))
    FROM pg_class c WHERE c.oid = relation
$$;

-- Return a condition that compares the keys of two tables by the equality operators of the primary
-- key's index.
CREATE FUNCTION vertical_partition_internal.key_equality(relation oid, first_alias text, second_alias text, second_names name[] DEFAULT NULL)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(format('%s.%I OPERATOR(%I.%s) %s.%I', first_alias, a.attname, n.nspname, o.oprname,
        second_alias, coalesce(second_names[k.ord], a.attname)), ' AND ' ORDER BY k.ord)
    FROM pg_index i
        CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) WITH ORDINALITY k (attnum, opclass, ord)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
        JOIN pg_opclass c ON c.oid = k.opclass
        JOIN pg_amop p ON p.amopfamily = c.opcfamily AND p.amopstrategy = 3
            AND p.amoplefttype = c.opcintype AND p.amoprighttype = c.opcintype
        JOIN pg_operator o ON o.oid = p.amopopr
        JOIN pg_namespace n ON n.oid = o.oprnamespace
    WHERE i.indrelid = relation AND i.indisprimary AND k.ord <= i.indnkeyatts
$$;

-- Move sequences to the new tables.  The sequence of a serial column is changed to be owned by the
-- new column.  The sequence of an identity column has been recreated under its temporary_name(),
-- and the new sequence gets the state of the old one.  Return the statements to be run when the old
-- sequences are gone.
CREATE FUNCTION vertical_partition_internal.move_sequences(relation oid, first_table oid, first_columns smallint[], second_table oid,
    columns name[] DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    owner constant oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = relation);
    r record;
    temporary text;
BEGIN
    FOR r IN SELECT d.objid AS sequence, a.attnum, a.attname, d.deptype, n.nspname, c.relname, q.seqincrement,
            vertical_partition_internal.qualified_name(d.objid) AS name, obj_description(d.objid, 'pg_class') AS comment
        FROM pg_depend d JOIN pg_sequence q ON q.seqrelid = d.objid
            JOIN pg_class c ON c.oid = d.objid JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation
            AND d.deptype IN ('a', 'i') AND a.attname = ANY (columns) IS NOT FALSE LOOP
        IF r.deptype = 'a' THEN
            PERFORM vertical_partition_internal.execute_as(owner, format('ALTER SEQUENCE %s OWNED BY %s.%I', r.name,
                vertical_partition_internal.qualified_name(CASE WHEN r.attnum = ANY (first_columns) THEN first_table ELSE second_table END), r.attname));
        ELSE
            -- this locks the sequence against nextval()
            PERFORM vertical_partition_internal.execute_as(owner, format('ALTER SEQUENCE %s INCREMENT %s', r.name, r.seqincrement));
            temporary := format('%I.%I', r.nspname, vertical_partition_internal.temporary_name(r.sequence));
            PERFORM vertical_partition_internal.execute_as(owner,
                format('SELECT setval(%L, last_value, is_called) FROM %s', temporary, r.name));
            PERFORM vertical_partition_internal.own(to_regclass(temporary), owner);
            PERFORM vertical_partition_internal.hold_privileges(r.sequence);
            RETURN NEXT format('ALTER SEQUENCE %s RENAME TO %I', temporary, r.relname);
            IF r.comment IS NOT NULL THEN
                RETURN NEXT format('COMMENT ON SEQUENCE %s IS %L', r.name, r.comment);
            END IF;
            RETURN QUERY SELECT vertical_partition_internal.grants(r.sequence);

            -- the view's default calls nextval(), which needs the USAGE privilege; an identity
            -- column needs no privilege on its sequence
            RETURN QUERY SELECT DISTINCT format('GRANT USAGE ON SEQUENCE %s TO %s', r.name,
                CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
            FROM (SELECT (aclexplode(c.relacl)).* FROM pg_class c WHERE c.oid = relation
                UNION ALL
                SELECT (aclexplode(a.attacl)).* FROM pg_attribute a WHERE a.attrelid = relation) x
            WHERE x.privilege_type = 'INSERT' AND columns IS NULL;
        END IF;
    END LOOP;
END
$$;

-- Return statements that recreate the properties that tables and views have in common: statement
-- triggers, comments and privileges.
CREATE FUNCTION vertical_partition_internal.surface(relation oid, target_kind text)
RETURNS SETOF text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('COMMENT ON %s %s IS %L', target_kind, vertical_partition_internal.qualified_name(relation), obj_description(relation, 'pg_class'))
    WHERE obj_description(relation, 'pg_class') IS NOT NULL
    UNION ALL
    SELECT format('COMMENT ON COLUMN %s.%I IS %L', vertical_partition_internal.qualified_name(relation), name, comment)
    FROM vertical_partition_internal.columns(relation) WHERE comment IS NOT NULL
    UNION ALL
    SELECT s FROM pg_trigger t, LATERAL (VALUES
        (pg_get_triggerdef(t.oid)),
        ((SELECT format('COMMENT ON TRIGGER %I ON %s IS %L', t.tgname, vertical_partition_internal.qualified_name(relation), c)
            FROM obj_description(t.oid, 'pg_trigger') c WHERE c IS NOT NULL))) v (s)
    WHERE t.tgrelid = relation AND NOT t.tgisinternal AND t.tgname <> 'vertical_partition_write' AND s IS NOT NULL
    UNION ALL
    SELECT * FROM vertical_partition_internal.grants(relation)
$$;

-- Raise an error that lists all objects that cannot be carried over.
CREATE FUNCTION vertical_partition_internal.refuse(caller text, relation text, problems text[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF cardinality(problems) > 0 THEN
        RAISE EXCEPTION 'cannot % %', caller, relation
        USING ERRCODE = 'feature_not_supported',
            DETAIL = 'These objects cannot be carried over:' || (SELECT string_agg(E'\n' || p, '' ORDER BY p COLLATE "C") FROM unnest(problems) p),
            HINT = 'Drop or change these objects first.';
    END IF;
END
$$;

-- Raise an error if a table is in use in this session, for example by an open cursor.  DROP TABLE
-- would detect that much later.  Any ALTER TABLE detects it, so run one that changes nothing.
CREATE FUNCTION vertical_partition_internal.check_not_in_use(relation oid)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
BEGIN
    SELECT a.attname, coalesce(a.attstattarget, -1) AS target, c.relowner INTO r
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum LIMIT 1;
    PERFORM vertical_partition_internal.execute_as(r.relowner,
        format('ALTER TABLE %s ALTER %I SET STATISTICS %s', vertical_partition_internal.qualified_name(relation), r.attname, r.target));
END
$$;

-- Return the layout of a locked view, as layout() does.  Raise an error if the view does not belong
-- to a split table.
CREATE FUNCTION vertical_partition_internal.split_layout(view regclass)
RETURNS record LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    layout record := vertical_partition_internal.layout(view);
BEGIN
    IF layout.hot IS NOT NULL THEN
        RETURN layout;
    END IF;
    IF EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = view AND t.tgname = 'vertical_partition_write') THEN
        RAISE EXCEPTION '% is not a split table', view USING ERRCODE = 'wrong_object_type',
            DETAIL = 'The definition of the view is not the one that vertical_partition.split() has created.',
            HINT = format('Restore it by CREATE OR REPLACE VIEW %s AS SELECT ... FROM <hot part> h LEFT JOIN <cold part> c ON <equal keys> '
                'WHERE vertical_partition.linked(<method>, h.tableoid, <key of c>).', vertical_partition_internal.qualified_name(view));
    END IF;
    RAISE EXCEPTION '% is not a split table', view USING ERRCODE = 'wrong_object_type';
END
$$;

-- Return how a split view and its parts differ from the state that split() made.  If there is a
-- statement that removes a difference, return it as well.  A column may have another name in its
-- part than in the view: merge() uses the names of the view.
CREATE FUNCTION vertical_partition_internal.differences(view regclass, OUT problem text, OUT help text)
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH
    layout AS (SELECT l.* FROM vertical_partition_internal.layout(view) l),
    shown AS (SELECT l.* FROM vertical_partition_internal.layout_columns(view) l),
    -- columns that the view uses, including those of its link
    used AS (
        SELECT d.refobjid AS part, d.refobjsubid AS attnum
        FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
        WHERE r.ev_class = view AND r.rulename = '_RETURN' AND d.refclassid = 'pg_class'::regclass),
    missing AS (
        SELECT p.part, p.alias, c.attnum, c.name, c.default_value
        FROM layout l
            CROSS JOIN LATERAL (VALUES (l.hot, 'h'), (l.cold, 'c')) p (part, alias)
            CROSS JOIN LATERAL vertical_partition_internal.columns(p.part) c
        WHERE NOT EXISTS (SELECT FROM shown s WHERE s.part = p.part AND s.part_attnum = c.attnum)
            AND NOT (p.part = l.hot AND c.name IS NOT DISTINCT FROM l.link_column)
            AND NOT (p.part = l.cold AND CASE l.method
                WHEN 'surrogate_key' THEN EXISTS (SELECT FROM used u WHERE u.part = p.part AND u.attnum = c.attnum)
                ELSE c.name = ANY (l.cold_key_columns) END))
    SELECT format('column "%s" of table %s is not in the view', m.name, vertical_partition_internal.qualified_name(m.part)),
        format('ALTER TABLE %s DROP COLUMN %I;', vertical_partition_internal.qualified_name(m.part), m.name)
    FROM missing m
    UNION ALL
    SELECT format('column "%s" of the view is column "%s" of table %s once more', v.attname, p.attname, vertical_partition_internal.qualified_name(s.part)), NULL
    FROM shown s JOIN pg_attribute v ON v.attrelid = view AND v.attnum = s.attnum
        JOIN pg_attribute p ON p.attrelid = s.part AND p.attnum = s.part_attnum
    WHERE EXISTS (SELECT FROM shown o WHERE o.part = s.part AND o.part_attnum = s.part_attnum AND o.attnum < s.attnum)
    UNION ALL
    SELECT format('column "%s" of table %s is of type %s, in the view of type %s', p.attname, vertical_partition_internal.qualified_name(s.part),
        format_type(p.atttypid, p.atttypmod), format_type(v.atttypid, v.atttypmod)), NULL
    FROM shown s JOIN pg_attribute v ON v.attrelid = view AND v.attnum = s.attnum
        JOIN pg_attribute p ON p.attrelid = s.part AND p.attnum = s.part_attnum
    WHERE (p.atttypid, p.atttypmod, p.attcollation) IS DISTINCT FROM (v.atttypid, v.atttypmod, v.attcollation)
    UNION ALL
    -- split() gives the parts the aliases h and c, so this can insert columns before FROM
    SELECT NULL, 'CREATE OR REPLACE VIEW ' || vertical_partition_internal.qualified_name(view) || ' AS'
        || regexp_replace(d.def, E'\n   FROM \\(', E',\n    ' || replace(m.columns, E'\\', E'\\\\') || E'\n   FROM (') || m.defaults
    FROM (SELECT string_agg(format('%s.%I', n.alias, n.name), E',\n    ' ORDER BY n.alias DESC, n.attnum),
            coalesce(string_agg(format(E'\nALTER VIEW %s ALTER %I SET DEFAULT %s;', vertical_partition_internal.qualified_name(view), n.name, n.default_value), ''
                ORDER BY n.alias DESC, n.attnum) FILTER (WHERE n.default_value IS NOT NULL), '')
            FROM missing n) m (columns, defaults),
        LATERAL (SELECT pg_get_viewdef(view)) d (def)
    WHERE m.columns IS NOT NULL AND d.def ~ E'\n   FROM \\([^\n]* h\n     LEFT JOIN [^\n]* c ON \\('
$$;

-- Raise an error if the view and its parts differ, so that merge() would lose columns.
CREATE FUNCTION vertical_partition_internal.check_differences(view regclass)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    problems text;
    help text;
    remake text;
BEGIN
    SELECT string_agg(E'\n' || d.problem, '' ORDER BY d.problem COLLATE "C"),
        string_agg(E'\n' || d.help, '' ORDER BY d.problem COLLATE "C") FILTER (WHERE d.problem IS NOT NULL),
        CASE WHEN bool_and(d.help IS NOT NULL) THEN max(d.help) FILTER (WHERE d.problem IS NULL) END
    INTO problems, help, remake FROM vertical_partition_internal.differences(view) d;
    IF problems IS NOT NULL THEN
        RAISE EXCEPTION 'cannot merge %', vertical_partition_internal.qualified_name(view) USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'The parts and the definition of the view differ:' || problems,
            HINT = CASE WHEN help IS NULL THEN 'Make the view anew by CREATE OR REPLACE VIEW, with each column of the parts once.'
                ELSE 'To have columns in the table' || coalesce(E':\n' || remake, ', add them to the view by CREATE OR REPLACE VIEW.')
                    || E'\nTo do without their data:' || help END;
    END IF;
END
$$;

-- Give the columns of the parts the names that they have in the view.
CREATE FUNCTION vertical_partition_internal.rename_columns(view regclass)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    layout record := vertical_partition_internal.layout(view);
    first text[];
    last text[];
BEGIN
    -- rename in two steps, since two columns can have exchanged their names
    SELECT array_agg(format('ALTER TABLE %s RENAME %I TO %I', vertical_partition_internal.qualified_name(x.part), x.old, 'vertical_partition_' || x.n)),
        array_agg(format('ALTER TABLE %s RENAME %I TO %I', vertical_partition_internal.qualified_name(x.part), 'vertical_partition_' || x.n, x.new))
    INTO first, last
    FROM (
        SELECT l.part, p.attname AS old, v.attname AS new, l.attnum::integer AS n
        FROM vertical_partition_internal.layout_columns(view) l
            JOIN pg_attribute v ON v.attrelid = view AND v.attnum = l.attnum
            JOIN pg_attribute p ON p.attrelid = l.part AND p.attnum = l.part_attnum
        UNION ALL
        SELECT layout.cold, k.cold_name, v.attname, - l.attnum::integer
        FROM unnest(layout.key_columns, layout.cold_key_columns) k (hot_name, cold_name)
            JOIN pg_attribute p ON p.attrelid = layout.hot AND p.attname = k.hot_name
            JOIN vertical_partition_internal.layout_columns(view) l ON l.part = layout.hot AND l.part_attnum = p.attnum
            JOIN pg_attribute v ON v.attrelid = view AND v.attnum = l.attnum) x
    WHERE x.old <> x.new;
    PERFORM vertical_partition_internal.run(c.relowner, first), vertical_partition_internal.run(c.relowner, last)
    FROM pg_class c WHERE c.oid = view;
END
$$;

-- Add a foreign key that will replace another one, and that refers to the table "referenced".  Add
-- it as the owner of the referencing table.  Meanwhile, this owner gets the REFERENCES privilege on
-- the referenced table.  Return the OID of the new foreign key.
CREATE FUNCTION vertical_partition_internal.replace_foreign_key(constraint_oid oid, head text, referenced oid, tail text)
RETURNS oid LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    temporary name := vertical_partition_internal.temporary_name(constraint_oid);
    referenced_owner constant oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = referenced);
    referencing oid;
    owner oid;
    kind "char";
    granted text;
    replacement oid;
BEGIN
    SELECT c.oid, c.relowner, c.relkind INTO referencing, owner, kind
    FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid WHERE f.oid = constraint_oid;
    PERFORM vertical_partition_internal.hold_schema_name(referencing);
    IF NOT has_table_privilege(owner, referenced, 'REFERENCES') THEN
        granted := format('REFERENCES ON %s %%s %I', vertical_partition_internal.qualified_name(referenced), pg_get_userbyid(owner));
        PERFORM vertical_partition_internal.execute_as(referenced_owner, 'GRANT ' || format(granted, 'TO'));
    END IF;
    -- before 18, a foreign key of a partitioned table cannot be NOT VALID
    PERFORM vertical_partition_internal.execute_as(owner, format('ALTER TABLE %s ADD CONSTRAINT %I %s%s%s',
        vertical_partition_internal.qualified_name(referencing), temporary, head, vertical_partition_internal.qualified_name(referenced),
        CASE kind WHEN 'p' THEN tail ELSE vertical_partition_internal.not_valid(tail) END));
    IF granted IS NOT NULL THEN
        PERFORM vertical_partition_internal.execute_as(referenced_owner, 'REVOKE ' || format(granted, 'FROM'));
    END IF;
    SELECT c.oid INTO replacement FROM pg_constraint c
    WHERE c.conrelid = referencing AND c.confrelid = referenced AND c.conname = temporary AND c.contype = 'f';
    IF replacement IS NULL THEN
        RAISE EXCEPTION 'relation % was changed by another session', vertical_partition_internal.qualified_name(referencing)
        USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF kind <> 'p' AND vertical_partition_internal.not_valid(tail) <> tail THEN
        PERFORM vertical_partition_internal.validate_foreign_key(replacement);
    END IF;
    RETURN replacement;
END
$$;

-- Replace a foreign key by another one, which gets its name and comment.  The foreign keys of
-- partitions have their own names, so rename them as well.
CREATE FUNCTION vertical_partition_internal.swap_foreign_key(constraint_oid oid, replacement oid)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    relation text;
    owner oid;
    statements text[];
BEGIN
    SELECT vertical_partition_internal.qualified_name(c.oid), c.relowner,
        ARRAY[format('ALTER TABLE %s DROP CONSTRAINT %I', vertical_partition_internal.qualified_name(c.oid), f.conname)]
        || ARRAY(
            WITH RECURSIVE tree AS (
                SELECT t.oid, t.conrelid, t.conname, t.oid = replacement AS is_new
                FROM pg_constraint t WHERE t.oid IN (constraint_oid, replacement)
                UNION ALL
                SELECT p.oid, p.conrelid, p.conname, t.is_new FROM pg_constraint p JOIN tree t ON p.conparentid = t.oid)
            SELECT format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', vertical_partition_internal.qualified_name(n.conrelid), n.conname, o.conname)
            FROM tree n JOIN tree o ON o.conrelid = n.conrelid WHERE n.is_new AND NOT o.is_new)
        || (SELECT array_agg(format('COMMENT ON CONSTRAINT %I ON %s IS %L', f.conname, vertical_partition_internal.qualified_name(c.oid), d))
            FROM obj_description(constraint_oid, 'pg_constraint') d WHERE d IS NOT NULL)
    INTO relation, owner, statements
    FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid WHERE f.oid = constraint_oid;
    PERFORM vertical_partition_internal.run(owner, statements);
    IF EXISTS (SELECT FROM pg_constraint WHERE oid = constraint_oid) THEN
        RAISE EXCEPTION 'relation % was changed by another session', relation USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
END
$$;

-- Add relations to the publications that have a relation of "instead_of".  The caller owns these
-- publications.
CREATE FUNCTION vertical_partition_internal.publish(relations oid[], instead_of oid[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT DISTINCT p.oid, p.pubname, ARRAY(SELECT l.prrelid FROM pg_publication_rel l WHERE l.prpubid = p.oid) AS before
        FROM pg_publication p WHERE EXISTS (SELECT FROM pg_publication_rel l WHERE l.prpubid = p.oid AND l.prrelid = ANY (instead_of)) LOOP
        PERFORM vertical_partition_internal.execute(format('ALTER PUBLICATION %I ADD TABLE %s', r.pubname,
            (SELECT string_agg(vertical_partition_internal.qualified_name(n), ', ') FROM unnest(relations) n)));
        IF EXISTS (
            SELECT x.relation FROM unnest(r.before || relations) x (relation)
            EXCEPT SELECT l.prrelid FROM pg_publication_rel l WHERE l.prpubid = r.oid)
            OR EXISTS (
            SELECT l.prrelid FROM pg_publication_rel l WHERE l.prpubid = r.oid
            EXCEPT SELECT x.relation FROM unnest(r.before || relations) x (relation)) THEN
            RAISE EXCEPTION 'tables of publication "%" were changed by another session', r.pubname
            USING ERRCODE = 'object_not_in_prerequisite_state';
        END IF;
    END LOOP;
END
$$;

-- Return statements that create the triggers of a hot part.  "guarded" lists the columns whose
-- updates the guard trigger rejects.  If "cascades" is true, a foreign key deletes rows of the
-- part: then the guard trigger allows DELETE, and another trigger deletes the cold rows.
CREATE FUNCTION vertical_partition_internal.hot_triggers(hot oid, guarded text, cascades boolean)
RETURNS text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ARRAY[format('CREATE OR REPLACE TRIGGER vertical_partition_guard BEFORE INSERT%s OR TRUNCATE%s ON %s '
            'FOR EACH STATEMENT EXECUTE FUNCTION vertical_partition.guard_part()', CASE WHEN NOT cascades THEN ' OR DELETE' END,
            ' OR UPDATE OF ' || nullif(guarded, ''), vertical_partition_internal.qualified_name(hot))]
        || CASE WHEN cascades THEN ARRAY[format('CREATE OR REPLACE TRIGGER vertical_partition_delete AFTER DELETE ON %s '
            'FOR EACH ROW EXECUTE FUNCTION vertical_partition.delete_cold()', vertical_partition_internal.qualified_name(hot))] END
$$;

-- Make the triggers of a hot part allow foreign keys to delete its rows.
CREATE FUNCTION vertical_partition_internal.let_cascade(view oid)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT vertical_partition_internal.run(c.relowner, vertical_partition_internal.hot_triggers(l.hot,
        (SELECT string_agg(quote_ident(k), ', ') FROM unnest(l.key_columns || l.link_column) k), true))
    FROM vertical_partition_internal.layout(view) l JOIN pg_class c ON c.oid = l.hot
$$;

-- Make the guard trigger of a hot part reject changes of its key if "guarded" is true, else allow
-- them.
CREATE FUNCTION vertical_partition_internal.guard_keys(view oid, guarded boolean)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT vertical_partition_internal.run(c.relowner, vertical_partition_internal.hot_triggers(l.hot,
        (SELECT string_agg(quote_ident(k), ', ') FROM unnest(l.key_columns || l.link_column) k WHERE guarded),
        EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = l.hot AND t.tgname = 'vertical_partition_delete')))
    FROM vertical_partition_internal.layout(view) l JOIN pg_class c ON c.oid = l.hot
        JOIN pg_class v ON v.oid = view AND v.relowner = c.relowner
$$;

--
-- Functions that ALTER TABLE of a split table calls: vertical_partition_alter*.c
--

-- Return the query of a split view without the given columns.
CREATE FUNCTION vertical_partition_internal.query_without(view regclass, columns name[])
RETURNS text LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'vp_query_without';

-- Recreate the view of a split table without some of its columns, because columns of a view cannot
-- be dropped.  Return the OID of the new view.  The caller restores its key.
CREATE FUNCTION vertical_partition_internal.shrink(view regclass, dropped name[])
RETURNS oid LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET standard_conforming_strings = on
SET extra_float_digits = 3
SET datestyle = 'ISO'
SET intervalstyle = 'postgres'
AS $$
DECLARE
    class pg_class;
    layout record;
    view_name text := vertical_partition_internal.qualified_name(view);
    query text;
    options text;
    defaults text[];
    surface text[];
    result oid;
BEGIN
    SELECT * INTO class FROM pg_class c WHERE c.oid = view;
    layout := vertical_partition_internal.split_layout(view);
    PERFORM vertical_partition_internal.refuse('drop a column of split table', view_name, ARRAY(
        SELECT * FROM vertical_partition_internal.dependents(view, ARRAY[view::oid, layout.hot::oid, layout.cold::oid])
        UNION
        SELECT pg_describe_object(d.classid, d.objid, 0)
        FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = view AND a.attname = ANY (dropped)));
    PERFORM vertical_partition_internal.check_privileges(view, 'drop a column of split table');

    -- remove the comments and privileges of the dropped columns
    PERFORM vertical_partition_internal.run(class.relowner, ARRAY(
        SELECT format('COMMENT ON COLUMN %s.%I IS NULL', view_name, d) FROM unnest(dropped) d
        UNION ALL
        SELECT DISTINCT format('REVOKE ALL (%I) ON TABLE %s FROM %s', a.attname, view_name,
            CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
        FROM pg_attribute a, aclexplode(a.attacl) x WHERE a.attrelid = view AND a.attname = ANY (dropped)));
    PERFORM vertical_partition_internal.hold_privileges(view);
    surface := ARRAY(SELECT * FROM vertical_partition_internal.surface(view, 'VIEW'));
    defaults := ARRAY(SELECT format('ALTER VIEW %s ALTER %I SET DEFAULT %s', view_name, c.name, c.default_value)
        FROM vertical_partition_internal.columns(view) c WHERE c.default_value IS NOT NULL AND c.name <> ALL (dropped) ORDER BY c.attnum);
    options := ' WITH (' || vertical_partition_internal.options_list(class.reloptions) || ')';
    query := vertical_partition_internal.query_without(view, dropped);

    PERFORM vertical_partition_internal.run(class.relowner, ARRAY[format('DROP VIEW %s', view_name),
        format('CREATE VIEW %s%s AS %s', view_name, options, query)]);
    result := vertical_partition_internal.new_relation(view_name, class.relowner, class.relnamespace);
    PERFORM vertical_partition_internal.own(result, class.relowner);
    IF NOT EXISTS (SELECT FROM vertical_partition_internal.layout(result) l WHERE l.hot = layout.hot AND l.cold = layout.cold) THEN
        RAISE EXCEPTION 'relation % was changed by another session', view_name USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    PERFORM vertical_partition_internal.run(class.relowner, ARRAY[
        format('CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON %s '
            'FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row()', view_name)] || surface || defaults);
    RETURN result;
END
$$;

-- Show an identity column of a part in the view, as split() does.  The default of the view's column
-- becomes nextval() of the identity column's sequence.  Roles that may insert into the view get the
-- USAGE privilege on the sequence.
CREATE FUNCTION vertical_partition_internal.show_identity(view oid, part oid, column_name name)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT vertical_partition_internal.run(v.relowner, ARRAY[
            format('ALTER VIEW %s ALTER %I SET DEFAULT nextval(%L)', vertical_partition_internal.qualified_name(view), column_name,
                vertical_partition_internal.qualified_name(c.sequence))]
        || ARRAY(
            SELECT DISTINCT format('GRANT USAGE ON SEQUENCE %s TO %s', vertical_partition_internal.qualified_name(c.sequence),
                CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
            FROM (SELECT (aclexplode(v.relacl)).*
                UNION ALL
                SELECT (aclexplode(a.attacl)).* FROM pg_attribute a WHERE a.attrelid = view) x
            WHERE x.privilege_type = 'INSERT'))
    FROM pg_class v, vertical_partition_internal.columns(part) c
    WHERE v.oid = view AND c.name = column_name AND c.sequence IS NOT NULL
$$;

-- Raise an error if an altered key differs between the parts.
CREATE FUNCTION vertical_partition_internal.check_keys(view oid)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
DECLARE
    layout record := vertical_partition_internal.layout(view);
    owner oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = view);
BEGIN
    IF vertical_partition_internal.execute_as(owner, format('SELECT count(*) FROM ONLY %s h WHERE NOT EXISTS (SELECT FROM ONLY %s c WHERE %s)',
            vertical_partition_internal.qualified_name(layout.hot), vertical_partition_internal.qualified_name(layout.cold),
            vertical_partition_internal.key_equality(layout.hot, 'h', 'c', layout.cold_key_columns))) > 0 THEN
        RAISE EXCEPTION 'cannot alter the key of split table %', vertical_partition_internal.qualified_name(view) USING ERRCODE = 'data_exception',
            DETAIL = 'USING has given other values for the hot part than for the cold part.',
            HINT = format('Call vertical_partition.merge(%L) first, and split the table again afterwards.', vertical_partition_internal.qualified_name(view));
    END IF;
END
$$;

--
-- split()
--

CREATE FUNCTION vertical_partition_internal.split(relation regclass, columns name[], method text, force boolean)
RETURNS regclass LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET default_tablespace = ''
SET quote_all_identifiers = off
SET standard_conforming_strings = on
SET transform_null_equals = off
SET extra_float_digits = 3
SET datestyle = 'ISO'
SET intervalstyle = 'postgres'
SET jit = off
AS $$
DECLARE
    rel constant oid := relation;
    class pg_class;
    owner oid;
    schema name;
    view_name text;                 -- the name of the table, later of the view
    hot_name text;
    cold_name text;
    hot_oid oid;
    cold_oid oid;
    view_oid oid;
    hidden name;                    -- the column of the hot part that refers to the cold part
    key_columns smallint[];
    cold smallint[];
    hot smallint[];
    copied smallint[];              -- the key columns that the cold part has, too
    definitions vertical_partition_internal.definition[];
    problems text[];
    surface text[];                 -- statements for the view
    link text;
    marker text;
    kind text;
    guarded text;
    cascades boolean;               -- does a foreign key delete rows of the hot part?
    old_keys oid[];
    new_keys oid[];
    hot_rows bigint;
    cold_rows bigint;
    help text;
    number constant text := '((t.ctid::text::point)[0]::bigint * 65536 + (t.ctid::text::point)[1]::bigint)';
    r record;
BEGIN
    IF method IS NULL OR method NOT IN ('shared_key', 'surrogate_key', 'row_pointer') THEN
        RAISE EXCEPTION 'unknown method "%"', method USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Methods are shared_key, surrogate_key and row_pointer.';
    END IF;
    PERFORM vertical_partition_internal.check_preload(vertical_partition_internal.qualified_name(rel), coalesce(force, false))
    FROM pg_class c WHERE c.oid = rel AND c.relkind = 'r';
    PERFORM vertical_partition_internal.report('split', rel, 'waiting for locks');
    class := vertical_partition_internal.lock_relation(relation, 'split', true);
    PERFORM vertical_partition_internal.report('split', rel, 'preparing');
    owner := class.relowner;
    view_name := vertical_partition_internal.qualified_name(rel);
    schema := (SELECT n.nspname FROM pg_namespace n WHERE n.oid = class.relnamespace);

    -- relations that are never split
    kind := CASE
        WHEN class.relkind = 'v' AND (SELECT l.hot FROM vertical_partition_internal.layout(rel) l) IS NOT NULL THEN 'split already'
        WHEN class.relkind IN ('v', 'm') THEN 'a view'
        WHEN class.relkind = 'p' THEN 'a partitioned table'
        WHEN class.relkind = 'f' THEN 'a foreign table'
        WHEN class.relkind <> 'r' THEN 'not a table'
        WHEN class.relpersistence = 't' THEN 'a temporary table'
        WHEN rel < 16384 OR schema IN ('pg_catalog', 'information_schema', 'pg_toast') THEN 'a system table'
        WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = rel) THEN 'a partition or a child of other tables'
        WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = rel) THEN 'a parent of other tables'
        WHEN class.reloftype <> 0 THEN 'a table of a composite type'
        WHEN EXISTS (SELECT FROM pg_depend
            WHERE classid = 'pg_class'::regclass AND objid = rel AND deptype = 'e') THEN 'a member of an extension'
        WHEN EXISTS (SELECT FROM pg_trigger WHERE tgrelid = rel AND tgname = 'vertical_partition_guard')
            THEN 'a part of a split table'
        END;
    IF kind IS NOT NULL THEN
        RAISE EXCEPTION 'cannot split %', view_name USING ERRCODE = 'wrong_object_type', DETAIL = format('It is %s.', kind);
    END IF;
    SELECT i.indimmediate, ARRAY(SELECT k.attnum FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, ord)
            WHERE k.ord <= i.indnkeyatts ORDER BY k.ord) AS columns
    INTO r FROM pg_index i WHERE i.indrelid = rel AND i.indisprimary;
    IF r.indimmediate IS NOT TRUE THEN
        RAISE EXCEPTION 'cannot split %', view_name USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = CASE WHEN r.indimmediate IS NULL THEN 'It has no primary key.' ELSE 'Its primary key is deferrable.' END;
    END IF;
    key_columns := r.columns;

    -- the columns
    IF coalesce(cardinality(columns), 0) = 0 OR EXISTS (SELECT FROM unnest(columns) c WHERE c IS NULL) THEN
        RAISE EXCEPTION 'cannot split %', view_name USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'No columns are given for the cold part.',
            HINT = format('SELECT columns, reason FROM vertical_partition.advise(%L) proposes columns.', view_name);
    END IF;
    cold := '{}';
    FOR r IN SELECT c.name, a.attnum FROM unnest(columns) WITH ORDINALITY c (name, ord)
            LEFT JOIN vertical_partition_internal.columns(rel) a ON a.name = c.name ORDER BY c.ord LOOP
        IF r.attnum IS NULL THEN
            RAISE EXCEPTION 'column "%" of relation % does not exist', r.name, view_name USING ERRCODE = 'undefined_column';
        ELSIF r.attnum = ANY (cold) THEN
            RAISE EXCEPTION 'column "%" of relation % is given twice', r.name, view_name USING ERRCODE = 'duplicate_column';
        ELSIF r.attnum = ANY (key_columns) THEN
            RAISE EXCEPTION 'column "%" of relation % belongs to the primary key, which is hot', r.name, view_name
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave the column out.';
        END IF;
        cold := cold || r.attnum;
    END LOOP;
    hot := ARRAY(SELECT a.attnum FROM vertical_partition_internal.columns(rel) a WHERE a.attnum <> ALL (cold) ORDER BY a.attnum);
    IF hot <@ key_columns THEN
        RAISE EXCEPTION 'all columns of relation % but the primary key would be cold', view_name
        USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out a column that statements use often.';
    END IF;
    copied := CASE method WHEN 'surrogate_key' THEN '{}' ELSE key_columns END;

    -- the names
    hot_name := vertical_partition_internal.suffixed_name(class.relname, '_hot');
    cold_name := vertical_partition_internal.suffixed_name(class.relname, '_cold');
    FOR r IN SELECT x.name FROM unnest(ARRAY[hot_name, cold_name]) x (name)
        WHERE EXISTS (SELECT FROM pg_class c WHERE c.relname = x.name AND c.relnamespace = class.relnamespace)
            OR EXISTS (SELECT FROM pg_type t WHERE t.typname = x.name AND t.typnamespace = class.relnamespace) LOOP
        RAISE EXCEPTION 'cannot split %', view_name USING ERRCODE = 'duplicate_table',
            DETAIL = format('Name clash: a part would be called "%s", which exists in schema "%s".', r.name, schema);
    END LOOP;
    hot_name := format('%I.%I', schema, hot_name);
    cold_name := format('%I.%I', schema, cold_name);
    IF method <> 'shared_key' THEN
        SELECT h.name INTO hidden
        FROM generate_series(0, 1600) n,
            concat(CASE method WHEN 'surrogate_key' THEN 'cold_id' ELSE 'cold_tid' END, nullif(n, 0)) h (name)
        WHERE h.name NOT IN (SELECT a.name FROM vertical_partition_internal.columns(rel) a)
        ORDER BY n LIMIT 1;
    END IF;

    -- the definition of each other object must be understood, and must use columns of one part only
    definitions := ARRAY(SELECT d FROM vertical_partition_internal.definitions(rel, ARRAY[rel]) d);
    problems := ARRAY(
        SELECT d.object || ', of hot and cold columns together' FROM unnest(definitions) d
        WHERE NOT (d.columns <@ hot OR d.columns <@ (copied || cold) AND NOT d.is_primary)
            OR NOT (d.reference <@ hot OR d.reference <@ (copied || cold))
        UNION
        SELECT d.object || ', whose definition is not understood' FROM unnest(definitions) d
        WHERE d.tail IS NULL OR d.head IS NULL AND d.step IN (10, 60)
        UNION
        SELECT d.object || ', whose actions concern one part alone' FROM unnest(definitions) d
        WHERE d.action IS NOT NULL AND NOT d.columns <@ hot OR d.action LIKE '%SET%' AND d.columns && copied
        UNION
        SELECT format('constraint %s on table %s, %s', f.name, f.referencing,
            CASE WHEN f.tail IS NULL THEN 'whose definition is not understood' WHEN f.strange THEN 'a partitioned table that has another owner, or partitions of others'
                ELSE 'a table of another owner' END)
        FROM vertical_partition_internal.foreign_keys_to(rel, ARRAY[rel]) f
        WHERE f.tail IS NULL OR NOT pg_has_role(f.owner, 'USAGE') OR f.strange
        UNION
        SELECT format('column %s, generated from hot and cold columns together', a.name) FROM vertical_partition_internal.columns(rel) a
        WHERE a.generated IS NOT NULL AND NOT a.uses <@ CASE WHEN a.attnum = ANY (cold) THEN copied || cold ELSE hot END
        UNION
        SELECT format('column %s, a generated column of the primary key', a.name) FROM vertical_partition_internal.columns(rel) a
        WHERE a.generated IS NOT NULL AND a.attnum = ANY (key_columns)
        UNION
        SELECT format('column %s, GENERATED ALWAYS AS IDENTITY (BY DEFAULT can be carried over)', a.name)
        FROM vertical_partition_internal.columns(rel) a WHERE a.identity = 'a'
        UNION
        -- since 19, a publication of all tables can exclude some tables
        SELECT format('publication %s, %s', p.pubname, CASE WHEN (to_jsonb(l) ->> 'prexcept')::boolean THEN 'which leaves it out'
            WHEN l.prqual IS NOT NULL OR l.prattrs IS NOT NULL
            THEN 'which has a column list or a row filter' ELSE 'which has another owner' END)
        FROM pg_publication_rel l JOIN pg_publication p ON p.oid = l.prpubid
        WHERE l.prrelid = rel AND (l.prqual IS NOT NULL OR l.prattrs IS NOT NULL OR NOT pg_has_role(p.pubowner, 'USAGE')
            OR (to_jsonb(l) ->> 'prexcept')::boolean)
        UNION
        SELECT format('publication %s (row pointers mean nothing to a subscriber, use shared_key)', p.pubname)
        FROM pg_publication p
        WHERE method = 'row_pointer' AND class.relpersistence = 'p' AND (p.puballtables
            OR EXISTS (SELECT FROM pg_publication_rel l WHERE l.prpubid = p.oid AND l.prrelid = rel)
            OR EXISTS (SELECT FROM pg_publication_namespace l WHERE l.pnpubid = p.oid AND l.pnnspid = class.relnamespace))
        UNION
        SELECT * FROM vertical_partition_internal.dependents(rel, ARRAY[rel]));
    PERFORM vertical_partition_internal.refuse('split', view_name, problems);
    PERFORM vertical_partition_internal.check_privileges(rel, 'split');
    IF vertical_partition_internal.strange_extension_owner(rel) IS NOT NULL THEN
        RAISE EXCEPTION 'cannot split %', view_name USING ERRCODE = 'insufficient_privilege',
            DETAIL = format('Extension "vertical_partition" belongs to role "%s", who could drop it, and the view of the split table with it.',
                vertical_partition_internal.strange_extension_owner(rel)),
            HINT = 'The extension should be created by a superuser or by the owner of the database.';
    END IF;
    PERFORM vertical_partition_internal.check_not_in_use(rel);
    PERFORM vertical_partition_internal.hold_privileges(rel);
    surface := ARRAY(SELECT * FROM vertical_partition_internal.surface(rel, 'VIEW'));

    -- the parts
    PERFORM vertical_partition_internal.free_names(rel);
    PERFORM vertical_partition_internal.execute_as(owner, format('CREATE %sTABLE %s (%s%s)%s', CASE class.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, hot_name,
            string_agg(a.clause, ', ' ORDER BY a.attnum),
            CASE method WHEN 'surrogate_key' THEN format(', %I bigint NOT NULL', hidden)
                WHEN 'row_pointer' THEN format(', %I tid NOT NULL', hidden) END, vertical_partition_internal.table_clauses(rel)))
        FROM vertical_partition_internal.columns(rel) a WHERE a.attnum = ANY (hot);
    hot_oid := vertical_partition_internal.new_relation(hot_name, owner, class.relnamespace);
    PERFORM vertical_partition_internal.execute_as(owner, format('CREATE %sTABLE %s (%s%s)%s', CASE class.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, cold_name,
            CASE method WHEN 'surrogate_key' THEN format('%I bigint GENERATED BY DEFAULT AS IDENTITY, ', hidden) END,
            string_agg(CASE WHEN a.attnum = ANY (cold) THEN a.clause
                ELSE format('%I %s NOT NULL', a.name, a.type) END, ', ' ORDER BY array_position(copied, a.attnum), a.attnum),
            vertical_partition_internal.table_clauses(rel)))
        FROM vertical_partition_internal.columns(rel) a WHERE a.attnum = ANY (copied || cold);
    cold_oid := vertical_partition_internal.new_relation(cold_name, owner, class.relnamespace);
    PERFORM vertical_partition_internal.own(hot_oid, owner), vertical_partition_internal.own(cold_oid, owner);
    IF method = 'surrogate_key' THEN
        PERFORM vertical_partition_internal.own(a.sequence, owner) FROM vertical_partition_internal.columns(cold_oid) a WHERE a.name = hidden;
    END IF;
    PERFORM vertical_partition_internal.run(owner, ARRAY(
        SELECT format('ALTER TABLE %s %s', vertical_partition_internal.qualified_name(CASE WHEN a.attnum = ANY (cold) THEN cold_oid ELSE hot_oid END),
            a.settings)
        FROM vertical_partition_internal.columns(rel) a WHERE a.settings IS NOT NULL
        UNION ALL
        SELECT format('ALTER TABLE %s REPLICA IDENTITY %s', vertical_partition_internal.qualified_name(part),
            CASE class.relreplident WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END)
        FROM unnest(ARRAY[hot_oid, cold_oid]) part WHERE class.relreplident IN ('f', 'n')));

    -- the rows; the surrogate key of a row is computed from its TID in the table
    PERFORM vertical_partition_internal.report('split', rel, 'copying rows to the cold part', class.reltuples::bigint);
    SELECT vertical_partition_internal.copy_rows(owner, cold_oid,
            concat_ws(', ', CASE method WHEN 'surrogate_key' THEN quote_ident(hidden) END, c.names),
            format('SELECT %s FROM ONLY %s t', concat_ws(', ', CASE method WHEN 'surrogate_key' THEN number END, c.names),
                vertical_partition_internal.qualified_name(rel)), cold_name)
        INTO cold_rows
        FROM (SELECT string_agg(format('%I', a.name), ', ' ORDER BY a.attnum) FROM vertical_partition_internal.columns(rel) a
            WHERE a.attnum = ANY (copied || cold) AND a.generated IS NULL) c (names);
    PERFORM vertical_partition_internal.report('split', rel, 'copying rows to the hot part', cold_rows);
    SELECT vertical_partition_internal.copy_rows(owner, hot_oid, concat_ws(', ', c.names, quote_ident(hidden)),
            format('SELECT %s FROM ONLY %s t%s', concat_ws(', ', c.sources,
                    CASE method WHEN 'surrogate_key' THEN number WHEN 'row_pointer' THEN 'c.ctid' END),
                vertical_partition_internal.qualified_name(rel),
                CASE method WHEN 'row_pointer' THEN
                    format(' JOIN %s c ON %s', vertical_partition_internal.qualified_name(cold_oid), vertical_partition_internal.key_equality(rel, 't', 'c')) END),
                hot_name)
        INTO hot_rows
        FROM (SELECT string_agg(format('%I', a.name), ', ' ORDER BY a.attnum), string_agg(format('t.%I', a.name), ', ' ORDER BY a.attnum)
            FROM vertical_partition_internal.columns(rel) a WHERE a.attnum = ANY (hot) AND a.generated IS NULL) c (names, sources);
    IF hot_rows <> cold_rows THEN
        RAISE EXCEPTION 'cannot split %', view_name USING ERRCODE = 'data_corrupted',
            DETAIL = format('The hot part has got %s rows, the cold part %s.', hot_rows, cold_rows);
    END IF;
    IF method = 'surrogate_key' THEN
        PERFORM vertical_partition_internal.execute_as(owner, format('SELECT setval(%L, max(%I)) FROM %s',
                vertical_partition_internal.qualified_name(a.sequence), hidden, vertical_partition_internal.qualified_name(cold_oid)))
        FROM vertical_partition_internal.columns(cold_oid) a WHERE a.name = hidden;
    END IF;

    -- indexes, constraints and foreign keys that refer to them
    PERFORM vertical_partition_internal.report('split', rel, 'building indexes and constraints');
    PERFORM vertical_partition_internal.define(owner, definitions, hot_oid, hot, cold_oid);
    IF method <> 'row_pointer' THEN
        PERFORM vertical_partition_internal.execute_as(owner, format('ALTER TABLE %s ADD PRIMARY KEY (%s)', vertical_partition_internal.qualified_name(cold_oid),
            coalesce(quote_ident(CASE method WHEN 'surrogate_key' THEN hidden END),
                (SELECT string_agg(format('%I', a.name), ', ' ORDER BY array_position(key_columns, a.attnum))
                FROM vertical_partition_internal.columns(rel) a WHERE a.attnum = ANY (key_columns)))));
    END IF;
    FOR r IN SELECT f.*, CASE WHEN f.columns <@ hot THEN hot_oid ELSE cold_oid END AS part
        FROM vertical_partition_internal.foreign_keys_to(rel, ARRAY[rel]) f LOOP
        old_keys := old_keys || r.constraint_oid;
        new_keys := new_keys || vertical_partition_internal.replace_foreign_key(r.constraint_oid, r.head, r.part, r.tail);
    END LOOP;
    PERFORM vertical_partition_internal.report('split', rel, 'performing final cleanup');
    PERFORM vertical_partition_internal.publish(ARRAY[hot_oid, cold_oid], ARRAY[rel]);
    PERFORM vertical_partition_internal.execute_as(owner,
        format('ANALYZE %s, %s', vertical_partition_internal.qualified_name(hot_oid), vertical_partition_internal.qualified_name(cold_oid)));

    -- the view; it gets the properties that the table has until it is dropped
    SELECT string_agg(format('%1$s.%2$I AS %2$I', CASE WHEN a.attnum = ANY (cold) THEN 'c' ELSE 'h' END, a.name), ', ' ORDER BY a.attnum) AS columns,
        array_agg(format('ALTER VIEW %s ALTER %I SET DEFAULT %s', view_name, a.name,
                CASE WHEN a.sequence IS NULL THEN a.default_value
                    ELSE format('nextval(%L)', vertical_partition_internal.qualified_name(a.sequence)) END) ORDER BY a.attnum)
            FILTER (WHERE a.default_value IS NOT NULL OR a.sequence IS NOT NULL) AS defaults,
        string_agg(format('%I', a.name), ', ' ORDER BY a.attnum) FILTER (WHERE a.attnum = ANY (copied)) AS copied,
        format('c.%I', max(a.name) FILTER (WHERE a.attnum = key_columns[1])) AS marker
    INTO r FROM vertical_partition_internal.columns(rel) a;
    link := CASE method WHEN 'surrogate_key' THEN format('c.%1$I OPERATOR(pg_catalog.=) h.%1$I', hidden)
        WHEN 'row_pointer' THEN format('c.ctid OPERATOR(pg_catalog.=) h.%I AND ', hidden) || vertical_partition_internal.key_equality(rel, 'h', 'c')
        ELSE vertical_partition_internal.key_equality(rel, 'h', 'c') END;
    marker := CASE method WHEN 'surrogate_key' THEN format('c.%I', hidden) ELSE r.marker END;
    guarded := concat_ws(', ', r.copied, quote_ident(hidden));

    surface := ARRAY(SELECT * FROM vertical_partition_internal.move_sequences(rel, hot_oid, hot, cold_oid)) || surface;
    PERFORM vertical_partition_internal.swap_foreign_key(k.old, k.new) FROM unnest(old_keys, new_keys) k (old, new);
    PERFORM vertical_partition_internal.run(owner, ARRAY[format('DROP TABLE %s', view_name),
        format('CREATE VIEW %s AS SELECT %s FROM %s h LEFT JOIN %s c ON %s WHERE vertical_partition.linked(%L, h.tableoid, %s)',
            view_name, r.columns, hot_name, cold_name, link, method, marker)]);
    view_oid := vertical_partition_internal.new_relation(view_name, owner, class.relnamespace);
    PERFORM vertical_partition_internal.own(view_oid, owner);
    IF NOT EXISTS (SELECT FROM vertical_partition_internal.layout(view_oid) l WHERE l.hot = hot_oid AND l.cold = cold_oid) THEN
        RAISE EXCEPTION 'relation % was changed by another session', view_name USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    cascades := EXISTS (SELECT FROM unnest(definitions) d WHERE d.action LIKE '%DELETE%');
    -- with declare_keys on, the view also gets its key when the first of these triggers is created
    PERFORM vertical_partition_internal.run(owner, ARRAY[
        format('CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON %s '
            'FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row()', view_name),
        format('CREATE TRIGGER vertical_partition_guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
            'FOR EACH STATEMENT EXECUTE FUNCTION vertical_partition.guard_part()', cold_name)]
        || format('COMMENT ON TABLE %s IS %L', hot_name, format('hot part of the split table %1$s; a dump of %1$s alone has no rows, dump %1$s, %2$s and %3$s together',
            view_name, hot_name, cold_name))
        || vertical_partition_internal.hot_triggers(hot_oid, guarded, cascades) || surface || r.defaults);
    IF method = 'row_pointer' THEN
        PERFORM vertical_partition_internal.set_row_pointers(cold_oid);
    END IF;
    help := format('Use pg_dump -t %L -t %L -t %L, and --disable-triggers to restore data alone.', view_name, hot_name, cold_name);
    PERFORM vertical_partition_internal.tell('notice', format('a dump of %s alone has no rows', view_name),
        CASE WHEN NOT current_setting('vertical_partition.declare_keys')::boolean THEN
            'GROUP BY of its primary key has to name all other columns that the statement shows, unless declare_key() is called.' END, help);
    RETURN view_oid;
END
$$;

REVOKE ALL ON FUNCTION vertical_partition_internal.split(regclass, name[], text, boolean) FROM PUBLIC;

CREATE FUNCTION vertical_partition.split(relation regclass, columns name[], method text DEFAULT 'shared_key', force boolean DEFAULT false)
RETURNS regclass LANGUAGE C AS 'MODULE_PATHNAME', 'vp_call_internal';
COMMENT ON FUNCTION vertical_partition.split(regclass, name[], text, boolean) IS
    'move columns of a table to a part of its own, behind a view with the table''s name';

--
-- merge()
--

CREATE FUNCTION vertical_partition_internal.merge(relation regclass)
RETURNS regclass LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET default_tablespace = ''
SET quote_all_identifiers = off
SET standard_conforming_strings = on
SET transform_null_equals = off
SET extra_float_digits = 3
SET datestyle = 'ISO'
SET intervalstyle = 'postgres'
SET jit = off
SET row_security = on
AS $$
DECLARE
    class pg_class;
    owner oid;
    layout record;
    view_name text;                      -- the view's name, later the table's
    new_name text;                  -- the table's name until then
    hot_name text;
    cold_name text;
    family oid[];
    persistence "char";
    identity "char";
    definitions vertical_partition_internal.definition[];
    surface text[];
    old_keys oid[];
    new_keys oid[];
    new_oid oid;
    copied bigint;
    n bigint;
    r record;
BEGIN
    PERFORM vertical_partition_internal.report('merge', relation, 'waiting for locks');
    class := vertical_partition_internal.lock_relation(relation, 'merge', true);
    PERFORM vertical_partition_internal.report('merge', relation, 'preparing');
    owner := class.relowner;
    layout := vertical_partition_internal.split_layout(relation);
    view_name := vertical_partition_internal.qualified_name(relation);
    hot_name := vertical_partition_internal.qualified_name(layout.hot);
    cold_name := vertical_partition_internal.qualified_name(layout.cold);
    family := ARRAY[relation, layout.hot, layout.cold];
    new_name := format('%I.%I', (SELECT nspname FROM pg_namespace WHERE oid = class.relnamespace), vertical_partition_internal.temporary_name(relation));

    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = ANY (family) AND c.relnamespace <> class.relnamespace) THEN
        RAISE EXCEPTION 'cannot merge %', view_name USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('The view and its parts, %s and %s, are in different schemas.', hot_name, cold_name),
            HINT = 'Use ALTER TABLE ... SET SCHEMA.';
    END IF;
    -- The merged table can have only one access method.  If the parts have different ones, settings
    -- of columns for the other one could be lost silently.
    SELECT a.amname AS hot, b.amname AS cold INTO r
    FROM pg_class h JOIN pg_am a ON a.oid = h.relam, pg_class c JOIN pg_am b ON b.oid = c.relam
    WHERE h.oid = layout.hot AND c.oid = layout.cold;
    IF r.hot <> r.cold THEN
        RAISE EXCEPTION 'cannot merge %', view_name USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('The access method of %s is %I, that of %s is %I.', hot_name, r.hot, cold_name, r.cold),
            HINT = format('Use ALTER TABLE %s SET ACCESS METHOD %I.', view_name, CASE r.cold WHEN 'heap' THEN r.hot ELSE r.cold END);
    END IF;

    PERFORM vertical_partition_internal.check_privileges(p, 'merge') FROM unnest(ARRAY[layout.hot, layout.cold]) p;

    PERFORM vertical_partition_internal.check_differences(relation);

    -- The view's columns may have been renamed since the split.  The table gets the new names.
    -- With these names in the parts, all definitions fit the table.
    PERFORM vertical_partition_internal.rename_columns(relation);

    PERFORM vertical_partition_internal.refuse('merge', view_name, ARRAY(
        SELECT * FROM vertical_partition_internal.dependents(relation, family)
        UNION
        SELECT * FROM vertical_partition_internal.dependents(layout.hot, family)
        UNION
        SELECT * FROM vertical_partition_internal.dependents(layout.cold, family)
        UNION
        SELECT d.object || ', of a column that the view has not got'
        FROM unnest(ARRAY[layout.hot, layout.cold]) part (oid), vertical_partition_internal.definitions(part.oid, family) d,
            vertical_partition_internal.columns(part.oid) c
        WHERE c.attnum = ANY (d.columns) AND NOT (d.is_primary AND part.oid = layout.cold)
            AND c.name NOT IN (SELECT v.name FROM vertical_partition_internal.columns(relation) v)
        UNION
        SELECT format('constraint %s on table %s, %s', f.name, f.referencing,
            CASE WHEN f.tail IS NULL THEN 'whose definition is not understood' WHEN f.strange THEN 'a partitioned table that has another owner, or partitions of others'
                ELSE 'a table of another owner' END)
        FROM unnest(ARRAY[layout.hot, layout.cold]) part, vertical_partition_internal.foreign_keys_to(part, family) f
        WHERE f.tail IS NULL OR NOT pg_has_role(f.owner, 'USAGE') OR f.strange
        UNION
        -- the table would fire these triggers more often than the part does, or at other times
        SELECT pg_describe_object(t.tableoid, t.oid, 0)
        FROM pg_trigger t
        WHERE t.tgrelid IN (layout.hot, layout.cold) AND NOT t.tgisinternal
            AND t.tgname NOT IN ('vertical_partition_guard', 'vertical_partition_delete')
        UNION
        SELECT format('inheritance of table %s from table %s', vertical_partition_internal.qualified_name(i.inhrelid), vertical_partition_internal.qualified_name(i.inhparent))
        FROM pg_inherits i WHERE i.inhrelid IN (layout.hot, layout.cold) OR i.inhparent IN (layout.hot, layout.cold)
        UNION
        SELECT format('publication %s, %s', p.pubname, CASE
            WHEN bool_or((to_jsonb(l) ->> 'prexcept')::boolean) THEN 'which leaves a part out'
            WHEN bool_or(l.prqual IS NOT NULL OR l.prattrs IS NOT NULL) THEN 'which has a column list or a row filter'
            WHEN count(*) < 2 THEN 'which has one part only'
            ELSE 'which has another owner' END)
        FROM pg_publication_rel l JOIN pg_publication p ON p.oid = l.prpubid
        WHERE l.prrelid IN (layout.hot, layout.cold)
        GROUP BY p.oid, p.pubname
        HAVING bool_or(l.prqual IS NOT NULL OR l.prattrs IS NOT NULL OR coalesce((to_jsonb(l) ->> 'prexcept')::boolean, false))
            OR count(*) < 2 OR NOT pg_has_role(p.pubowner, 'USAGE')));
    PERFORM vertical_partition_internal.check_not_in_use(layout.hot), vertical_partition_internal.check_not_in_use(layout.cold);

    definitions := ARRAY(SELECT d FROM vertical_partition_internal.definitions(layout.hot, family) d)
        || ARRAY(SELECT d FROM vertical_partition_internal.definitions(layout.cold, family) d WHERE NOT d.is_primary);
    PERFORM vertical_partition_internal.hold_privileges(relation);
    surface := ARRAY(SELECT * FROM vertical_partition_internal.surface(relation, 'TABLE'));
    SELECT c.relpersistence, c.relreplident INTO persistence, identity FROM pg_class c WHERE c.oid = layout.hot;

    -- the table; its columns are the columns of the parts that the view shows
    PERFORM vertical_partition_internal.free_names(layout.hot), vertical_partition_internal.free_names(layout.cold);
    SELECT string_agg(p.clause, ', ' ORDER BY v.attnum) AS clauses,
        string_agg(format('%I', v.name), ', ' ORDER BY v.attnum) FILTER (WHERE p.generated IS NULL) AS names,
        string_agg('ALTER ' || format('%I SET DEFAULT ', v.name) || v.default_value, ', ' ORDER BY v.attnum)
            FILTER (WHERE p.generated IS NULL AND p.sequence IS NULL) AS defaults,
        string_agg(p.settings, ', ') AS settings
    INTO r
    FROM vertical_partition_internal.columns(relation) v
        JOIN LATERAL vertical_partition_internal.columns(CASE WHEN v.name = ANY (layout.cold_columns) THEN layout.cold ELSE layout.hot END) p
            ON p.name = v.name;
    PERFORM vertical_partition_internal.execute_as(owner, format('CREATE %sTABLE %s (%s)%s',
        CASE persistence WHEN 'u' THEN 'UNLOGGED ' END, new_name, r.clauses, vertical_partition_internal.table_clauses(layout.hot)));
    new_oid := vertical_partition_internal.new_relation(new_name, owner, class.relnamespace);
    PERFORM vertical_partition_internal.own(new_oid, owner);
    PERFORM vertical_partition_internal.run(owner, ARRAY(
        SELECT format('ALTER TABLE %s %s', vertical_partition_internal.qualified_name(new_oid), a) FROM unnest(ARRAY[r.settings, r.defaults]) a WHERE a IS NOT NULL
        UNION ALL
        SELECT format('ALTER TABLE %s REPLICA IDENTITY %s', vertical_partition_internal.qualified_name(new_oid), CASE identity WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END)
        WHERE identity IN ('f', 'n')));

    PERFORM vertical_partition_internal.report('merge', relation, 'copying rows to the table',
        (SELECT c.reltuples::bigint FROM pg_class c WHERE c.oid = layout.hot));
    copied := vertical_partition_internal.copy_rows(owner, new_oid, r.names,
        format('SELECT %s FROM %s', r.names, vertical_partition_internal.qualified_name(relation)), view_name);
    n := vertical_partition_internal.execute_as(owner, format('SELECT count(*) FROM ONLY %s', vertical_partition_internal.qualified_name(layout.cold)));
    IF copied <> n THEN
        RAISE EXCEPTION 'cannot merge %', view_name USING ERRCODE = 'data_corrupted',
            DETAIL = format('The cold part has %s rows, where the view has %s.', n, copied);
    END IF;

    -- indexes, constraints and foreign keys that refer to them
    PERFORM vertical_partition_internal.report('merge', relation, 'building indexes and constraints');
    PERFORM vertical_partition_internal.define(owner, definitions, new_oid, '{}', new_oid);
    FOR r IN SELECT f.* FROM unnest(ARRAY[layout.hot, layout.cold]) part, vertical_partition_internal.foreign_keys_to(part, family) f LOOP
        old_keys := old_keys || r.constraint_oid;
        new_keys := new_keys || vertical_partition_internal.replace_foreign_key(r.constraint_oid, r.head, new_oid, r.tail);
    END LOOP;
    PERFORM vertical_partition_internal.report('merge', relation, 'performing final cleanup');
    PERFORM vertical_partition_internal.publish(ARRAY[new_oid], ARRAY[layout.hot, layout.cold]);
    PERFORM vertical_partition_internal.execute_as(owner, 'ANALYZE ' || vertical_partition_internal.qualified_name(new_oid));

    surface := ARRAY(SELECT * FROM vertical_partition_internal.move_sequences(layout.hot, new_oid, '{}', new_oid,
            ARRAY(SELECT v.name FROM vertical_partition_internal.columns(relation) v)))
        || ARRAY(SELECT * FROM vertical_partition_internal.move_sequences(layout.cold, new_oid, '{}', new_oid, layout.cold_columns)) || surface;
    PERFORM vertical_partition_internal.swap_foreign_key(k.old, k.new) FROM unnest(old_keys, new_keys) k (old, new);
    IF layout.method = 'row_pointer' THEN
        PERFORM vertical_partition_internal.set_row_pointers(layout.cold, false);
    END IF;
    PERFORM vertical_partition_internal.run(owner, ARRAY[
        format('DROP VIEW %s', vertical_partition_internal.qualified_name(relation)),
        format('DROP TABLE %s, %s', vertical_partition_internal.qualified_name(layout.hot), vertical_partition_internal.qualified_name(layout.cold)),
        format('ALTER TABLE %s RENAME TO %I', vertical_partition_internal.qualified_name(new_oid), class.relname)] || surface);
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = ANY (family)) THEN
        RAISE EXCEPTION 'relation % was changed by another session', view_name USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN new_oid;
END
$$;

REVOKE ALL ON FUNCTION vertical_partition_internal.merge(regclass) FROM PUBLIC;

CREATE FUNCTION vertical_partition.merge(relation regclass)
RETURNS regclass LANGUAGE C AS 'MODULE_PATHNAME', 'vp_call_internal';
COMMENT ON FUNCTION vertical_partition.merge(regclass) IS 'make one table of the parts of a split table';

--
-- relink()
--

CREATE FUNCTION vertical_partition_internal.relink(relation regclass)
RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
-- Raise an error for rows that a policy hides: they would keep their wrong pointers.
SET row_security = off
AS $$
DECLARE
    owner oid;
    layout record;
    hot_name text;
    cold_name text;
    link text;
    missing bigint;
    surplus bigint;
    changed bigint;
BEGIN
    PERFORM vertical_partition_internal.report('relink', relation, 'waiting for locks');
    owner := (vertical_partition_internal.lock_relation(relation, 'relink', false)).relowner;
    PERFORM vertical_partition_internal.report('relink', relation, 'checking keys');
    layout := vertical_partition_internal.split_layout(relation);
    IF layout.method <> 'row_pointer' THEN
        RAISE EXCEPTION 'split table % has no row pointers', relation USING ERRCODE = 'wrong_object_type',
            DETAIL = format('Its method is %s.', layout.method);
    END IF;
    hot_name := vertical_partition_internal.qualified_name(layout.hot);
    cold_name := vertical_partition_internal.qualified_name(layout.cold);
    link := vertical_partition_internal.key_equality(layout.hot, 'h', 'c', layout.cold_key_columns);
    IF coalesce(link, '') = '' THEN
        RAISE EXCEPTION 'cannot relink %', relation USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('Its hot part %s has no primary key.', layout.hot),
            HINT = 'Call relink() after the restore has created the primary key.';
    END IF;
    PERFORM vertical_partition_internal.check_not_in_use(layout.hot);

    missing := vertical_partition_internal.execute_as(owner,
        format('SELECT count(*) FROM ONLY %s h WHERE NOT EXISTS (SELECT FROM ONLY %s c WHERE %s)', hot_name, cold_name, link));
    IF missing > 0 THEN
        RAISE EXCEPTION 'cannot relink %', relation USING ERRCODE = 'data_corrupted',
            DETAIL = format('%s rows of %s have no row in %s.', missing, layout.hot, layout.cold);
    END IF;
    surplus := vertical_partition_internal.execute_as(owner,
        format('SELECT count(*) FROM ONLY %s c WHERE NOT EXISTS (SELECT FROM ONLY %s h WHERE %s)', cold_name, hot_name, link));
    IF surplus > 0 THEN
        PERFORM vertical_partition_internal.tell('warning', format('%s rows of %s belong to no row of %s', surplus, layout.cold, layout.hot));
    END IF;

    PERFORM vertical_partition_internal.report('relink', relation, 'setting pointers');
    changed := vertical_partition_internal.point_rows(layout.hot, layout.link_column,
        format('SELECT h.ctid, c.ctid FROM ONLY %s h JOIN ONLY %s c ON %s WHERE h.%I OPERATOR(pg_catalog.<>) c.ctid',
            hot_name, cold_name, link, layout.link_column));
    IF NOT vertical_partition_internal.set_row_pointers(layout.cold) THEN
        PERFORM vertical_partition_internal.tell('notice', format('pointers to rows of %s can become wrong again', layout.cold),
            'A subscription writes to the parts of the split table.',
            'Until DROP SUBSCRIPTION and relink(), SELECT FOR UPDATE of cold columns fails.');
    END IF;
    RETURN changed;
END
$$;

REVOKE ALL ON FUNCTION vertical_partition_internal.relink(regclass) FROM PUBLIC;

CREATE FUNCTION vertical_partition.relink(relation regclass)
RETURNS bigint LANGUAGE C AS 'MODULE_PATHNAME', 'vp_call_internal';
COMMENT ON FUNCTION vertical_partition.relink(regclass) IS
    'correct the row pointers of a split table, after a restore or another command that moved rows; returns the number of corrected pointers';

--
-- The split tables
--

CREATE VIEW vertical_partition.status AS
SELECT v.oid::pg_catalog.regclass AS relation, l.cold_columns AS columns, l.hot, l.cold, l.method,
    CASE l.method WHEN 'surrogate_key' THEN k.names ELSE l.key_columns END AS key_columns,
    pg_catalog.pg_total_relation_size(l.hot) AS hot_bytes, pg_catalog.pg_total_relation_size(l.cold) AS cold_bytes,
    CASE l.method WHEN 'row_pointer' THEN EXISTS (
        SELECT FROM vertical_partition_internal.row_pointers p
        WHERE p.cold OPERATOR(pg_catalog.=) l.cold AND p.filenode OPERATOR(pg_catalog.=) pg_catalog.pg_relation_filenode(l.cold)) END AS pointers_valid
FROM pg_catalog.pg_class v, LATERAL vertical_partition_internal.layout(v.oid) l, LATERAL (
    SELECT ARRAY(
        SELECT a.attname FROM pg_catalog.pg_index i,
            LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY k (attnum, ord), pg_catalog.pg_attribute a
        WHERE i.indrelid OPERATOR(pg_catalog.=) l.hot AND i.indisprimary AND k.ord OPERATOR(pg_catalog.<=) i.indnkeyatts
            AND a.attrelid OPERATOR(pg_catalog.=) i.indrelid AND a.attnum OPERATOR(pg_catalog.=) k.attnum
        ORDER BY k.ord)) k (names)
WHERE v.relkind OPERATOR(pg_catalog.=) 'v' AND l.hot IS NOT NULL;
GRANT SELECT ON vertical_partition.status TO PUBLIC;

COMMENT ON VIEW vertical_partition.status IS 'the split tables of this database';
COMMENT ON COLUMN vertical_partition.status.relation IS 'the view that has the name of the table';
COMMENT ON COLUMN vertical_partition.status.columns IS 'columns that are in the cold part only';
COMMENT ON COLUMN vertical_partition.status.hot IS 'the part with the columns that statements use all the time';
COMMENT ON COLUMN vertical_partition.status.cold IS 'the part with the other columns';
COMMENT ON COLUMN vertical_partition.status.method IS 'how the hot part leads to the cold part: shared_key, surrogate_key or row_pointer';
COMMENT ON COLUMN vertical_partition.status.key_columns IS 'columns of the primary key';
COMMENT ON COLUMN vertical_partition.status.hot_bytes IS 'size of the hot part, with indexes and TOAST';
COMMENT ON COLUMN vertical_partition.status.cold_bytes IS 'size of the cold part, with indexes and TOAST';
COMMENT ON COLUMN vertical_partition.status.pointers_valid IS
'for method row_pointer: false if relink() is needed; NULL for the other methods';

-- The mark in the last parameter distinguishes these functions from CREATE INDEX.  The arrays are
-- those of vertical_partition_progress.c.
CREATE VIEW vertical_partition.progress AS
SELECT p.pid, p.datid, d.datname, p.param18::pg_catalog.oid AS relid,
    ('{split,merge,relink}'::pg_catalog.text[])[((p.param20 OPERATOR(pg_catalog.>>) 8) OPERATOR(pg_catalog.&) 255)::pg_catalog.int4] AS command,
    ('{waiting for locks,preparing,copying rows to the cold part,copying rows to the hot part,copying rows to the table,'
        'building indexes and constraints,checking keys,setting pointers,performing final cleanup}'::pg_catalog.text[])
        [(p.param20 OPERATOR(pg_catalog.&) 255)::pg_catalog.int4] AS phase,
    p.param13 AS tuples_done, p.param12 AS tuples_total, p.param19 AS indexes_done
FROM pg_catalog.pg_stat_get_progress_info('CREATE INDEX') p
    LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) p.datid
WHERE p.param20 OPERATOR(pg_catalog.>>) 16 OPERATOR(pg_catalog.=) 1987076466;
GRANT SELECT ON vertical_partition.progress TO PUBLIC;
COMMENT ON VIEW vertical_partition.progress IS 'tables that split(), merge() or relink() works on now';
COMMENT ON COLUMN vertical_partition.progress.pid IS 'process ID of the session';
COMMENT ON COLUMN vertical_partition.progress.datid IS 'OID of its database';
COMMENT ON COLUMN vertical_partition.progress.datname IS 'name of its database';
COMMENT ON COLUMN vertical_partition.progress.relid IS 'OID of the table, or of the view of the split table';
COMMENT ON COLUMN vertical_partition.progress.command IS 'split, merge or relink';
COMMENT ON COLUMN vertical_partition.progress.phase IS 'current phase';
COMMENT ON COLUMN vertical_partition.progress.tuples_done IS 'rows that this phase has processed, or rows of the index that is built';
COMMENT ON COLUMN vertical_partition.progress.tuples_total IS 'rows that this phase has to process, estimated';
COMMENT ON COLUMN vertical_partition.progress.indexes_done IS 'indexes that have been built';

-- Prevent DROP EXTENSION ... CASCADE from dropping the views of split tables.
CREATE FUNCTION vertical_partition_internal.guard_drop()
RETURNS event_trigger LANGUAGE C AS 'MODULE_PATHNAME', 'vp_guard_drop';
REVOKE ALL ON FUNCTION vertical_partition_internal.guard_drop() FROM PUBLIC;

CREATE EVENT TRIGGER vertical_partition_guard ON ddl_command_start
WHEN TAG IN ('DROP EXTENSION', 'DROP SCHEMA', 'DROP OWNED')
EXECUTE FUNCTION vertical_partition_internal.guard_drop();
ALTER EVENT TRIGGER vertical_partition_guard ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER vertical_partition_guard IS
'refuses DROP ... CASCADE that would drop the views of split tables and leave their parts';

-- A subscription writes rows without valid pointers, so record that the pointers are not valid.
CREATE FUNCTION vertical_partition_internal.forget_subscribed()
RETURNS event_trigger LANGUAGE C AS 'MODULE_PATHNAME', 'vp_forget_subscribed';
REVOKE ALL ON FUNCTION vertical_partition_internal.forget_subscribed() FROM PUBLIC;

CREATE EVENT TRIGGER vertical_partition_subscribed ON ddl_command_end
WHEN TAG IN ('CREATE SUBSCRIPTION', 'ALTER SUBSCRIPTION')
EXECUTE FUNCTION vertical_partition_internal.forget_subscribed();
ALTER EVENT TRIGGER vertical_partition_subscribed ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER vertical_partition_subscribed IS
'records that the row pointers of split tables with a subscription are not valid';
CREATE EVENT TRIGGER vertical_partition_unsubscribed ON ddl_command_start
WHEN TAG IN ('ALTER SUBSCRIPTION', 'DROP SUBSCRIPTION')
EXECUTE FUNCTION vertical_partition_internal.forget_subscribed();
ALTER EVENT TRIGGER vertical_partition_unsubscribed ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER vertical_partition_unsubscribed IS
'records that the row pointers of split tables that lose a subscription are not valid';

--
-- advise() and the counts that it uses: vertical_partition_advise.c, vertical_partition_track.c
--

CREATE FUNCTION vertical_partition_internal.counted_shapes(OUT relid oid, OUT is_read boolean, OUT columns int2[], OUT rows float8)
RETURNS SETOF record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'vp_counted_shapes';

CREATE FUNCTION vertical_partition.reset_column_updates()
RETURNS void LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'vp_reset_column_updates';
REVOKE ALL ON FUNCTION vertical_partition.reset_column_updates() FROM PUBLIC;
COMMENT ON FUNCTION vertical_partition.reset_column_updates() IS
'delete the counts of this database';

CREATE FUNCTION vertical_partition_internal.best_split(relation oid, attnums int2[], lengths int4[], alignments int4[],
    widths float8[], null_fracs float8[], keys boolean[], movable boolean[], row_pointer boolean, cold_now int2[],
    OUT cold int2[], OUT method text, OUT row_bytes float8, OUT hot_bytes float8, OUT cold_bytes float8,
    OUT updates float8, OUT reads float8, OUT written_now float8, OUT written_split float8,
    OUT cost_now float8, OUT cost_unsplit float8, OUT cost float8, OUT hot_bytes_now float8, OUT cold_bytes_now float8,
    OUT entry_bytes float8)
RETURNS record LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'vp_best_split';

-- This view has the columns of all tables that were counted while vertical_partition.track_updates
-- was on.  For each column, it shows the number of the table's rows that were updated, of rows in
-- which the column was set, and of rows of which the column was read.
CREATE VIEW vertical_partition.column_updates AS
WITH shapes AS MATERIALIZED (
    SELECT s.relid, s.is_read, s.columns, s.rows FROM vertical_partition_internal.counted_shapes() s),
tables AS (
    SELECT s.relid, pg_catalog.sum(s.rows) FILTER (WHERE NOT s.is_read) AS updates
    FROM shapes s GROUP BY s.relid),
counts AS (
    SELECT s.relid, c.attnum, pg_catalog.sum(s.rows) FILTER (WHERE NOT s.is_read) AS rows_set,
        pg_catalog.sum(s.rows) FILTER (WHERE s.is_read) AS rows_read
    FROM shapes s CROSS JOIN LATERAL pg_catalog.unnest(s.columns) c (attnum) GROUP BY s.relid, c.attnum)
SELECT t.relid::pg_catalog.regclass AS relation, a.attname AS column_name, a.attnum,
    pg_catalog.round(coalesce(t.updates, 0)) AS updates,
    pg_catalog.round(coalesce(c.rows_set, 0)) AS rows_set,
    pg_catalog.round(coalesce(c.rows_read, 0)) AS rows_read
FROM tables t
    JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) t.relid
        AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
    LEFT JOIN counts c ON c.relid OPERATOR(pg_catalog.=) t.relid AND c.attnum OPERATOR(pg_catalog.=) a.attnum;
GRANT SELECT ON vertical_partition.column_updates TO PUBLIC;
COMMENT ON VIEW vertical_partition.column_updates IS
'rows that were updated and read, by column, while vertical_partition.track_updates was on';
COMMENT ON COLUMN vertical_partition.column_updates.relation IS 'a table, or a part of a split table';
COMMENT ON COLUMN vertical_partition.column_updates.column_name IS 'name of the column';
COMMENT ON COLUMN vertical_partition.column_updates.attnum IS 'number of the column';
COMMENT ON COLUMN vertical_partition.column_updates.updates IS 'rows of the table that were updated';
COMMENT ON COLUMN vertical_partition.column_updates.rows_set IS 'rows in which the column was set';
COMMENT ON COLUMN vertical_partition.column_updates.rows_read IS 'rows of which the column was read';

-- Return the reason why split() would refuse a relation because of what it is, whichever columns
-- are cold.  Return NULL if there is no such reason.
CREATE FUNCTION vertical_partition_internal.unsplittable(relation oid)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN c.oid < 16384 OR n.nspname = 'information_schema' THEN 'it is a system table'
        WHEN c.relkind = 'v' THEN 'it is a view'
        WHEN c.relkind = 'p' THEN 'it is partitioned'
        WHEN c.relkind = 'f' THEN 'it is a foreign table'
        WHEN c.relkind <> 'r' THEN 'it is not a table'
        WHEN c.relpersistence = 't' THEN 'it is temporary'
        WHEN EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'vertical_partition_guard')
            THEN 'it is a part of a split table'
        WHEN EXISTS (SELECT FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)) THEN 'it takes part in inheritance'
        WHEN c.reloftype <> 0 THEN 'it is of a composite type'
        WHEN EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
            THEN 'it is a member of an extension'
        WHEN NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) THEN 'it has no primary key'
        WHEN NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indimmediate)
            THEN 'its primary key is deferrable'
        END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation
$$;

-- Return what would make split() refuse a table that could be split otherwise, whichever columns
-- are cold.  Return NULL if there is nothing.
CREATE FUNCTION vertical_partition_internal.blockers(relation oid)
RETURNS text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(x.problem ORDER BY x.problem COLLATE "C")
    FROM pg_class c CROSS JOIN LATERAL (
        SELECT format('extension "vertical_partition" belongs to role "%s", who could drop the view', e.owner)
        FROM vertical_partition_internal.strange_extension_owner(c.oid) e (owner) WHERE e.owner IS NOT NULL
        UNION
        SELECT format('its owner has no CREATE privilege on %s "%s"', m.kind, m.name)
        FROM vertical_partition_internal.missing_privileges(c.oid) m
        UNION
        SELECT format('the name of a part, "%s", is taken', k.relname) FROM pg_class k
        WHERE k.relnamespace = c.relnamespace
            AND k.relname IN (vertical_partition_internal.suffixed_name(c.relname, '_hot'), vertical_partition_internal.suffixed_name(c.relname, '_cold'))
        UNION
        SELECT p.problem FROM vertical_partition_internal.dependents(c.oid, ARRAY[c.oid]) p (problem)
        UNION
        SELECT format('column %s, GENERATED ALWAYS AS IDENTITY', a.attname) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attidentity = 'a'
        UNION
        SELECT format('column %s, a generated column of the primary key', a.attname)
        FROM pg_attribute a JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey)
        WHERE a.attrelid = c.oid AND a.attgenerated <> ''
        UNION
        SELECT format('constraint %s on table %s', f.name, f.referencing)
        FROM vertical_partition_internal.foreign_keys_to(c.oid, ARRAY[c.oid]) f
        WHERE f.tail IS NULL OR NOT pg_has_role(c.relowner, f.owner, 'USAGE') OR f.strange
        UNION
        SELECT format('publication %s', p.pubname)
        FROM pg_publication_rel l JOIN pg_publication p ON p.oid = l.prpubid
        WHERE l.prrelid = c.oid AND (l.prqual IS NOT NULL OR l.prattrs IS NOT NULL
            OR NOT pg_has_role(c.relowner, p.pubowner, 'USAGE'))) x (problem)
    WHERE c.oid = relation
$$;

-- Return the columns of a table that advise() keeps hot.  These are generated columns, identity
-- columns, columns of indexes, and all columns that another object depends on.  But some objects do
-- not count: views, the column's own default, NOT NULL, and a CHECK constraint on that column
-- alone.
CREATE FUNCTION vertical_partition_internal.pinned_columns(relation oid)
RETURNS int2[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(array_agg(DISTINCT a.attnum), '{}')
    FROM pg_attribute a
    WHERE a.attrelid = relation AND a.attnum > 0 AND (
        a.attgenerated <> '' OR a.attidentity <> ''
        OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = relation AND a.attnum = ANY (i.indkey))
        OR EXISTS (
            SELECT FROM pg_depend d
            WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.refobjsubid = a.attnum
                AND d.classid <> 'pg_rewrite'::regclass
                AND NOT EXISTS (SELECT FROM pg_attrdef f WHERE d.classid = 'pg_attrdef'::regclass
                    AND f.oid = d.objid AND f.adnum = a.attnum)
                AND NOT EXISTS (SELECT FROM pg_constraint c WHERE d.classid = 'pg_constraint'::regclass
                    AND c.oid = d.objid AND (c.contype = 'n' OR c.contype = 'c' AND cardinality(c.conkey) = 1))))
$$;

-- Return true if a type is ztext or zbytea of toast_policy, or a domain over one.  toast_policy does
-- not govern columns of these types.
CREATE FUNCTION vertical_partition_internal.compresses_itself(type oid)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE base AS (
        SELECT t.oid, t.typbasetype FROM pg_type t WHERE t.oid = type
        UNION ALL
        SELECT t.oid, t.typbasetype FROM base JOIN pg_type t ON t.oid = base.typbasetype)
    SELECT EXISTS (
        SELECT FROM base JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = base.oid AND d.deptype = 'e'
            JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
        WHERE e.extname = 'toast_policy')
$$;

-- Return the reason why toast_policy cannot store values of a table out of line, or NULL if it can.
-- advise() calls its functions as the user, so they must be those of the extension.
CREATE FUNCTION vertical_partition_internal.no_out_of_line(relation oid)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN e.oid IS NULL AND NOT EXISTS (SELECT FROM pg_available_extensions v WHERE v.name = 'toast_policy')
            THEN 'extension "toast_policy" is not available on this server'
        WHEN e.oid IS NULL THEN 'extension "toast_policy" is not installed in this database'
        WHEN f.trusted IS NOT TRUE THEN 'functions of extension "toast_policy" do not belong to a superuser'
        WHEN NOT f.callable THEN 'you may not call the functions of extension "toast_policy"'
        -- as long as the library is not loaded, the setting has the text that somebody has written
        WHEN nullif(current_setting('toast_policy.out_of_line', true), '') !~* '^(t|tr|tru|true|y|ye|yes|on|1)$'
            THEN 'the setting "toast_policy.out_of_line" is off'
        WHEN NOT has_schema_privilege(c.relnamespace, 'USAGE') THEN 'you may not use the schema of the table'
        WHEN m.amname NOT IN ('heap', 'toast_policy') THEN format('the table has the access method "%s"', m.amname)
        WHEN row_security_active(c.oid) THEN 'row-level security hides rows of the table from you'
        WHEN c.relpersistence = 'u' AND pg_is_in_recovery() THEN 'an unlogged table has no rows on a standby'
        WHEN m.amname = 'heap' AND EXISTS (SELECT FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'toast_tuple_target')
            THEN 'the table has a toast_tuple_target of its own'
        -- the policy would govern the column, and move its values as well
        WHEN x.name IS NOT NULL THEN format('column "%s" has STORAGE EXTERNAL', x.name)
        END
    FROM pg_class c JOIN pg_am m ON m.oid = c.relam
        LEFT JOIN pg_extension e ON e.extname = 'toast_policy'
        CROSS JOIN LATERAL (
            SELECT count(DISTINCT p.proname) = 4 AND bool_and(r.rolsuper AND d.objid IS NOT NULL) AS trusted,
                bool_and(has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE')) AS callable
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles r ON r.oid = p.proowner
                LEFT JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                    AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
            WHERE n.nspname = 'toast_policy' AND p.proname IN ('compare_out_of_line', 'enable_out_of_line', 'recompress', 'disable')
                AND e.oid IS NOT NULL) f
        LEFT JOIN LATERAL (
            SELECT a.attname AS name FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attlen = -1 AND a.attstorage = 'e'
                -- in a table of the access method, somebody has chosen the other columns
                AND (m.amname = 'heap' OR t.typstorage = 'e') AND NOT vertical_partition_internal.compresses_itself(t.oid)
            ORDER BY a.attnum LIMIT 1) x ON true
    WHERE c.oid = relation
$$;

-- Return true if toast_policy stores values of a column out of line in small rows.
CREATE FUNCTION vertical_partition_internal.goes_out_of_line(relation oid, attnum int2)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_class c JOIN pg_am m ON m.oid = c.relam JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
            CROSS JOIN LATERAL pg_options_to_table(c.reloptions) o
        WHERE c.oid = relation AND m.amname = 'toast_policy' AND a.attnum = $2 AND a.attstorage = 'e' AND a.attlen = -1
            AND NOT vertical_partition_internal.compresses_itself(t.oid)
            -- the default, from which on only large rows have values out of line
            AND o.option_name = 'toast_tuple_target'
            -- the server also accepts numbers like 256.0 and 0x100
            AND CASE WHEN o.option_value ~ '^\d+$' THEN o.option_value::integer ELSE 0 END
                < (current_setting('block_size')::integer - 40) / 4 / 8 * 8)
$$;

-- Return what it would give to store values of the cold columns of a table out of line instead of a
-- split that saves so many bytes of a row: the columns of which values go out of line, the size from
-- which on they do, average bytes of a row now and then, and of its values out of line, the bytes of the
-- table now, without free space, and then, and those of its TOAST table.  Without such columns, "columns" is NULL, and "problem" tells
-- why wide columns cannot go out of line.
CREATE FUNCTION vertical_partition_internal.out_of_line(relation oid, cold name[], saved float8, OUT columns name[], OUT min_bytes integer,
    OUT row_bytes_now float8, OUT row_bytes float8, OUT toast_row_bytes float8, OUT table_bytes_now bigint, OUT table_bytes bigint,
    OUT toast_bytes bigint, OUT problem text)
RETURNS record LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- A value out of line costs about 78 bytes more than in its row: the pointer, the header of the
    -- chunk and its line pointer, and an index entry.  Move no value that is less than twice as long.
    least_bytes constant integer := 160;
    -- A column with a smaller part of the saving is not worth a chunk for each of its values.
    least_part constant float8 := 0.05;
    -- A higher limit saves chunks.  Take it if it keeps this part of the saving.
    kept_part constant float8 := 0.95;
    is_wide boolean;
    r record;
    present record;
    best record;
    first_limit integer;
    first_saved float8;
    kept name[];
BEGIN
    SELECT array_agg(a.attname ORDER BY a.attnum), bool_or(st.avg_width >= least_bytes) INTO columns, is_wide
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = ANY (cold) AND a.attnum > 0 AND NOT a.attisdropped
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_stats st ON st.schemaname = n.nspname AND st.tablename = c.relname AND st.attname = a.attname AND NOT st.inherited
    -- disable() cannot take a column back whose type is EXTERNAL
    WHERE c.oid = relation AND a.attlen = -1 AND a.attstorage <> 'p' AND t.typstorage IN ('x', 'm')
        AND coalesce(st.avg_width * (1 - st.null_frac), least_bytes) >= least_part * saved;
    IF columns IS NULL THEN
        RETURN;
    END IF;
    problem := vertical_partition_internal.no_out_of_line(relation);
    IF problem IS NOT NULL THEN
        columns := NULL;
        IF is_wide IS NOT TRUE THEN
            problem := NULL;
        END IF;
        RETURN;
    END IF;
    LOOP
        first_limit := NULL;
        FOR r IN EXECUTE 'SELECT o.* FROM toast_policy.compare_out_of_line($1, $2, 1000) WITH ORDINALITY o ORDER BY o.ordinality'
            USING relation::regclass, columns
        LOOP
            IF r.min_bytes IS NULL THEN
                present := r;
            -- a limit that the table has already has no other beside it
            ELSIF first_limit IS NULL OR first_limit < least_bytes THEN
                first_limit := r.min_bytes;
                first_saved := present.row_bytes - r.row_bytes;
                best := r;
            ELSIF present.row_bytes - r.row_bytes >= kept_part * first_saved THEN
                best := r;
            END IF;
        END LOOP;
        -- a table without rows saves NULL
        IF (first_saved > 0) IS NOT TRUE THEN
            columns := NULL;
            RETURN;
        END IF;
        SELECT array_agg(x.name ORDER BY x.ord) INTO kept
        FROM unnest(columns, best.bytes_saved) WITH ORDINALITY x (name, bytes, ord)
        WHERE x.bytes >= least_part * (SELECT sum(greatest(b, 0)) FROM unnest(best.bytes_saved) b) AND x.bytes > 0;
        -- the saving can be of other columns alone, which the policy governs already
        IF kept IS NULL OR kept = columns THEN
            columns := kept;
            EXIT;
        END IF;
        columns := kept;
    END LOOP;
    min_bytes := best.min_bytes;
    row_bytes_now := present.row_bytes;
    row_bytes := best.row_bytes;
    toast_row_bytes := greatest(best.toast_bytes - present.toast_bytes, 0)::float8 / greatest(best.rows, 1);
    table_bytes_now := present.table_bytes;
    table_bytes := best.table_bytes;
    toast_bytes := best.toast_bytes;
END
$$;

-- Return the statements that store values of columns of a table out of line, and those that take that
-- back.
CREATE FUNCTION vertical_partition_internal.out_of_line_statements(relation oid, columns name[], min_bytes integer, OUT statement text, OUT undo text)
RETURNS record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('SELECT toast_policy.enable_out_of_line(%L, %s, %s)', q.name, min_bytes, l.names) || l.recompress,
        -- disable() without names also gives back the access method, and resets the limit
        ltrim(CASE WHEN m.amname = 'heap' THEN format('SELECT toast_policy.disable(%L)', q.name) || l.storage
            -- disable() of the last governed column would also give back the access method
            ELSE l.own_storage
                || CASE WHEN o.target IS NULL THEN format('; ALTER TABLE %s RESET (toast_tuple_target)', q.name)
                    WHEN o.target <> min_bytes::text THEN format('; ALTER TABLE %s SET (toast_tuple_target = %s)', q.name,
                        CASE WHEN o.target ~ '^\d+$' THEN o.target ELSE quote_literal(o.target) END)
                    ELSE '' END END
            || l.recompress, '; ')
    FROM pg_class c JOIN pg_am m ON m.oid = c.relam
        CROSS JOIN LATERAL (SELECT vertical_partition_internal.qualified_name(c.oid)) q (name)
        LEFT JOIN LATERAL (SELECT p.option_value AS target FROM pg_options_to_table(c.reloptions) p WHERE p.option_name = 'toast_tuple_target') o ON true
        CROSS JOIN LATERAL (
            SELECT string_agg(quote_literal(a.attname), ', ' ORDER BY a.attnum) AS names,
                coalesce(string_agg(s.statement, '' ORDER BY a.attnum) FILTER (WHERE a.attstorage NOT IN ('e', t.typstorage)), '') AS storage,
                coalesce(string_agg(s.statement, '' ORDER BY a.attnum) FILTER (WHERE a.attstorage <> 'e'), '') AS own_storage,
                format('; SELECT toast_policy.recompress(%L)', q.name) AS recompress
            FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                CROSS JOIN LATERAL (SELECT format('; ALTER TABLE %s ALTER %I SET STORAGE %s', q.name, a.attname,
                    CASE a.attstorage WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END) AS statement) s
            WHERE a.attrelid = c.oid AND a.attname = ANY (columns) AND a.attnum > 0 AND NOT a.attisdropped) l
    WHERE c.oid = relation
$$;

-- Return the proposal for a table or split view, or the reason why there is none.  Look for blockers
-- if there is a proposal, or if "always" is true.  This takes about as long as all the rest.  Check the
-- privilege here, because every user may execute this function.
CREATE FUNCTION vertical_partition_internal.advise_one(relation regclass, always boolean, OUT columns name[], OUT hot_columns name[], OUT method text,
    OUT row_bytes_now float8, OUT hot_row_bytes float8, OUT cold_row_bytes float8, OUT updates float8, OUT written_now float8,
    OUT written_split float8, OUT hot_share float8, OUT bytes_now bigint, OUT bytes_after bigint, OUT hot_bytes_now bigint,
    OUT hot_bytes_split bigint, OUT hot_bytes_out_of_line bigint, OUT bytes_split bigint, OUT bytes_out_of_line bigint, OUT reason text,
    OUT blockers text[], OUT statement text, OUT undo text)
RETURNS record LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    rel constant oid := relation;
    name constant text := vertical_partition_internal.qualified_name(rel);
    c record;
    s record;
    lay record;
    is_split boolean;
    unfit text;                         -- why the table can never be split
    family oid[];
    cold_now name[];
    keeps boolean;
    moving boolean;
    rows float8;
    heap_bytes bigint;
    toast_bytes bigint;
    row_sizes float8[];
    o record;
    -- Values out of line need neither a view nor a preloaded library.  So propose them if they save at
    -- least so much of what the split saves of the rows that are hot, and take at most so much more in
    -- total, since each of many columns would pay for chunks of its own.
    least_saving constant float8 := 0.9;
    most_bytes constant float8 := 1.2;
BEGIN
    IF NOT (has_table_privilege(rel, 'SELECT') OR has_any_column_privilege(rel, 'SELECT')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('permission denied for table %s', relation);
    END IF;
    SELECT * INTO lay FROM vertical_partition_internal.layout(relation);
    is_split := lay.hot IS NOT NULL;
    unfit := CASE WHEN NOT is_split THEN vertical_partition_internal.unsplittable(rel) END;
    -- values out of line need no key
    IF unfit IS NOT NULL AND (unfit NOT IN ('it has no primary key', 'its primary key is deferrable')
            OR vertical_partition_internal.no_out_of_line(rel) IS NOT NULL) THEN
        reason := unfit;
        blockers := ARRAY[unfit];
        RETURN;
    END IF;
    blockers := CASE WHEN unfit IS NOT NULL THEN ARRAY[unfit]
        WHEN always AND NOT is_split THEN vertical_partition_internal.blockers(rel) END;
    family := CASE WHEN is_split THEN ARRAY[lay.hot::oid, lay.cold::oid] ELSE ARRAY[rel] END;

    -- Statistics of the columns.  A char(n) column whose width is always the same counts as one of
    -- fixed length.
    SELECT array_agg(x.attnum ORDER BY x.attnum) AS attnums, array_agg(x.attname ORDER BY x.attnum) AS names,
        array_agg(x.length ORDER BY x.attnum) AS lengths, array_agg(x.alignment ORDER BY x.attnum) AS alignments,
        array_agg(x.width ORDER BY x.attnum) AS widths, array_agg(x.null_frac ORDER BY x.attnum) AS null_fracs,
        array_agg(x.is_key ORDER BY x.attnum) AS keys, array_agg(x.movable ORDER BY x.attnum) AS movable,
        coalesce(array_agg(x.attnum ORDER BY x.attnum) FILTER (WHERE x.part = lay.cold), '{}') AS cold,
        array_agg(x.attname ORDER BY x.attnum) FILTER (WHERE x.part = lay.cold) AS cold_names,
        bool_and(x.length >= 0 AND x.null_frac = 0) AS fixed, bool_and(x.visible) AS visible, bool_or(x.known) AS known, bool_or(x.movable) AS any_movable
    INTO c
    FROM (
        SELECT p.attnum, v.attname, p.part,
            CASE WHEN a.attlen >= 0 THEN a.attlen::integer WHEN a.atttypid = 'bpchar'::regtype AND st.avg_width = a.atttypmod - 3 THEN st.avg_width
                ELSE -1 END AS length,
            CASE WHEN a.attlen < 0 AND a.atttypid = 'bpchar'::regtype AND st.avg_width = a.atttypmod - 3 AND st.avg_width <= 127 THEN 1
                ELSE CASE a.attalign WHEN 'c' THEN 1 WHEN 's' THEN 2 WHEN 'i' THEN 4 ELSE 8 END END AS alignment,
            coalesce(st.avg_width, CASE WHEN a.attlen > 0 THEN a.attlen::integer ELSE 32 END)::float8 AS width,
            coalesce(st.null_frac, 0)::float8 AS null_frac,
            coalesce(p.part_attnum = ANY (ix.indkey), false) AS is_key,
            -- values out of line leave too little to split off
            NOT p.part_attnum = ANY (pin.attnums) AND NOT (NOT is_split AND vertical_partition_internal.goes_out_of_line(a.attrelid, a.attnum)) AS movable,
            has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS visible,
            st.attname IS NOT NULL AS known
        FROM (
                SELECT l.attnum, l.part, l.part_attnum FROM vertical_partition_internal.layout_columns(rel) l
                UNION ALL
                SELECT b.attnum, b.attrelid, b.attnum FROM pg_attribute b
                WHERE b.attrelid = rel AND b.attnum > 0 AND NOT b.attisdropped AND NOT is_split) p
            JOIN pg_attribute v ON v.attrelid = rel AND v.attnum = p.attnum
            JOIN pg_attribute a ON a.attrelid = p.part AND a.attnum = p.part_attnum
            JOIN pg_class k ON k.oid = p.part
            JOIN pg_namespace n ON n.oid = k.relnamespace
            JOIN (SELECT q.part, vertical_partition_internal.pinned_columns(q.part) AS attnums FROM unnest(family) q (part)) pin ON pin.part = p.part
            LEFT JOIN pg_index ix ON ix.indrelid = p.part AND ix.indisprimary AND p.part = family[1]
            LEFT JOIN pg_stats st ON st.schemaname = n.nspname AND st.tablename = k.relname AND st.attname = a.attname
                AND NOT st.inherited) x;
    IF c.visible IS NOT TRUE THEN
        reason := CASE WHEN is_split THEN 'you may not read its parts' ELSE 'you may not read all of its columns' END;
    ELSIF c.known IS NOT TRUE THEN
        reason := 'the table has no statistics, run ANALYZE';
    ELSIF NOT c.any_movable AND NOT is_split THEN
        reason := 'all columns are used by the key, by indexes or by constraints';
    END IF;
    IF reason IS NOT NULL THEN
        reason := coalesce(unfit, reason);
        RETURN;
    END IF;

    SELECT * INTO s FROM vertical_partition_internal.best_split(rel, c.attnums, c.lengths, c.alignments, c.widths, c.null_fracs,
        c.keys, c.movable,
        NOT EXISTS (
            SELECT FROM pg_publication_tables t JOIN pg_namespace n ON n.nspname = t.schemaname
                JOIN pg_class k ON k.relnamespace = n.oid AND k.relname = t.tablename
            WHERE k.oid = rel OR k.oid = ANY (family)), c.cold);
    cold_now := c.cold_names;
    updates := round(s.updates);
    row_bytes_now := s.row_bytes;
    written_now := s.written_now;
    IF cardinality(s.cold) = 0 OR s.cost > 0.8 * s.cost_unsplit OR s.hot_bytes > 0.75 * s.row_bytes THEN
        s.cold := '{}';
        s.cost := s.cost_unsplit;
    END IF;
    keeps := cardinality(s.cold) = 0;
    IF is_split THEN
        -- each update of a cold row has to update the row pointer as well
        moving := lay.method = 'row_pointer' AND coalesce((SELECT sum(h.rows) FROM vertical_partition_internal.counted_shapes() h
            WHERE NOT h.is_read AND h.relid = lay.cold), 0) > 0.05 * s.updates;
        keeps := s.updates = 0 OR s.cost > 0.8 * s.cost_now AND NOT moving;
    END IF;

    IF keeps AND is_split THEN
        s.cold := c.cold;
        s.hot_bytes := s.hot_bytes_now;
        s.cold_bytes := s.cold_bytes_now;
        s.method := lay.method;
        s.written_split := s.written_now;
        reason := CASE WHEN s.updates = 0 THEN 'no updates were counted, see vertical_partition.track_updates'
            ELSE 'the split is right' END;
    ELSIF is_split AND cardinality(s.cold) = 0 THEN
        reason := 'the table should not be split';
    ELSIF is_split THEN
        reason := CASE WHEN moving THEN 'cold columns are updated' ELSE 'other columns should be cold' END;
    ELSIF keeps THEN
        reason := 'no split would be much better';
    ELSIF s.updates = 0 THEN
        reason := 'no updates were counted, see vertical_partition.track_updates; the advice assumes that numbers are updated and other columns are not';
    ELSE
        reason := format('%s rows were updated and %s read', round(s.updates), round(s.reads));
        -- If most rows need both parts, memory holds both, and they are larger than the table.
        IF 0.5 * greatest(s.updates, s.reads) < (SELECT sum(h.rows) FROM vertical_partition_internal.counted_shapes() h
                WHERE h.relid = rel AND h.columns && s.cold) THEN
            reason := reason || '; most of them need cold columns as well, so a split reduces writes, but not reads';
        END IF;
    END IF;

    -- Sizes on disk.  A proposal makes new files, which have no free space, for the rows and for the
    -- primary key of a cold part.  The other indexes and the TOAST tables keep their sizes.
    SELECT sum(pg_total_relation_size(k.oid)), sum(pg_relation_size(k.oid)),
        sum(CASE WHEN k.reltoastrelid <> 0 THEN pg_total_relation_size(k.reltoastrelid) ELSE 0 END),
        max(CASE WHEN k.oid <> family[1] THEN NULL WHEN k.relpages > 0 AND k.reltuples >= 0
            THEN k.reltuples::float8 / k.relpages * (pg_relation_size(k.oid) / current_setting('block_size')::integer)
            ELSE pg_relation_size(k.oid) / CASE WHEN is_split THEN s.hot_bytes_now ELSE s.row_bytes END END)
    INTO bytes_now, heap_bytes, toast_bytes, rows FROM pg_class k WHERE k.oid = ANY (family);
    bytes_after := bytes_now;
    IF NOT keeps THEN
        row_sizes := CASE WHEN cardinality(s.cold) = 0 THEN ARRAY[s.row_bytes] ELSE ARRAY[s.hot_bytes, s.cold_bytes] END;
        bytes_after := bytes_now - heap_bytes
            - coalesce((SELECT pg_relation_size(i.indexrelid) FROM pg_index i WHERE i.indrelid = lay.cold AND i.indisprimary), 0)
            + (SELECT sum(vertical_partition_internal.heap_bytes(family[1], rows, b, NOT c.fixed)) FROM unnest(row_sizes) b)
            + CASE WHEN cardinality(s.cold) > 0 AND s.method <> 'row_pointer' THEN
                vertical_partition_internal.index_bytes(rows, s.entry_bytes) ELSE 0 END;
    END IF;

    IF cardinality(s.cold) > 0 AND (is_split OR NOT keeps) THEN
        SELECT array_agg(x.name ORDER BY x.ord) FILTER (WHERE NOT x.attnum = ANY (s.cold)),
            array_agg(x.name ORDER BY x.ord) FILTER (WHERE x.attnum = ANY (s.cold))
        INTO hot_columns, columns
        FROM unnest(c.names, c.attnums) WITH ORDINALITY x (name, attnum, ord);
        method := s.method;
        hot_row_bytes := s.hot_bytes;
        cold_row_bytes := s.cold_bytes;
        written_split := s.written_split;
        hot_share := s.hot_bytes / s.row_bytes;
    END IF;
    IF NOT always AND NOT is_split AND NOT keeps AND unfit IS NULL THEN
        blockers := vertical_partition_internal.blockers(rel);
    END IF;

    -- Compare the split with values out of line, which is simpler.
    IF NOT is_split AND NOT keeps THEN
        hot_bytes_now := vertical_partition_internal.heap_bytes(rel, rows, s.row_bytes, NOT c.fixed);
        hot_bytes_split := vertical_partition_internal.heap_bytes(rel, rows, s.hot_bytes, NOT c.fixed);
        bytes_split := bytes_after;
        SELECT * INTO o FROM vertical_partition_internal.out_of_line(rel, columns, s.row_bytes - s.hot_bytes);
        IF o.columns IS NOT NULL THEN
            -- a sample of rows knows more than statistics
            hot_bytes_now := o.table_bytes_now;
            hot_bytes_out_of_line := o.table_bytes;
            bytes_out_of_line := bytes_now - heap_bytes - toast_bytes + o.table_bytes + o.toast_bytes;
            reason := reason || format('; of %s, values out of line would leave %s in the table (%s in total), and a split %s in the hot part (%s in total)',
                pg_size_pretty(hot_bytes_now), pg_size_pretty(hot_bytes_out_of_line), pg_size_pretty(bytes_out_of_line),
                pg_size_pretty(hot_bytes_split), pg_size_pretty(bytes_split));
        ELSIF o.problem IS NOT NULL THEN
            reason := reason || format('; wide values cannot go out of line: %s', o.problem);
        END IF;
        IF o.columns IS NOT NULL
            AND (o.row_bytes_now - o.row_bytes >= least_saving * (s.row_bytes - s.hot_bytes) AND bytes_out_of_line <= most_bytes * bytes_split
                -- the bar for the rows of a split
                OR blockers IS NOT NULL AND o.row_bytes <= 0.75 * o.row_bytes_now)
        THEN
            IF blockers IS NOT NULL THEN
                reason := reason || format('; a split is prevented by: %s', array_to_string(blockers, ', '));
                blockers := NULL;
            END IF;
            SELECT array_agg(x.name ORDER BY x.ord) FILTER (WHERE NOT x.name = ANY (o.columns)),
                array_agg(x.name ORDER BY x.ord) FILTER (WHERE x.name = ANY (o.columns)),
                array_agg(x.attnum) FILTER (WHERE x.name = ANY (o.columns))
            INTO hot_columns, columns, s.cold
            FROM unnest(c.names, c.attnums) WITH ORDINALITY x (name, attnum, ord);
            method := 'out_of_line';
            row_bytes_now := o.row_bytes_now;
            hot_row_bytes := o.row_bytes;
            cold_row_bytes := o.toast_row_bytes;
            hot_share := o.row_bytes / o.row_bytes_now;
            written_split := coalesce((
                SELECT sum(h.rows * (o.row_bytes + CASE WHEN h.columns && s.cold THEN o.toast_row_bytes ELSE 0 END)) / nullif(sum(h.rows), 0)
                FROM vertical_partition_internal.counted_shapes() h WHERE h.relid = rel AND NOT h.is_read), o.row_bytes);
            bytes_after := bytes_out_of_line;
            SELECT * INTO statement, undo FROM vertical_partition_internal.out_of_line_statements(rel, columns, o.min_bytes);
            RETURN;
        END IF;
    END IF;
    IF unfit IS NOT NULL THEN
        SELECT NULL, NULL, NULL, NULL, NULL, NULL INTO columns, hot_columns, method, row_bytes_now, hot_row_bytes, cold_row_bytes;
        SELECT NULL, NULL, NULL, NULL, NULL, NULL INTO updates, written_now, written_split, hot_share, bytes_now, bytes_after;
        SELECT NULL, NULL, NULL, NULL, NULL INTO hot_bytes_now, hot_bytes_split, hot_bytes_out_of_line, bytes_split, bytes_out_of_line;
        reason := unfit;
        RETURN;
    ELSIF keeps OR blockers IS NOT NULL THEN
        RETURN;
    END IF;
    IF NOT is_split THEN
        statement := format('SELECT vertical_partition.split(%L, %L, %L)', name, columns, method);
        undo := format('SELECT vertical_partition.merge(%L)', name);
    ELSIF columns IS NULL THEN
        statement := format('SELECT vertical_partition.merge(%L)', name);
        undo := format('SELECT vertical_partition.split(%L, %L, %L)', name, cold_now, lay.method);
    ELSE
        statement := format('SELECT vertical_partition.split(vertical_partition.merge(%L), %L, %L)', name, columns, method);
        undo := format('SELECT vertical_partition.split(vertical_partition.merge(%L), %L, %L)', name, cold_now, lay.method);
    END IF;
END
$$;

-- Return the size of a heap without free space, in bytes, for rows of this average size.  Of rows
-- that vary in size, about half a row is lost at the end of each page.
CREATE FUNCTION vertical_partition_internal.heap_bytes(relation oid, rows float8, row_bytes float8, varies boolean)
RETURNS bigint LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT (ceil(coalesce(rows, 0) / greatest(1, CASE WHEN varies THEN f.row_count - 0.5 ELSE floor(f.row_count) END))
            * current_setting('block_size')::integer)::bigint
    FROM pg_class c CROSS JOIN LATERAL (
        SELECT (current_setting('block_size')::integer * coalesce((
                SELECT o.option_value::float8 FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'fillfactor'), 100) / 100 - 24)
            / row_bytes) f (row_count)
    WHERE c.oid = relation
$$;

-- Return the size of a new B-tree index with entries of this size, in bytes: 90 % of each leaf page,
-- the pages above, and one page for the index itself.
CREATE FUNCTION vertical_partition_internal.index_bytes(rows float8, entry_bytes float8)
RETURNS bigint LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ((1 + ceil(coalesce(rows, 0) / f.entries * (1 + 1 / f.entries))) * b.size)::bigint
    FROM (SELECT current_setting('block_size')::integer) b (size), LATERAL (SELECT floor((b.size - 40) * 0.9 / entry_bytes)) f (entries)
$$;

-- Return one row for each table that should be split, or whose values should go out of line.  If a
-- table or split view is given, always return one row for it.  If it should stay as it is, this row
-- says why.  If no relation is given, leave out a relation that cannot be examined, for example because
-- another session drops it.
CREATE FUNCTION vertical_partition_internal.advise(wanted regclass, min_bytes bigint, min_updates bigint)
RETURNS TABLE (relation regclass, columns name[], hot_columns name[], method text, row_bytes_now float8, hot_row_bytes float8,
    cold_row_bytes float8, updates float8, written_now float8, written_split float8, hot_share float8, bytes_now bigint, bytes_after bigint,
    hot_bytes_now bigint, hot_bytes_split bigint, hot_bytes_out_of_line bigint, bytes_split bigint, bytes_out_of_line bigint,
    reason text, blockers text[], statement text, undo text)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
    a record;
    lay record;
BEGIN
    IF wanted IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM pg_class k WHERE k.oid = wanted) THEN
            RAISE undefined_table USING MESSAGE = format('relation with OID %s does not exist', wanted::oid);
        END IF;
        RETURN QUERY SELECT wanted, o.* FROM vertical_partition_internal.advise_one(wanted, true) o;
        RETURN;
    END IF;

    FOR r IN
        SELECT k.oid AS relid
        FROM pg_class k JOIN pg_namespace n ON n.oid = k.relnamespace
        WHERE k.oid >= 16384 AND k.relpersistence <> 't'
            AND (k.relkind = 'r' OR k.relkind = 'v'
                AND EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = k.oid AND t.tgname = 'vertical_partition_write'))
            AND has_any_column_privilege(k.oid, 'SELECT')
        ORDER BY n.nspname, k.relname
    LOOP
        BEGIN
            SELECT * INTO lay FROM vertical_partition_internal.layout(r.relid);
            CONTINUE WHEN coalesce(CASE WHEN lay.hot IS NOT NULL THEN pg_relation_size(lay.hot) + pg_relation_size(lay.cold)
                    ELSE pg_relation_size(r.relid) END, -1) < min_bytes
                OR coalesce(CASE WHEN lay.hot IS NOT NULL THEN pg_stat_get_tuples_updated(lay.hot) + pg_stat_get_tuples_updated(lay.cold)
                    ELSE pg_stat_get_tuples_updated(r.relid) END, 0) < min_updates
                AND coalesce((SELECT sum(h.rows) FROM vertical_partition_internal.counted_shapes() h
                    WHERE NOT h.is_read AND h.relid IN (r.relid, lay.hot, lay.cold)), 0) < min_updates;
            SELECT * INTO a FROM vertical_partition_internal.advise_one(r.relid, false);
        EXCEPTION WHEN OTHERS THEN
            CONTINUE;
        END;
        IF a.columns IS NOT NULL OR a.statement IS NOT NULL THEN
            RETURN QUERY SELECT r.relid::regclass, a.columns, a.hot_columns, a.method, a.row_bytes_now, a.hot_row_bytes, a.cold_row_bytes,
                a.updates, a.written_now, a.written_split, a.hot_share, a.bytes_now, a.bytes_after,
                a.hot_bytes_now, a.hot_bytes_split, a.hot_bytes_out_of_line, a.bytes_split, a.bytes_out_of_line, a.reason, a.blockers, a.statement, a.undo;
        END IF;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION vertical_partition_internal.advise(regclass, bigint, bigint) FROM PUBLIC;

CREATE FUNCTION vertical_partition.advise(relation regclass DEFAULT NULL, min_bytes bigint DEFAULT 8388608, min_updates bigint DEFAULT 1000)
RETURNS TABLE (relation regclass, columns name[], hot_columns name[], method text, row_bytes_now float8, hot_row_bytes float8,
    cold_row_bytes float8, updates float8, written_now float8, written_split float8, hot_share float8, bytes_now bigint, bytes_after bigint,
    hot_bytes_now bigint, hot_bytes_split bigint, hot_bytes_out_of_line bigint, bytes_split bigint, bytes_out_of_line bigint,
    reason text, blockers text[], statement text, undo text)
LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'vp_call_internal';
COMMENT ON FUNCTION vertical_partition.advise(regclass, bigint, bigint) IS
'tables that should be split or store values out of line, and how; for one relation, also the reason against it';
