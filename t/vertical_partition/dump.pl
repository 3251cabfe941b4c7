# Dump and restore split tables.  The restored views and parts must have the same definitions and
# rows, and work as before.  Row pointers contain positions of rows in a file, so statements on cold
# columns fail until relink().
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = partition_node('dump');
my $dir = $node->basedir;
my ($tables, $split) = partition_tables();

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', "CREATE EXTENSION vertical_partition;\n$tables$split");
# Rows of the cold part get other positions when they are restored.
$node->safe_psql('source',
	"UPDATE $_ SET wide = wide || 'x' WHERE id % 3 = 0; DELETE FROM $_ WHERE id % 11 = 0")
  foreach @partition_methods;
my %contents = map { $_ => $node->safe_psql('source', partition_contents($_)) } @partition_methods;

# dump(DATABASE, FORMAT, FILE, OPTION...) - run pg_dump
sub dump_to
{
	my ($database, $format, $file, @options) = @_;
	$node->command_ok(
		[ 'pg_dump', "--format=$format", '--file', $file, @options, $node->connstr($database) ],
		"pg_dump of $database in $format format");
}

dump_to('source', 'plain', "$dir/source.sql");
my $plain = slurp_file("$dir/source.sql") =~ s/^\\(un)?restrict .*$//mgr;
unlike($plain, qr/row_pointers/, 'the dump has no table of row pointers');
unlike(
	$plain,
	qr/FUNCTION vertical_partition\.\w+\(.*AS/,
	'the dump has no function of the extension');
unlike($plain, qr/vertical_partition_internal/, 'the dump names no internal object');

for my $format ('plain', 'custom', 'directory')
{
	my $target = "target_$format";
	my $file = "$dir/dump_$format";

	$node->safe_psql('postgres', "CREATE DATABASE $target TEMPLATE template0");
	dump_to('source', $format, $file);
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($target) ]
		: [ 'pg_restore', '--exit-on-error', '-j', 2, '-d', $node->connstr($target), $file ],
		"$format dump is restored");

	is( $node->safe_psql(
			$target,
			'SELECT relation, method, pointers_valid FROM vertical_partition.status ORDER BY relation::text'
		),
		"row_pointer|row_pointer|f\nshared_key|shared_key|\nsurrogate_key|surrogate_key|",
		"$format: the tables are split, the pointers need relink()");
	is($node->safe_psql($target, partition_contents($_)), $contents{$_}, "$format: rows of $_")
	  foreach 'shared_key', 'surrogate_key';
	is( $node->safe_psql($target, 'SELECT count(*), sum(a), sum(n), sum(doubled) FROM row_pointer'),
		$node->safe_psql(
			'source', 'SELECT count(*), sum(a), sum(n), sum(doubled) FROM row_pointer'),
		"$format: hot columns can be read");
	my ($ret, $out, $err) = $node->psql($target, partition_contents('row_pointer'));
	like(
		$err,
		qr/has no cold row.*\n.*vertical_partition\.relink/,
		"$format: cold columns cannot be read before relink()");
	($ret, $out, $err) = $node->psql($target, q{UPDATE row_pointer SET note = 'new'});
	isnt($ret, 0, "$format: cold columns cannot be written before relink()");
	cmp_ok($node->safe_psql($target, q{SELECT vertical_partition.relink('row_pointer')}),
		'>', 0, "$format: relink()");
	is($node->safe_psql($target, partition_contents('row_pointer')),
		$contents{row_pointer}, "$format: rows of row_pointer");
	is( $node->safe_psql(
			$target, 'SELECT count(*) FROM vertical_partition.status WHERE pointers_valid'),
		1,
		"$format: the pointers are valid");

	is( $node->safe_psql(
			$target,
			"SELECT t.*, count(r.n) FROM $_ t LEFT JOIN refers_to_$_ r ON r.n = t.n GROUP BY t.id, t.k ORDER BY t.id LIMIT 1"
		),
		$node->safe_psql('source', "SELECT t.*, 1 FROM $_ t ORDER BY t.id LIMIT 1"),
		"$format: GROUP BY of the key of $_") foreach 'shared_key', 'surrogate_key';

	# A dump of the restored database is the same, except for the pointers.
	dump_to($target, 'plain', "$dir/second.sql", '--schema-only');
	dump_to('source', 'plain', "$dir/first.sql", '--schema-only');
	my ($first, $second) = map { slurp_file("$dir/$_.sql") =~ s/^\\(un)?restrict .*$//mgr } 'first',
	  'second';
	is($second, $first, "$format: the dump of the restored schema is the same");

	# Check that the restored tables work: sequences continue, direct changes of the
	# parts are refused, foreign keys are enforced, and merge() succeeds.
	for my $method (@partition_methods)
	{
		is( $node->safe_psql(
				$target,
				"INSERT INTO $method (k, a) VALUES ('new', 5) RETURNING id, n, note, doubled"),
			'501|501|none|10',
			"$format, $method: INSERT");
		is( $node->safe_psql(
				$target, "UPDATE $method SET note = note || '!' WHERE id = 501 RETURNING note"),
			'none!',
			"$format, $method: UPDATE");
		($ret, $out, $err) = $node->psql($target, "DELETE FROM ${method}_hot");
		like($err, qr/a part of a split table/, "$format, $method: guard");
		($ret, $out, $err) = $node->psql($target, "INSERT INTO refers_to_$method VALUES (10000)");
		like($err, qr/violates foreign key constraint/, "$format, $method: foreign key");
		$node->safe_psql($target, "DELETE FROM $method WHERE id = 501");
		$node->safe_psql($target, "SELECT vertical_partition.merge('$method')");
		is($node->safe_psql($target, partition_contents($method)),
			$contents{$method}, "$format, $method: merge()");
	}
}

# A parallel restore truncates and fills one part while another process adds a constraint to the
# other part.  Let the constraint wait for a lock meanwhile.  It must not set the pointers anew: this
# would lock the whole split table, and so could be a deadlock with the other processes.
$node->safe_psql('postgres', 'CREATE DATABASE beside');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error',
		'--section=pre-data', '--section=data',
		'-d', $node->connstr('beside'),
		"$dir/dump_custom"
	],
	'the schema and the rows are restored');
my $holder = $node->background_psql('beside');
my $adder = $node->background_psql('beside', on_error_stop => 0);
$holder->query_safe('BEGIN; LOCK TABLE row_pointer_hot IN ACCESS SHARE MODE');
$adder->query_until(qr/begins/, <<'SQL');
\echo begins
ALTER TABLE row_pointer_hot ADD CONSTRAINT row_pointer_n_key UNIQUE (n);
\echo ends
SQL
$node->poll_query_until('beside', 'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)')
  or die 'the constraint does not wait';
$holder->query_safe('CREATE TEMP TABLE cold AS SELECT * FROM row_pointer_cold');
$holder->query_safe(
	'TRUNCATE ONLY row_pointer_cold; INSERT INTO row_pointer_cold TABLE cold; COMMIT');
$adder->query_until(qr/^ends$/m, '');
is($adder->{stderr}, '', 'a constraint is added to one part while the other part is truncated');
is( $node->safe_psql(
		'beside',
		"SELECT pointers_valid FROM vertical_partition.status WHERE relation = 'row_pointer'::regclass"
	),
	'f',
	'the pointers are not set');
$_->quit foreach $holder, $adder;
my ($rc, undef, $refusal) =
  $node->psql('beside', q{SELECT vertical_partition.relink('row_pointer')});
isnt($rc, 0, 'relink() fails while the restore has not created the primary key');
like(
	$refusal,
	qr/cannot relink \S*row_pointer\n.*hot part \S*row_pointer_hot has no primary key/,
	'relink() says that the primary key is missing');

# Restore the schema first, and the rows later, from a dump or by COPY into the views.
$node->safe_psql('postgres', 'CREATE DATABASE empty');
dump_to('source', 'custom', "$dir/all");
$node->command_ok(
	[ 'pg_restore', '--exit-on-error', '--schema-only', '-d', $node->connstr('empty'), "$dir/all" ],
	'schema is restored');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '--data-only', '--disable-triggers',
		'-d', $node->connstr('empty'), "$dir/all"
	],
	'rows are restored');
$node->safe_psql('empty', q{SELECT vertical_partition.relink('row_pointer')});
is($node->safe_psql('empty', partition_contents($_)), $contents{$_}, "schema, then rows: $_")
  foreach @partition_methods;

# The owner of a database, who is not a superuser, restores a dump.
my @ordinary = ('-U', 'ordinary');
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER ordinary") foreach 'owned', 'owned_again';
$node->safe_psql('owned', <<'SQL', extra_params => \@ordinary);
CREATE EXTENSION vertical_partition;
CREATE TABLE t (id int PRIMARY KEY, n int, c text);
INSERT INTO t VALUES (1, 1, 'c');
SELECT vertical_partition.split('t', '{c}', 'row_pointer');
SQL
dump_to('owned', 'custom', "$dir/owned", @ordinary);
$node->command_ok(
	[
		'pg_restore', '--exit-on-error',
		@ordinary, '-d',
		$node->connstr('owned_again'), "$dir/owned"
	],
	'an ordinary role restores its database');
is( $node->safe_psql(
		'owned_again',
		q{SELECT vertical_partition.relink('t') >= 0; SELECT * FROM t},
		extra_params => \@ordinary),
	"t\n1|1|c",
	'the restored table has all rows');

# Dump single tables.  The dump of a view has no rows, and the dumps of its parts have the rows.
my ($method) = @partition_methods;
like(
	$node->safe_psql('source', "SELECT obj_description('${method}_hot'::regclass)"),
	qr/^hot part of the split table public\.$method; a dump of public\.$method alone has no rows/,
	'the comment of the hot part warns about a dump of the view alone');
dump_to('source', 'plain', "$dir/view.sql", '-t', $method);
unlike(slurp_file("$dir/view.sql"), qr/^COPY|^INSERT/m, 'a dump of the view alone has no rows');
dump_to('source', 'custom', "$dir/three", '-t', 'owners', map { ('-t', $_) } $method,
	"${method}_hot", "${method}_cold");
$node->safe_psql('postgres', 'CREATE DATABASE three');
$node->safe_psql('three', 'CREATE EXTENSION vertical_partition');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('three'), "$dir/three" ],
	'a dump of view and parts is restored');
is($node->safe_psql('three', partition_contents($method)),
	$contents{$method}, 'the dump of view and parts has all rows');
$node->safe_psql('three', "DELETE FROM $method");
$node->command_fails_like(
	[
		'pg_restore', '--exit-on-error', '--data-only', '-t',
		"${method}_hot", '-d', $node->connstr('three'), "$dir/three"
	],
	qr/cannot write to table "${method}_hot", a part of a split table/,
	'the parts refuse data of a data-only dump');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '--data-only', '--disable-triggers',
		map({ ('-t', "${method}_$_") } 'hot', 'cold'),
		'-d', $node->connstr('three'), "$dir/three"
	],
	'a data-only dump is restored with --disable-triggers');
is($node->safe_psql('three', partition_contents($method)),
	$contents{$method}, 'the data-only dump has all rows');

# Test the not-null constraints of 18 and later, which are in pg_constraint.
if ($node->pg_version >= 18)
{
	my $constraints =
	  q{SELECT conname, conrelid::regclass, pg_get_constraintdef(oid), obj_description(oid) FROM pg_constraint
		WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text ~ '^t(_hot|_cold)?$' ORDER BY conname, conrelid::regclass::text};
	$node->safe_psql('postgres', 'CREATE DATABASE constraints');
	$node->safe_psql('constraints', <<'SQL');
CREATE EXTENSION vertical_partition;
CREATE TABLE o (id int PRIMARY KEY);
CREATE TABLE t (id int CONSTRAINT idnn NOT NULL, a int CONSTRAINT ann NOT NULL NO INHERIT, b text CONSTRAINT bnn NOT NULL, c text, o int,
	CONSTRAINT pk PRIMARY KEY (id), CONSTRAINT chk CHECK (a > 100) NOT ENFORCED, CONSTRAINT fk FOREIGN KEY (o) REFERENCES o NOT ENFORCED);
COMMENT ON CONSTRAINT bnn ON t IS 'not null';
INSERT INTO t SELECT i, i, 'b' || i, NULL, 77 FROM generate_series(1, 5) i;
ALTER TABLE t ADD CONSTRAINT cnn NOT NULL c NOT VALID;
SQL
	my $before = $node->safe_psql('constraints', $constraints);
	$node->safe_psql('constraints', q{SELECT vertical_partition.split('t', '{b,c}')});
	is( $node->safe_psql('constraints', $constraints),
		<<'OUT' =~ s/\n\z//r, 'constraints of the parts');
ann|t_hot|NOT NULL a NO INHERIT|
bnn|t_cold|NOT NULL b|not null
chk|t_hot|CHECK ((a > 100)) NOT ENFORCED|
cnn|t_cold|NOT NULL c NOT VALID|
fk|t_hot|FOREIGN KEY (o) REFERENCES o(id) NOT ENFORCED|
idnn|t_hot|NOT NULL id|
pk|t|PRIMARY KEY (id)|
pk|t_hot|PRIMARY KEY (id)|
t_cold_id_not_null|t_cold|NOT NULL id|
t_cold_pkey|t_cold|PRIMARY KEY (id)|
OUT
	$node->safe_psql('constraints', q{SELECT vertical_partition.merge('t')});
	is($node->safe_psql('constraints', $constraints),
		$before, 'the merged table has its constraints again');
	my ($ret, $out, $err) = $node->psql('constraints', <<'SQL');
CREATE TABLE refused (id int PRIMARY KEY, a int, r int4range, p daterange, b text, v text GENERATED ALWAYS AS (b) VIRTUAL, CONSTRAINT periods UNIQUE (r, p WITHOUT OVERLAPS));
SELECT vertical_partition.split('refused', '{b,v}');
SQL
	like(
		$err,
		qr/^column v, a virtual generated column\nconstraint periods on table public\.refused, of periods$/m,
		'split() names the columns and constraints that it cannot carry over');
}

$node->stop;
done_testing();
