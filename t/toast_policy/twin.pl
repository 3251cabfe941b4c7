# Test tables with random columns, storage and settings beside heap tables with the same rows.
# Insert and update random rows in both tables.  The rows must always be the same.  If the settings
# ask for the stock behaviour, and all compressible columns are under the policy, every value must
# also be stored in the same form.  This shows that the policy handles the columns of a row in the
# same order as heap.
#
# PGDENSE_FUZZ_CASES sets the number of tables (one for each twenty cases).  PGDENSE_FUZZ_SEED is
# the random seed, which repeats a run.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = int(($ENV{PGDENSE_FUZZ_CASES} // 2000) / 10);
my $seed = $ENV{PGDENSE_FUZZ_SEED} // int(rand(1_000_000));

my $node = PostgreSQL::Test::Cluster->new('twin');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;

-- Return a random whole number from 0 to n - 1.
CREATE FUNCTION pick(n int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT floor(random() * n)::int';

-- Return text of the given size that compresses well, not at all, or in between.
CREATE FUNCTION random_text(size int) RETURNS text LANGUAGE sql VOLATILE AS $$
SELECT left(CASE pick(4) WHEN 0 THEN repeat('abcdefgh', size / 8 + 1)
  WHEN 1 THEN (SELECT string_agg(md5(random()::text), '') FROM generate_series(0, size / 32))
  WHEN 2 THEN (SELECT string_agg(md5(random()::text), '') FROM generate_series(0, size / 64)) || repeat('k', size)
  ELSE (SELECT string_agg(left(md5(random()::text), 4) || 'zzzzzzzzz', '') FROM generate_series(0, size / 13)) END, size) $$;

-- Return a random value as a literal of a type.  For storage PLAIN, the value is small, because it
-- is never compressed.
CREATE FUNCTION random_literal(type text, storage "char") RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	size int := (ARRAY[10, 100, 500, 1000, 2000, 2100, 5000, 30000])[1 + pick(8)] * (0.5 + random());
BEGIN
	IF storage = 'p' THEN size := pick(300); END IF;
	RETURN CASE WHEN random() < 0.1 THEN 'NULL' WHEN type = 'text' THEN quote_literal(random_text(size)) || '::text'
		WHEN type = 'bytea' THEN quote_literal(random_text(size)) || '::bytea'
		WHEN type = 'jsonb' THEN 'to_jsonb(' || quote_literal(random_text(size)) || '::text)'
		WHEN type = 'text[]' THEN 'ARRAY[' || quote_literal(random_text(size / 2)) || ', NULL, ' || quote_literal(random_text(size / 2)) || ']'
		ELSE pick(10)::text END;
END $$;

-- Run the statement on both tables.  Return false, and change nothing, if a row is too large for
-- heap.
CREATE FUNCTION twice(statement text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		EXECUTE replace(statement, '@', 'h');
	EXCEPTION WHEN program_limit_exceeded THEN
		RETURN false;
	END;
	EXECUTE replace(statement, '@', 'd');
	RETURN true;
END $$;

CREATE FUNCTION run_case(as_core bool) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	columns text := 'id int PRIMARY KEY';
	governed name[] := '{}';
	storage text := '';
	what text;
	list text;
	type text;
	att record;
	bad int;
	before text;
	after text;
	-- With a target below the threshold, heap moves compressed values out of line that the policy
	-- keeps in their row.
	target int := CASE pick(3) WHEN 0 THEN 2040 WHEN 1 THEN 2033 + pick(6000) ELSE CASE WHEN as_core THEN 2040 ELSE 128 + pick(2000) END END;
BEGIN
	DROP TABLE IF EXISTS d, h;
	FOR i IN 1 .. 1 + pick(8) LOOP
		type := (ARRAY['text', 'text', 'text', 'int', 'bigint', 'bytea', 'text[]', 'jsonb'])[1 + pick(8)];
		columns := columns || format(', c%s %s', i, type);
		IF type NOT IN ('int', 'bigint') THEN
			IF as_core OR random() < 0.7 THEN
				governed := governed || format('c%s', i)::name;
			ELSIF random() < 0.5 THEN
				storage := storage || format('ALTER TABLE @ ALTER c%s SET STORAGE %s;', i, (ARRAY['MAIN', 'PLAIN', 'EXTENDED'])[1 + pick(3)]);
			END IF;
		END IF;
	END LOOP;
	IF governed = '{}' THEN RETURN; END IF;
	PERFORM twice(format('CREATE TABLE @ (%s) WITH (toast_tuple_target = %s, fillfactor = %s); %s', columns, target, 50 + pick(51), storage));
	EXECUTE format('SET default_toast_compression = %s', (ARRAY['pglz', 'lz4'])[1 + pick(2)]);
	IF as_core THEN
		PERFORM set_config('toast_policy.min_size', '1GB', false), set_config('toast_policy.early_abort', 'off', false),
			set_config('toast_policy.lz4_level', '0', false);
	ELSE
		PERFORM set_config('toast_policy.min_size', (ARRAY[0, 100, 4096, 20000])[1 + pick(4)]::text, false),
			set_config('toast_policy.early_abort', (ARRAY['off', 'on'])[1 + pick(2)], false),
			set_config('toast_policy.lz4_level', pick(13)::text, false),
			set_config('toast_policy.min_saved_chunks', pick(4)::text, false),
			set_config('toast_policy.min_saving', (pick(3) * 0.3)::text, false),
			set_config('toast_policy.recompress_source', (ARRAY['off', 'on'])[1 + pick(2)], false);
	END IF;
	PERFORM toast_policy.enable('d', VARIADIC governed);

	what := format('CREATE TABLE (%s), governed %s, target %s, %s', columns, governed, target, storage);
	FOR i IN 1 .. 12 LOOP
		SELECT string_agg(random_literal(atttypid::regtype::text, attstorage), ', ' ORDER BY attnum) INTO list
		FROM pg_attribute WHERE attrelid = 'h'::regclass AND attnum > 1;
		CONTINUE WHEN NOT twice(format('INSERT INTO @ VALUES (%s, %s)', i, list));
		SELECT attname, atttypid::regtype::text AS type, attstorage INTO att
		FROM pg_attribute WHERE attrelid = 'h'::regclass AND attnum > 1 ORDER BY random() LIMIT 1;
		CASE pick(6)
			WHEN 0, 1 THEN PERFORM twice(format('UPDATE @ SET %I = %s WHERE id = %s', att.attname, random_literal(att.type, att.attstorage), i));
			WHEN 2 THEN PERFORM twice(format('UPDATE @ SET id = -id WHERE id = %s', i - 1));
			WHEN 3 THEN
				-- Heap uses the compressed size of values that arrive out of line.
				IF NOT as_core THEN
					PERFORM twice(format('UPDATE @ x SET %I = y.%1$I FROM @ y WHERE x.id = %s AND y.id = %s', att.attname, i, pick(i + 1)));
					PERFORM twice(format('INSERT INTO @ SELECT id + 100, %s FROM @ WHERE id = %s ON CONFLICT (id) DO UPDATE SET id = excluded.id + 1000',
						(SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'h'::regclass AND attnum > 1), i));
				END IF;
			ELSE NULL;
		END CASE;
	END LOOP;

	FOR i IN 1 .. 2 LOOP
		SELECT count(*) INTO bad FROM h FULL JOIN d USING (id) WHERE h IS DISTINCT FROM d;
		IF bad > 0 THEN RETURN NEXT format('%s rows differ: %s', bad, what); END IF;
		EXIT WHEN i = 2;
		SELECT string_agg(format('ROW(pg_column_size(%1$I), pg_column_compression(%1$I))', attname), ', ') INTO list
		FROM pg_attribute WHERE attrelid = 'h'::regclass AND attname = ANY (governed);
		IF as_core THEN
			EXECUTE format('SELECT count(*) FROM (SELECT id, %1$s FROM h EXCEPT ALL SELECT id, %1$s FROM d) x', list) INTO bad;
			IF bad > 0 THEN RETURN NEXT format('%s rows are stored in another form: %s', bad, what); END IF;
		END IF;
		PERFORM toast_policy.recompress('d');
	END LOOP;
END $$;
SQL

note "PGDENSE_FUZZ_SEED=$seed";
for my $as_core (0, 1)
{
	my $what = $as_core ? 'same rows in the same form' : 'same rows';

	my $script = sprintf "SELECT setseed(%.6f);\n", $seed % 1_000_000 / 1_000_000;
	my $run = 'SELECT run_case(' . ($as_core ? 'true' : 'false') . ");\n";

	$script .= $run x ($cases / 2);
	is($node->safe_psql('postgres', $script) =~ s/^\n//r, '', "$what, seed $seed");
}

$node->stop;
done_testing();
