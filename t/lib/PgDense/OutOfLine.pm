# PgDense::OutOfLine - functions that the tests of toast_policy's values out of line share
package PgDense::OutOfLine;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';

our @EXPORT = qw($functions $values_outside);

# SQL that creates values_outside(TABLE), the number of values in the table's TOAST table
our $values_outside = <<'SQL';
CREATE FUNCTION values_outside(t regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	toast regclass := (SELECT reltoastrelid FROM pg_class WHERE oid = t);
	result bigint := 0;
BEGIN
	IF toast <> 0 THEN EXECUTE format('SELECT count(DISTINCT chunk_id) FROM %s', toast) INTO result; END IF;
	RETURN result;
END $$;
SQL

# SQL that also creates noise(SIZE, SEED), a text that cannot be compressed
our $functions = <<'SQL' . $values_outside;
CREATE FUNCTION noise(size int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(translate(encode(sha256((seed || '-' || i)::bytea), 'base64'), E'\n', ''), ''), size) FROM generate_series(1, size / 40 + 1) i $$;
SQL

1;
