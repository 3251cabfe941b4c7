# Run a web shop on plain tables and on tables after toast_policy.enable(), and compare the results.
# See PgDense::Application.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Application;

# At least this many tables have values that are large enough for enable().
my $governed = 6;
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
	},);

# The results must not differ, so this list is empty.
my @differences;

test_application('toast_policy', \%modes, \@differences);
