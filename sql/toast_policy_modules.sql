--
-- Some contrib modules require access method heap by name.  These modules refuse tables of
-- toast_policy, and accept them after disable().  The other modules do not check the access method.
--
\set SHOW_CONTEXT never
\set VERBOSITY terse
CREATE SCHEMA modules;
SET search_path = modules;
CREATE EXTENSION pageinspect;
CREATE EXTENSION pgstattuple;
CREATE EXTENSION pgrowlocks;
CREATE EXTENSION pg_surgery;
CREATE EXTENSION pg_visibility;
CREATE EXTENSION pg_freespacemap;
CREATE EXTENSION pg_prewarm;
CREATE TABLE t (id int PRIMARY KEY, v text);
SELECT toast_policy.enable('t', 'v');
INSERT INTO t VALUES (1, repeat('x', 10000)), (2, 'short');

CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'works';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;
CREATE VIEW attempts AS SELECT statement, attempt(statement) FROM unnest(ARRAY[
  $q$SELECT tuple_data_split('t'::regclass, t_data, t_infomask, t_infomask2, t_bits) FROM heap_page_items(get_raw_page('t', 0))$q$,
  $q$SELECT heap_page_item_attrs(get_raw_page('t', 0), 't')$q$,
  $q$SELECT heap_page_items(get_raw_page('t', 0))$q$,
  $q$SELECT pgstattuple('t')$q$,
  $q$SELECT pgstattuple_approx('t')$q$,
  $q$SELECT pgstatindex('t_pkey')$q$,
  $q$SELECT pgrowlocks('t')$q$,
  $q$SELECT heap_force_freeze('t', ARRAY['(0,1)']::tid[])$q$,
  $q$SELECT pg_visibility('t')$q$,
  $q$SELECT pg_check_visible('t')$q$,
  $q$SELECT pg_freespace('t')$q$,
  $q$SELECT pg_prewarm('t')$q$
]) WITH ORDINALITY s (statement, n) ORDER BY n;
SELECT * FROM attempts;
SELECT toast_policy.disable('t');
SELECT DISTINCT attempt FROM attempts;

SET client_min_messages = warning;
DROP SCHEMA modules CASCADE;
