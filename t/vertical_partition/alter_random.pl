# Run the same random DDL on a plain table and on three tables split by the three methods.  Either
# each command has the same effect on all four tables, or the extension refuses the command for the
# split tables, early and with a reason.  The tables must have the same rows all the time.  After
# merge(), the definitions must be the same.
#
# PGDENSE_FUZZ_CASES sets the number of rounds: one, and one more for each 280 cases (default 2000).
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
my ($rounds, $statements) = $ENV{PGDENSE_SOAK} ? (150, 60) : (1 + int($cases / 280), 40);
my @schemas = ('plain', @partition_methods);

note "PGDENSE_FUZZ_SEED=$seed";
srand($seed);

# Take the query that describes a table from the regression test.
my $functions = slurp_file("$FindBin::RealBin/../../sql/vertical_partition_alter.sql");
my ($describe) = $functions =~ /^(CREATE FUNCTION tool\.describe\(.*?^\$\$;\n)/ms
  or die 'no tool.describe()';
my ($merge) = $functions =~ /^(CREATE FUNCTION tool\.merge\(.*?^\$\$;\n)/ms
  or die 'no tool.merge()';

my $node = partition_node('alter_random', "autovacuum = off\n");
$node->safe_psql('postgres',
		"CREATE EXTENSION vertical_partition;\n"
	  . partition_helpers('plain')
	  . join('', map { "CREATE SCHEMA $_;\n" } @schemas, 'tool')
	  . 'CREATE TABLE tool.schemas (name text PRIMARY KEY); INSERT INTO tool.schemas VALUES '
	  . join(', ', map { "('$_')" } @schemas)
	  . ";\n$describe$merge"
	  . <<'SQL');
-- Execute a statement in each schema.  If it fails in one schema, undo it in all schemas.  Return
-- nothing if it succeeded everywhere.  Otherwise return the error, or the reason if it was refused
-- only for split tables.
CREATE FUNCTION tool.same(statement text) RETURNS TABLE (kind text, what text) LANGUAGE plpgsql AS $$
DECLARE
	s text;
	outcome text;
	outcomes jsonb := '{}';
	reason text;
	split jsonb;
BEGIN
	BEGIN
		FOR s IN SELECT name FROM tool.schemas ORDER BY name <> 'plain', name LOOP
			PERFORM set_config('search_path', s || ', tool', true), setval('tool.counter', 1);
			BEGIN
				EXECUTE statement;
				-- Check deferred constraints here, so that errors of COMMIT are found.
				SET CONSTRAINTS ALL IMMEDIATE;
				outcome := 'done';
			EXCEPTION WHEN OTHERS THEN
				outcome := SQLSTATE || ' ' || SQLERRM;
			END;
			outcomes := outcomes || jsonb_build_object(s, outcome);
		END LOOP;
		IF EXISTS (SELECT FROM jsonb_each_text(outcomes) WHERE value <> 'done') THEN RAISE SQLSTATE 'UNDOO'; END IF;
	EXCEPTION WHEN SQLSTATE 'UNDOO' THEN NULL;
	END;
	PERFORM set_config('search_path', 'tool', true);
	split := outcomes - 'plain';
	FOR s, reason IN SELECT * FROM jsonb_each_text(split) LOOP
		IF outcomes->>'plain' = 'done' AND reason ~ '^0A000' THEN
			RETURN QUERY VALUES ('refused', s || ': ' || reason);
		ELSIF (reason = 'done') <> (outcomes->>'plain' = 'done') OR (reason ~ '^XX' AND outcomes->>'plain' !~ '^XX') THEN
			RETURN QUERY VALUES ('differs', s || ': ' || reason || E'\nplain: ' || (outcomes->>'plain'));
		ELSIF outcomes->>'plain' <> 'done' THEN
			-- Do not compare the errors, because a statement with several faults may report any of
			-- them.
			RETURN QUERY VALUES ('error', outcomes->>'plain');
		END IF;
	END LOOP;
END $$;

CREATE VIEW tool.look (kind, name, type, generated) AS
SELECT 'column', attname::text, format_type(atttypid, NULL), attgenerated <> '' FROM (
	SELECT * FROM pg_attribute WHERE attrelid = to_regclass('plain.t') AND attnum > 0 AND NOT attisdropped ORDER BY attnum) a
UNION ALL SELECT 'key', attname, NULL, NULL FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey::int2[])
WHERE indrelid = to_regclass('plain.t') AND indisprimary
UNION ALL SELECT 'constraint', conname, NULL, NULL FROM pg_constraint WHERE conrelid = to_regclass('plain.t')
UNION ALL SELECT 'index', relname, NULL, NULL FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = to_regclass('plain.t') AND NOT indisprimary;

-- Return a text for each table whose rows differ, or whose parts do not belong together.
CREATE FUNCTION tool.same_rows() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	s text;
	expected jsonb;
	got jsonb;
BEGIN
	SELECT jsonb_agg(t ORDER BY t::text) INTO expected FROM (SELECT to_jsonb(p) FROM plain.t p) x (t);
	FOR s IN SELECT name FROM tool.schemas WHERE name <> 'plain' LOOP
		EXECUTE format('SELECT jsonb_agg(t ORDER BY t::text) FROM (SELECT to_jsonb(p) FROM %I.t p) x (t)', s) INTO got;
		IF got IS DISTINCT FROM expected THEN
			RETURN NEXT format(E'rows of %s: %s\nplain: %s', s, got, expected);
		END IF;
	END LOOP;
	RETURN QUERY SELECT public.parts_wrong();
END $$;
SQL

sub pick
{
	return $_[ int(rand(@_)) ];
}

# the present state of the table: its columns, its key columns, its constraints and its indexes
my (@columns, %type, %generated, @key, @constraints, @indexes);

my $session;

sub look
{
	(@columns, %type, %generated) = ();
	@key = @constraints = @indexes = ();
	foreach my $line (split /\n/, $session->query_safe('SELECT * FROM tool.look'))
	{
		my ($kind, $name, $type, $generated) = split /\|/, $line;
		push @key, $name if $kind eq 'key';
		push @constraints, $name if $kind eq 'constraint';
		push @indexes, $name if $kind eq 'index';
		next if $kind ne 'column';
		push @columns, $name;
		$type{$name} = $type;
		$generated{$name} = $generated eq 't';
	}
	return;
}

my $number;

sub new_name
{
	return pick('', '', '', '"Odd ') eq '' ? 'n' . ++$number : '"Odd ' . ++$number . '"';
}

sub column
{
	my @some = grep { rand() < 0.9 || !/"/ } @columns;
	return quoted(pick(@some ? @some : @columns));
}

sub quoted
{
	my ($name) = @_;
	return $name =~ /^[a-z]\w*$/ ? $name : qq("$name");
}

sub plain_type
{
	return pick(
		'int', 'int', 'bigint', 'smallint',
		'text', 'text', 'varchar(30)', 'numeric',
		'numeric(12,2)', 'bool', 'int_domain', 'text_domain',
		'char(12)', 'real');
}

sub constant
{
	my ($type) = @_;
	return 'NULL' if rand() < 0.1;
	return pick(q{'1'}, '7', '0', '-3') if $type =~ /int|numeric|real|double/;
	return pick('true', 'false') if $type =~ /^bool/;
	return pick(q{'x'}, q{'12'}, q{'a longer one'});
}

# an expression over columns that are not generated
sub expression
{
	my @from = grep { !$generated{$_} } @columns;
	my ($a, $b) = map { quoted(pick(@from)) } 1, 2;
	return pick(
		"$a", "length($a\::text)", "$a\::text || coalesce($b\::text, '')",
		"hashtext($a\::text)", "coalesce(length($b\::text), 0) + length($a\::text)",
		"($a IS NULL)", "$a = $b");
}

sub using
{
	my ($column, $type) = @_;
	return '' if rand() < 0.4;
	my ($a, $b) = (column(), column());
	return ' USING ' . pick(
		"$column\::text::$type", "length($a\::text)::text::$type",
		"(length($column\::text) + length($b\::text))::text::$type",
		"hashtext($column\::text)::text::$type",
		"(-(length($column\::text)))::text::$type", "coalesce($a\::text, '5')::$type", "NULL",
		"(id + 1000)::text::$type", "(1000 - id)::text::$type",
		# Call nextval() only for columns of the key, for which the command is refused.  For other
		# columns, the result would depend on the order of rows.
		(grep { quoted($_) eq $column } @key) ? "nextval('tool.counter')::text::$type" : $column);
}

sub check
{
	my ($a, $b) = (column(), column());
	return pick(
		"CHECK ($a IS NOT NULL OR true)",
		"CHECK (length($a\::text) < 100)",
		"CHECK (length($a\::text) < 100 AND $b IS NOT NULL OR true)",
		"CHECK (coalesce(length($a\::text), 0) + coalesce(length($b\::text), 0) >= 0)",
		"CHECK ($a\::text <> 'bad')");
}

sub new_column
{
	my $type = plain_type();
	my $text = new_name() . " $type";
	$text .= ' COLLATE ' . pick('"C"', '"POSIX"') if $type =~ /^(text|varchar)/ && rand() < 0.3;
	if (rand() < 0.2)
	{
		return $text . ' GENERATED ALWAYS AS ((' . expression() . ")::text::$type) STORED"
		  if $major < 18 || rand() < 0.6;
		return $text . ' GENERATED ALWAYS AS ((' . expression() . ")::text::$type) VIRTUAL";
	}
	$text .= ' DEFAULT ' . constant($type) if rand() < 0.6;
	$text .= ' NOT NULL' if rand() < 0.3;
	$text .= ' ' . check() if rand() < 0.15;
	$text .= ' UNIQUE' if rand() < 0.1;
	$text .= ' REFERENCES u' . pick('', ' ON DELETE CASCADE', ' ON DELETE SET NULL')
	  if $type eq 'int' && rand() < 0.2;
	return $text;
}

my $name;
my @commands = (
	sub { 'ADD ' . new_column() },
	sub { 'ADD COLUMN ' . pick('', 'IF NOT EXISTS ') . new_column() },
	sub { 'ADD COLUMN IF NOT EXISTS ' . column() . ' int' },
	sub { 'DROP ' . pick('', 'COLUMN ', 'COLUMN IF EXISTS ') . column() . pick('', '', ' CASCADE') }
	,
	sub { my ($c, $t) = (column(), plain_type()); "ALTER $c TYPE $t" . using($c, $t) },
	sub { my ($c, $t) = (column(), plain_type()); "ALTER $c TYPE $t" . using($c, $t) },
	sub {
		my ($c, $t) = (quoted(pick(@key ? @key : @columns)), plain_type());
		"ALTER $c TYPE $t" . using($c, $t);
	},
	sub { 'ALTER ' . column() . ' TYPE text COLLATE ' . pick('"C"', '"POSIX"') },
	sub { my $c = column(); "ALTER $c SET DEFAULT " . constant($type{ $c =~ s/"//gr }) },
	sub { 'ALTER ' . column() . ' DROP DEFAULT' },
	sub { 'ALTER ' . column() . ' SET NOT NULL' },
	sub { 'ALTER ' . column() . ' DROP NOT NULL' },
	sub { 'ALTER ' . column() . ' SET STATISTICS ' . pick(-1, 0, 50) },
	sub { 'ALTER ' . column() . ' SET STORAGE ' . pick('PLAIN', 'EXTERNAL', 'MAIN', 'EXTENDED') },
	sub { 'ALTER ' . column() . ' SET COMPRESSION pglz' },
	sub { 'ALTER ' . column() . pick(' SET (n_distinct = 5)', ' RESET (n_distinct)') },
	sub { 'ALTER ' . column() . pick(' DROP EXPRESSION', ' DROP EXPRESSION IF EXISTS') },
	sub { 'ALTER ' . column() . ' ADD GENERATED ' . pick('ALWAYS', 'BY DEFAULT') . ' AS IDENTITY' },
	sub {
		'ALTER '
		  . column()
		  . pick(
			' DROP IDENTITY',
			' DROP IDENTITY IF EXISTS',
			' SET GENERATED ALWAYS',
			' RESTART WITH 50');
	},
	sub {
		'ADD '
		  . pick('', 'CONSTRAINT ' . new_name() . ' ')
		  . check()
		  . pick('', '', ' NOT VALID', ' NO INHERIT');
	},
	sub {
		'ADD '
		  . pick('', 'CONSTRAINT ' . new_name() . ' ')
		  . 'UNIQUE ('
		  . join(', ', column(), rand() < 0.4 ? column() : ()) . ')'
		  . pick('', '', ' DEFERRABLE INITIALLY DEFERRED');
	},
	sub {
		'ADD FOREIGN KEY ('
		  . column()
		  . ') REFERENCES u'
		  . pick('', ' NOT VALID', ' ON UPDATE CASCADE', ' DEFERRABLE');
	},
	sub { 'ADD EXCLUDE USING btree (' . column() . ' WITH =)' },
	sub {
		'DROP CONSTRAINT '
		  . (@constraints ? quoted(pick(@constraints)) : 'nosuch')
		  . pick('', ' CASCADE');
	},
	sub { 'DROP CONSTRAINT IF EXISTS nosuch' },
	sub { 'VALIDATE CONSTRAINT ' . (@constraints ? quoted(pick(@constraints)) : 'nosuch') },
	sub {
		'ALTER CONSTRAINT '
		  . (@constraints ? quoted(pick(@constraints)) : 'nosuch')
		  . ' DEFERRABLE';
	},
	sub { 'ADD PRIMARY KEY (' . column() . ')' },
	sub {
		pick(
			'SET (fillfactor = 70)',
			'RESET (fillfactor)',
			'SET (autovacuum_enabled = off)',
			'SET LOGGED',
			'SET WITHOUT CLUSTER',
			'SET WITHOUT OIDS',
			'REPLICA IDENTITY FULL',
			'REPLICA IDENTITY DEFAULT',
			'DISABLE TRIGGER ALL',
			'ENABLE TRIGGER ALL',
			'FORCE ROW LEVEL SECURITY',
			'NO FORCE ROW LEVEL SECURITY');
	},
	$major >= 17 ? sub { 'ALTER ' . column() . ' SET EXPRESSION AS (' . expression() . ')' } : (),
	$major >= 18 ? sub { 'ADD CONSTRAINT ' . new_name() . ' NOT NULL ' . column() }          : (),);

# several commands on one column or one name
my @together = (
	sub {
		my $n = new_name();
		my $t = plain_type();
		"ADD $n $t"
		  . pick('', ' DEFAULT ' . constant($t))
		  . ", ALTER $n "
		  . pick('SET DEFAULT ' . constant($t), 'DROP DEFAULT', 'SET NOT NULL', 'SET STATISTICS 5');
	},
	sub {
		my $c = column();
		"ALTER $c DROP DEFAULT, ALTER $c ADD GENERATED BY DEFAULT AS IDENTITY (START 100)";
	},
	sub { my $c = column(); "ALTER $c DROP IDENTITY IF EXISTS, ALTER $c SET DEFAULT 5" },
	sub {
		my $c = column();
		"ALTER $c "
		  . pick(
			'DROP DEFAULT',
			'DROP EXPRESSION IF EXISTS',
			'DROP IDENTITY IF EXISTS',
			'SET STATISTICS 5',
			'DROP NOT NULL')
		  . ", DROP $c"
		  . pick('', ' CASCADE');
	},
	sub { my $c = column(); "DROP $c CASCADE, ADD $c " . plain_type() },
	sub { my $c = column(); 'ALTER ' . column() . " DROP EXPRESSION IF EXISTS, DROP $c CASCADE" },
	sub {
		my $c = column();
		my $n = new_name();
		"ADD $n text GENERATED ALWAYS AS ($c\::text) STORED, ALTER $c DROP NOT NULL";
	},
	sub {
		'ADD CONSTRAINT '
		  . pick('one', 'other') . ' '
		  . check()
		  . pick('', ', ADD CONSTRAINT ' . pick('one', 'other') . ' ' . check());
	},
	sub {
		my $n = pick('one', 'other');
		"DROP CONSTRAINT IF EXISTS $n, ADD CONSTRAINT $n " . check();
	},);

my @others = (
	sub { 'RENAME ' . pick('', 'COLUMN ') . column() . ' TO ' . new_name() },
	sub {
		'RENAME CONSTRAINT '
		  . (@constraints ? quoted(pick(@constraints)) : 'nosuch') . ' TO '
		  . pick('one', 'other', new_name());
	},);

sub rows
{
	my ($from, $to) = @_;
	my @given = grep { !$generated{$_} } @columns;
	return map {
		my $i = $_;
		'('
		  . join(', ',
			map { $_ eq 'id' ? $i : rand() < 0.15 ? 'DEFAULT' : constant($type{$_}) } @given)
		  . ')'
	} $from .. $to;
}

my $next;
my @dml = (
	sub {
		my $n = int(rand(3));
		my $from = $next;
		$next += $n + 1;
		'INSERT INTO t ('
		  . join(', ', map { quoted($_) } grep { !$generated{$_} } @columns)
		  . ') VALUES '
		  . join(', ', rows($from, $from + $n));
	},
	# For a split table, an UPDATE of a generated column raises an error only if there are rows to
	# update.
	sub {
		my $c = quoted(pick(grep { !$generated{$_} } @columns));
		"UPDATE t SET $c = "
		  . constant($type{ $c =~ s/"//gr })
		  . ' WHERE '
		  . column()
		  . '::text '
		  . pick('>', '<', '<>') . q{ '5'};
	},
	sub { 'DELETE FROM t WHERE ' . column() . '::text = ' . pick(q{'7'}, q{'3'}, q{'x'}) },
	sub { 'DELETE FROM u WHERE id = ' . pick(1, 7) },
	sub { "INSERT INTO u VALUES (1), (7), (0), (-3), (12) ON CONFLICT DO NOTHING" },);

my @beside = (
	sub {
		'CREATE '
		  . pick('', '', 'UNIQUE ')
		  . 'INDEX '
		  . pick('', new_name() . ' ')
		  . 'ON t ('
		  . join(', ', pick(column(), '(' . expression() . ')'), rand() < 0.4 ? column() : ()) . ')'
		  . pick('', '', ' WHERE ' . column() . ' IS NOT NULL');
	},
	sub { @indexes ? 'DROP INDEX ' . quoted(pick(@indexes)) : 'DROP INDEX nosuch' },
	sub { 'CREATE STATISTICS ' . new_name() . ' ON ' . column() . ', ' . column() . ' FROM t' },
	sub { 'COMMENT ON COLUMN t.' . column() . ' IS ' . pick('NULL', q{'a comment'}) },
	sub { 'COMMENT ON TABLE t IS ' . pick('NULL', q{'the table'}) },
	sub {
		'COMMENT ON CONSTRAINT '
		  . (@constraints ? quoted(pick(@constraints)) : 'nosuch')
		  . q{ ON t IS 'of a constraint'};
	},
	sub {
		pick('GRANT', 'GRANT', 'REVOKE') . ' '
		  . pick('SELECT', 'UPDATE', 'INSERT')
		  . pick('', '(' . column() . ')')
		  . ' ON t '
		  . 'TO PUBLIC';
	},
	sub { rand() < 0.1 ? 'TRUNCATE t' : 'ANALYZE t' },
	sub { 'ALTER TABLE t RENAME TO other; ALTER TABLE other RENAME TO t' },);

# Return a statement: ALTER TABLE with one or several commands, or another statement.
sub statement
{
	my $kind = rand();
	return pick(@dml)->() if $kind < 0.2;
	return pick(@beside)->() =~ s/^REVOKE(.*) TO /REVOKE$1 FROM /r if $kind < 0.35;
	return 'ALTER TABLE t ' . pick(@others)->() if $kind < 0.42;
	return 'ALTER TABLE t ' . pick(@together)->() if $kind < 0.55;
	my @several = map { pick(@commands)->() } 0 .. pick(0, 0, 0, 1, 2, 3);
	return 'ALTER TABLE ' . pick('', '', 'IF EXISTS ', 'ONLY ') . 't ' . join(', ', @several);
}

my (%counts, %reasons, %done);
foreach my $round (1 .. $rounds)
{
	my $wrong = '';
	my @log;

	$number = 0;
	$next = 100;
	my $composite = rand() < 0.3;
	my $key = $composite ? 'PRIMARY KEY (id, b)' : 'PRIMARY KEY (id)';
	my $setup = join '', map { "SET search_path = $_, tool;\n" . <<"SQL" } @schemas;
DROP TABLE IF EXISTS t CASCADE; DROP TABLE IF EXISTS u CASCADE; DROP DOMAIN IF EXISTS int_domain CASCADE; DROP DOMAIN IF EXISTS text_domain CASCADE;
CREATE DOMAIN int_domain AS int CHECK (VALUE < 1000000); CREATE DOMAIN text_domain AS text;
CREATE TABLE u (id int PRIMARY KEY); INSERT INTO u VALUES (1), (7), (0), (-3), (12);
CREATE TABLE t (id int NOT NULL, a int DEFAULT 1, b text NOT NULL, c text DEFAULT 'c', d numeric, e varchar(20), f text, g int GENERATED ALWAYS AS (a + 1) STORED, $key);
INSERT INTO t SELECT i, i % 5, 'b' || i, 'c' || i, i * 1.5, nullif('e' || i, 'e3'), repeat('f', i) FROM generate_series(1, 12) i;
SQL
	my $cold = pick('{c,d}', '{c,d,e,f}', '{f}', '{a,d,e,g}');
	my $split = join '',
	  map { "SELECT vertical_partition.split('$_.t', '$cold', '$_');\n" } @partition_methods;
	$session = $node->background_psql('postgres');
	$session->query_safe(
		"SET client_min_messages = error;\nCREATE SEQUENCE IF NOT EXISTS tool.counter;\n${setup}RESET search_path;\n$split"
	);

	foreach my $step (1 .. $statements)
	{
		look();
		my $statement = statement();
		push @log, $statement;
		my ($said) =
		  $session->query_safe("SELECT * FROM tool.same(\$statement\$$statement\$statement\$)");
		foreach my $line (grep { /\S/ } split /\n(?=refused|differs|error)/, $said)
		{
			my ($kind, $what) = $line =~ /^(\w+)\|(.*)/s or die $line;
			$counts{$kind}++;
			$reasons{ $what =~ s/^\w+: |"[^"]*"//gr }++ if $kind eq 'refused';
			$wrong .= "$what\n" if $kind eq 'differs';
		}
		if ($said eq '')
		{
			$counts{done}++;
			$done{$_}++
			  foreach map { s/\b(?:n\d+|[a-g]|id)\b.*//r }
			  $statement =~
			  /(?:^|, )(?:ALTER TABLE (?:IF EXISTS |ONLY )?t )?([A-Z][A-Z ]+[A-Z].*?)(?=,|\z)/g;
		}
		$wrong .= $session->query_safe('SELECT tool.same_rows()');
		last if $wrong;
	}
	if (!$wrong)
	{
		push @log, 'merge';
		$wrong = $session->query_safe('SELECT * FROM tool.merge()');
		$wrong .= $session->query_safe('SELECT tool.same_rows()');
	}
	$session->quit;
	is($wrong, '', "round $round: the split tables are like the plain one")
	  or diag(join ";\n", @log);
}
note "$_: $counts{$_}"     foreach sort keys %counts;
note "done $done{$_} x $_" foreach sort keys %done;
note "$reasons{$_} x $_"   foreach sort { $reasons{$b} <=> $reasons{$a} } keys %reasons;
cmp_ok($counts{done}, '>', $rounds * $statements / 5, 'many DDL commands succeed');
done_testing();
