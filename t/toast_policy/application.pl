# Run a web shop on plain tables, on tables after toast_policy.enable(), and on tables after
# toast_policy.enable_out_of_line(), and compare the results.  See PgDense::Application.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Application;

# At least this many tables have values that are large enough for enable().
my $governed = 6;
# At least this many tables have values out of line, though the server moves none of them there.
my $moved = 4;
my $outside =
  "SELECT count(*) >= $moved FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'toast_policy' AND c.relkind = 'r' AND 'toast_tuple_target=128' = ANY (reloptions) AND pg_relation_size(reltoastrelid) > 0";
my %modes = (
	governed => {
		sql => qq{
			CREATE FUNCTION pg_temp.enabled(rel regclass) RETURNS text LANGUAGE plpgsql AS \$\$
			BEGIN
				PERFORM toast_policy.enable(rel);
				RETURN 'governed';
			EXCEPTION
				WHEN object_not_in_prerequisite_state OR feature_not_supported THEN
					IF SQLERRM !~ 'has no (large values|column) that toast_policy could' THEN RAISE; END IF;
					RETURN 'skipped';
			END \$\$;
			SELECT pg_temp.enabled(rel), rel FROM $shop_tables t},
		back => [ 'SELECT toast_policy.disable_all()', 'disable_all()' ],
		changed => { '^governed\|' => $governed },
		still =>
		  "SELECT count(*) >= $governed FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'toast_policy' AND c.relkind = 'r'"
	},
	out_of_line => {
		sql => qq{
			CREATE FUNCTION pg_temp.enabled(rel regclass) RETURNS text LANGUAGE plpgsql AS \$\$
			DECLARE
				columns name[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = rel AND attnum > 0 AND attstorage = 'x' AND NOT attisdropped);
			BEGIN
				IF columns = '{}' THEN RETURN 'skipped'; END IF;
				PERFORM toast_policy.enable_out_of_line(rel, 128, VARIADIC columns), toast_policy.recompress(rel);
				RETURN 'governed';
			END \$\$;
			SELECT pg_temp.enabled(rel), rel FROM $shop_tables t; SELECT 'moved', ($outside)},
		back => [ 'SELECT toast_policy.disable_all()', 'disable_all()' ],
		changed => { '^governed\|' => 12, '^moved\|t' => 1 },
		still => $outside
	},);

# The results must not differ, so this list is empty.
my @differences;

test_application('toast_policy', \%modes, \@differences);
