# Run the same random statements on a plain table and on three tables split by the three methods, in
# one session.  Each statement must return the same rows or the same error for all four tables, and
# the tables must have the same rows.  From time to time, the split tables are merged or split by
# other columns, parts are vacuumed, and the rewriting of statements is switched on or off.
#
# PGDENSE_FUZZ_CASES sets the number of rounds: one, and one more for each 400 cases (default 2000).
# PGDENSE_FUZZ_SEED is the random seed, which repeats a run.  With PGDENSE_SOAK there are more rounds.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Utils;
use Test::More;

my ($major) = `pg_config --version` =~ /(\d+)/;
my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
my $cases = $ENV{PGDENSE_FUZZ_CASES} || 2000;
my ($rounds, $statements) = $ENV{PGDENSE_SOAK} ? (200, 400) : (1 + int($cases / 400), 150);
my %method = (s => 'shared_key', u => 'surrogate_key', r => 'row_pointer');

note "PGDENSE_FUZZ_SEED=$seed";
srand($seed);

my $node = partition_node('random', "autovacuum = off\n");
$node->safe_psql('postgres',
	"CREATE EXTENSION vertical_partition;\n" . partition_helpers('plain') . <<'SQL');
CREATE EXTENSION amcheck;

-- Return the result of a statement for one table: its rows in sorted order, or its error.
CREATE FUNCTION outcome(statement text, name text, undo bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	found text[] := '{}';
BEGIN
	BEGIN
		FOR r IN EXECUTE replace(statement, '@', name) LOOP
			found := found || r::text;
		END LOOP;
		IF undo THEN RAISE SQLSTATE 'UNDOO'; END IF;
	EXCEPTION
		WHEN SQLSTATE 'UNDOO' THEN NULL;
		-- If several rows violate constraints, or one row violates several, any of these errors may
		-- come first.
		WHEN integrity_constraint_violation THEN RETURN '23';
		WHEN OTHERS THEN RETURN SQLSTATE || ' ' || replace(regexp_replace(SQLERRM, '_(hot|cold)', ''), '"' || name, '"@');
	END;
	RETURN (SELECT string_agg(f, E'\n' ORDER BY f) FROM unnest(found) f);
END $$;

-- Run the statement on all tables.  Return nothing if the results are the same, or else the
-- differences.
CREATE FUNCTION same(statement text, undo bool DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	name text;
	expected text := outcome(statement, 'p', undo);
	got text;
BEGIN
	IF expected ~ '^(42|XX)' THEN RETURN NEXT format('WRONG: %s gives %s', statement, expected); END IF;
	FOREACH name IN ARRAY '{s,u,r}'::text[] LOOP
		got := outcome(statement, name, undo);
		IF got IS DISTINCT FROM expected THEN
			RETURN NEXT format(E'%s (rewrite %s): %s\nplain: %s\nsplit: %s', name, current_setting('vertical_partition.enable_rewrite', true),
				statement, left(expected, 500), left(got, 500));
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION same_rows() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	name text;
	missing int;
	more int;
BEGIN
	FOREACH name IN ARRAY '{s,u,r}'::text[] LOOP
		EXECUTE format('SELECT (SELECT count(*) FROM (TABLE p EXCEPT ALL TABLE %1$s) x), (SELECT count(*) FROM (TABLE %1$s EXCEPT ALL TABLE p) x)', name)
			INTO missing, more;
		IF missing + more > 0 THEN RETURN NEXT format('%s: %s rows are missing, %s should not be there', name, missing, more); END IF;
	END LOOP;
	RETURN QUERY SELECT parts_wrong();
	RETURN QUERY SELECT format('%s: %s', c.oid::regclass, v.msg) FROM pg_class c, LATERAL verify_heapam(c.oid::regclass) v
		WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace;
	PERFORM bt_index_check(indexrelid::regclass, true) FROM pg_index JOIN pg_class c ON c.oid = indrelid AND c.relnamespace = 'public'::regnamespace;
END $$;
SQL

# The columns of this round are in %type: name => type.  The key is k1, or k1 and k2.
my (%type, @columns, @keys);

# a column with a unique constraint, if there is one
my $unique;

sub pick
{
	return $_[ int(rand(@_)) ];
}

# a random value of a type, sometimes a large one
sub literal
{
	my ($type, $simple) = @_;
	my $i = int(rand(20));

	return 'NULL' if rand() < 0.08;
	return $i if $type eq 'int';
	return "$i.5" if $type eq 'numeric(8,2)';
	return pick('true', 'false') if $type eq 'bool';
	return "'{$i,NULL,7}'::int[]" if $type eq 'int[]';
	return qq('{"i": $i}'::jsonb) if $type eq 'jsonb';
	return "'t$i'" if $simple;
	return pick(
		"'t$i'", "'t$i'", "''",
		"repeat('long $i', 900)",
		"(SELECT string_agg(md5(($i + g)::text), '') FROM generate_series(1, 120) g)");
}

# Return an expression over this column that can be evaluated for any row.
sub expression
{
	my ($name, $type, $alias) = @_;

	# Do not use an expression for a unique column, because the order of rows determines whether new
	# values collide with old ones during an UPDATE.
	return literal($type) if rand() < 0.4 || $name eq ($unique // '');
	return pick("$alias.$name + 1", "$alias.k1 * 2", "$alias.$name - $alias.k1")
	  if $type eq 'int' || $type =~ /^numeric/;
	return "NOT $alias.$name" if $type eq 'bool';
	return "array_append($alias.$name, $alias.k1)" if $type eq 'int[]';
	return "$alias.$name || '{\"more\": 1}'" if $type eq 'jsonb';
	return pick("left($alias.$name, 3000) || 'x'", "$alias.k1::text");
}

sub some_columns
{
	my @some = grep { rand() < 0.4 } @columns;
	return @some ? @some : pick(@columns);
}

# a column without a constraint
sub other_column
{
	return pick(grep { $_ ne ($unique // '') } @columns);
}

sub condition
{
	my ($alias) = @_;
	my $n = int(rand(60));
	my $column = pick(@columns);

	return pick(
		"$alias.k1 = $n",
		"$alias.k1 = $n",
		"$alias.k1 BETWEEN $n AND $n + 8",
		"$alias.k1 % 7 = $n % 7",
		"$alias.$column IS NULL",
		"$alias.$column = " . literal($type{$column}),
		"$alias.k1 IN (SELECT x.k1 FROM \@ x WHERE x.$column IS NOT NULL AND x.k1 < $n)",
		"$alias.k1 > $n AND $alias.$column IS NOT NULL");
}

sub assignments
{
	my ($alias, @names) = @_;

	return join ', ',
	  map { "$_ = " . (rand() < 0.1 ? 'DEFAULT' : expression($_, $type{$_}, $alias)) }
	  @names ? @names : some_columns();
}

sub new_row
{
	my (@names) = @_;

	return '('
	  . join(', ',
		(map { int(rand($_ eq 'k1' ? 60 : 3)) } @keys),
		map { rand() < 0.1 ? 'DEFAULT' : literal($type{$_}) } @names)
	  . ')';
}

sub returning
{
	my ($alias) = @_;

	return 'RETURNING '
	  . pick("$alias.*", "$alias.k1", join ', ', map { "$alias.$_" } 'k1', some_columns());
}

# The order of rows may differ between the tables.  So if a statement could take its values from any
# of several rows, all these rows have the same values.
my @kinds = (
	sub {
		my @c = some_columns();
		"INSERT INTO \@ AS t ("
		  . join(', ', @keys, @c)
		  . ') VALUES '
		  . join(', ', map { new_row(@c) } 0 .. rand(3)) . ' '
		  . returning('t');
	},
	sub {
		my @c = some_columns();
		my $shift = pick(60, 60, 30, 100);
		"INSERT INTO \@ AS t ("
		  . join(', ', @keys, @c)
		  . ') SELECT '
		  . join(', ', "k1 + $shift", @keys[ 1 .. $#keys ], @c)
		  . ' FROM @ s WHERE s.k1 < 60 AND '
		  . condition('s') . ' '
		  . returning('t');
	},
	sub { 'UPDATE @ t SET ' . assignments('t') . ' WHERE ' . condition('t') . ' ' . returning('t') }
	,
	sub { 'UPDATE @ t SET ' . assignments('t') . ' WHERE ' . condition('t') . ' ' . returning('t') }
	,
	sub { 'UPDATE @ t SET ' . assignments('t') . ' WHERE ' . condition('t') . ' ' . returning('t') }
	,
	sub {
		'UPDATE @ t SET '
		  . assignments('t')
		  . ' FROM generate_series(1, 3) g WHERE '
		  . condition('t') . ' '
		  . returning('t');
	},
	sub {
		my $c = other_column();
		"UPDATE \@ t SET $c = o.$c FROM \@ o WHERE o.k1 = t.k1 + 1"
		  . (@keys > 1 ? ' AND o.k2 = t.k2' : '') . ' AND '
		  . condition('t') . ' '
		  . returning('t');
	},
	sub {
		my $c = other_column();
		"UPDATE \@ t SET $c = (SELECT max(o.k1) FROM \@ o WHERE o.k1 < t.k1)::text::$type{$c} WHERE "
		  . ($type{$c} =~ /int$|numeric|text/ ? '' : 'false AND ')
		  . condition('t') . ' '
		  . returning('t');
	},
	sub {
		my $n = int(rand(40));
		"UPDATE \@ t SET k1 = -t.k1"
		  . pick('', ', ' . assignments('t'))
		  . " WHERE t.k1 > $n AND t.k1 % 9 = 0 "
		  . returning('t');
	},
	sub {
		my $n = int(rand(40));
		"UPDATE \@ t SET k1 = t.k1 + 1000 WHERE t.k1 BETWEEN $n AND $n + 2 " . returning('t');
	},
	sub {
		"UPDATE \@ t SET k1 = NULL, "
		  . assignments('t')
		  . ' WHERE '
		  . condition('t') . ' '
		  . returning('t');
	},
	sub { 'DELETE FROM @ t WHERE ' . condition('t') . ' ' . returning('t') },
	sub {
		'DELETE FROM @ t USING @ o WHERE o.k1 = t.k1 + 1 AND '
		  . condition('o') . ' '
		  . returning('t');
	},
	sub { 'DELETE FROM @ t WHERE t.k1 > 90 OR t.k1 < 0 ' . returning('t') },
	sub {
		my $c = pick(@columns);
		"SELECT t.k1, t.$c FROM \@ t WHERE "
		  . condition('t') . ' FOR '
		  . pick('UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE');
	},
	sub {
		my $c = pick(@columns);
		"SELECT count(*), count(t.$c), sum(t.k1), count(o.$c) FROM \@ t "
		  . pick('JOIN', 'LEFT JOIN', 'FULL JOIN')
		  . ' @ o ON o.k1 = t.k1 + 2 WHERE '
		  . condition('t');
	},
	sub {
		my $c = pick(@columns);
		"SELECT g, (SELECT count(t.$c) FROM \@ t WHERE t.k1 = g), EXISTS (SELECT FROM \@ t WHERE t.k1 = g AND t.$c IS NULL) FROM generate_series(1, 20) g";
	},
	sub {
		'WITH d AS (DELETE FROM @ t WHERE t.k1 % 10 = 3 AND '
		  . condition('t')
		  . ' RETURNING t.*), u AS (UPDATE @ t SET '
		  . assignments('t')
		  . ' WHERE t.k1 % 10 = 4 AND '
		  . condition('t')
		  . ' RETURNING t.*) SELECT * FROM d UNION ALL SELECT * FROM u';
	},);
my @conflicts = (
	sub {
		my @c = some_columns();
		'INSERT INTO @ AS t ('
		  . join(', ', @keys, @c)
		  . ') VALUES '
		  . join(', ', map { new_row(@c) } 0 .. rand(4))
		  . ' ON CONFLICT '
		  . pick('', '(' . join(', ', @keys) . ')')
		  . ' DO NOTHING' . ' '
		  . returning('t');
	},
	sub {
		my @c = some_columns();
		'INSERT INTO @ AS t ('
		  . join(', ', @keys, @c)
		  . ') VALUES '
		  . join(', ', map { new_row(@c) } 0 .. rand(4))
		  . ' ON CONFLICT ('
		  . join(', ', @keys)
		  . ') DO UPDATE SET '
		  . pick(assignments('t'), join ', ', map { "$_ = excluded.$_" } some_columns()) . ' '
		  . pick('', 'WHERE ' . condition('t')) . ' '
		  . returning('t');
	});
my @merges = (
	sub {
		# If one row gets the value of the unique column that another row gives up, the order of the
		# rows determines whether they collide.
		my @names = grep { $_ ne ($unique // '') } some_columns();
		@names = other_column() if !@names;

		'MERGE INTO @ t USING (SELECT g AS k, g % 3 AS m FROM generate_series(0, 60, 7) g) s ON t.k1 = s.k'
		  . (@keys > 1 ? ' AND t.k2 = s.m' : '')
		  . ' WHEN MATCHED AND '
		  . condition('t')
		  . ' THEN '
		  . pick(defined $unique ? () : 'DELETE',
			'DO NOTHING', 'UPDATE SET ' . assignments('t', @names))
		  . ' WHEN MATCHED THEN UPDATE SET '
		  . assignments('t', @names)
		  . ' WHEN NOT MATCHED THEN '
		  . pick('DO NOTHING',
			'INSERT (' . join(', ', @keys) . ') VALUES (s.k' . (@keys > 1 ? ', s.m' : '') . ')')
		  . ' RETURNING merge_action(), t.*';
	});

sub quoted
{
	my ($statement) = @_;
	return "\$q\$$statement\$q\$";
}

my %count;
for my $round (1 .. $rounds)
{
	my @types =
	  map { pick('int', 'int', 'numeric(8,2)', 'bool', 'int[]', 'jsonb', 'text', 'text', 'text') }
	  0 .. 2 + rand(6);
	%type = map { ("c$_" => $types[$_]) } 0 .. $#types;
	@columns = sort keys %type;
	@keys = rand() < 0.5 ? ('k1') : ('k1', 'k2');
	my @defined = map {
		"$_ $type{$_}"
		  . pick(
			'', '',
			' DEFAULT ' . literal($type{$_}, 1),
			$type{$_} eq 'int' ? " CHECK ($_ < 19)" : '')
	} @columns;
	splice @defined, int(rand(@defined)), 0, $_ for 'k1 int', @keys > 1 ? 'k2 int' : ();
	$unique = rand() < 0.4 ? pick(grep { $type{$_} =~ /^(int|numeric)/ } @columns) : undef;
	push @defined, 'PRIMARY KEY (' . join(', ', rand() < 0.5 ? reverse @keys : @keys) . ')',
	  defined $unique ? "UNIQUE ($unique)" : ();

	my $split = sub {
		my @cold = grep { rand() < 0.5 } @columns;
		@cold = ($columns[0]) if !@cold;
		pop @cold if @cold == @columns;
		return map {
			"SELECT vertical_partition.split('$_', '{" . join(',', @cold) . "}', '$method{$_}');"
		} sort keys %method;
	};
	my $fill =
	  quoted("INSERT INTO \@ ("
		  . join(', ', @keys)
		  . ") SELECT g"
		  . (@keys > 1 ? ", g % 3" : "")
		  . " FROM generate_series(0, 50) g RETURNING k1");
	my $script = join "\n",
	  (map { "CREATE TABLE $_ (" . join(', ', @defined) . ');' } 'p', sort keys %method),
	  "SELECT same($fill);", $split->(),
	  pick("LOAD 'vertical_partition';", "SELECT FROM s WHERE false;"), '';
	my ($in_transaction, $rewrite) = (0, 1);
	for (1 .. $statements)
	{
		my @choices =
		  (@kinds, $rewrite ? (@conflicts, @conflicts) : (), $major >= 17 ? @merges : ());
		my $statement = pick(@choices)->();

		$script .= 'SELECT same(' . quoted($statement) . (rand() < 0.15 ? ', true' : '') . ");\n";
		$count{ $statement =~ /^(\w+)/ ? $1 : '' }++;
		if ($in_transaction)
		{
			next if rand() < 0.7;
			$script .= pick('COMMIT', 'COMMIT', 'ROLLBACK') . ";\n";
			$in_transaction = 0;
		}
		elsif (rand() < 0.2)
		{
			$script .= 'BEGIN ISOLATION LEVEL '
			  . pick('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') . ";\n";
			$in_transaction = 1;
		}
		elsif (rand() < 0.05)
		{
			$rewrite = !$rewrite;
			$script .=
			  'SET vertical_partition.enable_rewrite = ' . ($rewrite ? 'on' : 'off') . ";\n";
		}
		elsif (rand() < 0.1)
		{
			$script .= "SELECT same_rows();\n"
			  . pick(
				"SET enable_hashjoin = off;\n",
				"SET enable_nestloop = off;\n",
				"SET enable_seqscan = off;\n",
				"RESET enable_seqscan;\nRESET enable_nestloop;\nRESET enable_hashjoin;\n",
				"SET plan_cache_mode = force_generic_plan;\n",
				"VACUUM;\n",
				"VACUUM ANALYZE;\n",
				join("\n",
					(map { "SELECT vertical_partition.merge('$_');" } sort keys %method),
					"SELECT same_rows();",
					$split->(), ''));
		}
	}
	$script .= "COMMIT;\n" if $in_transaction;
	$script .=
		"SELECT same_rows();\n"
	  . join('', map { "SELECT vertical_partition.merge('$_');\n" } sort keys %method)
	  . "SELECT same_rows(), count(*) FROM p;\nRESET ALL;\nDROP TABLE p, s, u, r;\n";

	my ($rc, $out, $err) = $node->psql('postgres', $script, on_error_stop => 1, on_error_die => 0);
	$out =~ s/^[sur]$//mg;
	$out =~ s/^\n+//mg;
	is($rc, 0, "seed $seed, round $round: runs") or diag $err;
	is($out, '',
		"seed $seed, round $round: all tables give the same (" . join(', ', @defined) . ')');
	if ($rc != 0)
	{
		append_to_file("${PostgreSQL::Test::Utils::tmp_check}/round.sql", $script);
		last;
	}
}
note join ', ', map { "$count{$_} $_" } sort keys %count;
$node->stop;
done_testing();
