# Test pg_upgrade and pg_dump with B-tree indexes that have an item alignment.  An upgrade to a
# server with the patch keeps these indexes unchanged.  pg_upgrade of the patched server refuses any
# other target, and lists the indexes before it changes anything.  pg_upgrade of a later stock
# server does not know the alignment, but the old server refuses its connection.  Once the indexes
# have the stock alignment again, the upgrade to a stock server works.
use strict;
use warnings FATAL => 'all';

use Cwd qw(getcwd);
use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::IndexAlign;
use PgDense::Patch;
use PgDense::Upgrade;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/../..");
my ($major) = `pg_config --version` =~ /(\d+)/;
my ($bindir) = `pg_config --bindir` =~ /(.*)/;

needs_patch('index_align', 'default_index_item_alignment');
# For the newest major version that is built, there is no later version.
my @to = grep { slurp_file("$top/tools/pg-versions") =~ /^$_ /m } $major, $major + 1;
my %stock = map { $_ => "$top/build/$_/stock" } @to;
for my $path (values %stock)
{
	ok(-x "$path/bin/postgres", "a stock server to upgrade to: $path") or BAIL_OUT("no $path");
}
my $later = $stock{ $major + 1 };
my $outer_dir = getcwd();

# Return the code of the item alignment in the first page of an index file.  This function works on
# a stock server as well.
sub alignment_code
{
	my ($node, $db, $index) = @_;

	$node->safe_psql($db, 'CHECKPOINT');
	return item_code(read_page(path_of($node, $index, $db), 0));
}

my %codes = (
	t_pkey => 1,
	t_s => 2,
	t_i => 1,
	t_b => 0,
	t_param => 1,
	t_max => 0,
	t_plain => 0,
	'"Odd name"' => 1,
	u_pkey => 1,
	p1_a_idx => 1);

sub codes_are
{
	my ($node, $expected, $name) = @_;
	is_deeply({ map { $_ => alignment_code($node, 'app', $_) } keys %$expected }, $expected, $name);
}

# Check that amcheck finds no error in any valid index, and that each index agrees with its table.
sub indexes_ok
{
	my ($node, $name) = @_;
	my ($ret, $out, $err) = $node->psql('app', <<'SQL', on_error_stop => 1);
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
WHERE relam = 403 AND relkind = 'i' AND indisvalid AND relnamespace = 'public'::regnamespace \g /dev/null
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT sum(i), (SELECT count(*) FROM t WHERE i < 1000), (SELECT id FROM t WHERE s = 77 ORDER BY s, id LIMIT 1) FROM t WHERE id BETWEEN 100 AND 200;
SQL
	is("$ret $out $err", '0 15150|999|77 ', $name);
}

# Return a digest of t that does not depend on any index.
my $contents =
  q{SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;
	SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM t; SELECT sum(a) FROM p};

sub list
{
	my ($new) = @_;
	my @files = glob($new->data_dir . '/pg_upgrade_output.d/*/aligned_indexes.txt');
	my $list = @files == 1 ? slurp_file($files[0]) : scalar(@files) . ' files';
	unlink @files;
	return $list;
}

# Check that pg_upgrade with these options refuses the upgrade from this server to a
# stock server of the same release, and that its list of indexes is LIST.
sub refused
{
	my ($old, $new, $list, $name, @options) = @_;
	my $log = $new->data_dir . '/pg_upgrade_output.d';

	command_checks_all(
		pg_upgrade_command($bindir, $old, $bindir, $new, "$stock{$major}/bin", @options),
		1,
		[
			qr/^Checking for B-tree indexes with item alignment +fatal$/m,
			qr/does not support item alignment\..*^A list of the problems is in the file:\s+\S+aligned_indexes\.txt$/ms
		],
		[qr/^$/],
		$name);
	is(list($new), $list, "$name: list");
	is(scalar(() = glob("$log/*/dump/*")), 0, "$name: pg_upgrade stops before it dumps anything");
	system_or_bail('rm', '-rf', $log);
}

# Upgrade to a stock server, and start it.
sub stock_upgrade
{
	my ($old, $to, $name) = @_;
	my $new = init_cluster($name, install_path => $stock{$to});
	my $stock_bindir = "$stock{$to}/bin";

	# A later server brings its own pg_upgrade.
	command_ok(
		pg_upgrade_command(
			$to == $major ? $bindir : $stock_bindir,
			$old, $bindir, $new, $stock_bindir),
		"pg_upgrade to stock $to, $name");
	$new->start;
	return $new;
}

# Restore a dump on a stock server, and return the errors that psql prints.
sub restore
{
	my ($node, $file) = @_;
	my $err = '';

	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS app');
	run_log(
		[ "$stock{$major}/bin/psql", '-X', '-q', '-d', $node->connstr('postgres'), '-f', $file ],
		'>', \my $out, '2>', \$err)
	  or $err .= 'failed';
	return $err;
}

my $old = init_cluster('dense');
$old->start;
$old->safe_psql('postgres', "CREATE DATABASE $_") for 'app', 'other', 'plain';
$old->safe_psql('app', <<'SQL');
SET default_index_item_alignment = auto;
CREATE TABLE t (id int PRIMARY KEY, s smallint, i int, b bigint, note text);
INSERT INTO t SELECT i, i % 1000, i, i, 'note ' || i FROM generate_series(1, 20000) i;
CREATE INDEX t_s ON t (s);
CREATE INDEX t_i ON t (i) INCLUDE (s);
CREATE INDEX t_b ON t (b);
CREATE INDEX "Odd name" ON t (note);
CREATE INDEX t_hash ON t USING hash (i);
CREATE UNLOGGED TABLE u (id int PRIMARY KEY);
INSERT INTO u SELECT i FROM generate_series(1, 1000) i;
RESET default_index_item_alignment;
CREATE INDEX t_plain ON t (i, s);
CREATE INDEX t_param ON t (s, i) WITH (fillfactor = 80, item_alignment = auto);
CREATE INDEX t_max ON t (i) WITH (item_alignment = max);
CREATE TABLE p (a int) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10000);
CREATE INDEX p_a ON p (a) WITH (item_alignment = auto);
INSERT INTO p SELECT i FROM generate_series(0, 4999) i;
CREATE FUNCTION f(int) RETURNS int LANGUAGE sql SET default_index_item_alignment = auto AS 'SELECT $1';
CREATE ROLE holder;
ALTER ROLE holder SET default_index_item_alignment = auto;
ALTER ROLE holder IN DATABASE app SET default_index_item_alignment = auto;
ALTER DATABASE plain SET default_index_item_alignment = auto;
GRANT SET ON PARAMETER default_index_item_alignment TO holder;
SQL
# This invalid index is not upgraded.
my ($ret, undef, $err) = $old->psql('app',
	'CREATE UNIQUE INDEX CONCURRENTLY t_invalid ON t (s) WITH (item_alignment = auto)');
like($err, qr/could not create unique index "t_invalid"/, 'an invalid index');
$old->safe_psql('other',
	'SET default_index_item_alignment = auto; CREATE TABLE o (id int PRIMARY KEY)');
my $before = $old->safe_psql('app', $contents);
my $options =
  q{SELECT string_agg(relname || reloptions::text, ' ' ORDER BY relname) FROM pg_class WHERE reloptions IS NOT NULL AND relname ~ '^[tp]' AND relname <> 't_invalid'};
my $options_before = $old->safe_psql('app', $options);
codes_are($old, \%codes, 'indexes are aligned');

# A dump has only the storage parameters that a command has set.
my $dump = "$PostgreSQL::Test::Utils::tmp_check/app.sql";
command_ok([ 'pg_dump', '--create', '-f', $dump, '-d', $old->connstr('app') ], 'pg_dump');
is( join(' ', sort(slurp_file($dump) =~ /^CREATE INDEX (\w+) .*\bitem_alignment=/mg)),
	'p1_a_idx p_a t_max t_param',
	'the dump has the storage parameters that were written');

# Upgrade to the same server.
my $list = <<'EOT';
Settings of default_index_item_alignment:
  database plain
  privileges on the parameter
  role holder
  role holder in database app
In database: app
  public.Odd name
  public.p1_a_idx (storage parameter item_alignment)
  public.p_a (storage parameter item_alignment of a partitioned index)
  public.t_i
  public.t_max (storage parameter item_alignment)
  public.t_param (storage parameter item_alignment)
  public.t_pkey
  public.t_s
  public.u_pkey
  function public.f(integer) (setting of default_index_item_alignment)
In database: other
  public.o_pkey
EOT
my $refusing = init_cluster('refusing', install_path => $stock{$major});
refused($old, $refusing, $list, 'pg_upgrade --check of the running server', '--check');
$old->stop;
my $same = init_cluster('same');
command_ok(pg_upgrade_command($bindir, $old, $bindir, $same, $bindir),
	'pg_upgrade to the same server');
$same->start;
codes_are($same, \%codes, 'pg_upgrade keeps the alignment of all indexes');
is($same->safe_psql('app', $contents), $before, 'same rows');
is($same->safe_psql('app', $options), $options_before, 'same storage parameters');
indexes_ok($same, 'the indexes work');
$same->safe_psql('app',
	'INSERT INTO t SELECT i, i % 1000, i, i, i FROM generate_series(20001, 40000) i; DELETE FROM t WHERE id % 3 = 0 AND id > 20000; VACUUM t; DELETE FROM t WHERE id > 20000; REINDEX INDEX t_s'
);
indexes_ok($same, 'the indexes work after changes');
is(alignment_code($same, 'app', 't_s'), 0, 'a rebuilt index gets the default alignment');
is(alignment_code($same, 'app', 't_i'), 1, 'other indexes keep their alignment');
$same->stop;

# Try to upgrade to a stock server.
refused($old, $refusing, $list, 'pg_upgrade --check', '--check');
refused($old, $refusing, $list, 'pg_upgrade');
$refusing->start;
is($refusing->safe_psql('postgres', q{SELECT count(*) FROM pg_database}),
	'3', 'the new cluster is unchanged');
my $error = restore($refusing, $dump);
like(
	$error,
	qr/ERROR:  unrecognized parameter "item_alignment"/,
	'a stock server does not restore the storage parameter');
like(
	$error,
	qr/ERROR:  unrecognized configuration parameter "default_index_item_alignment"/,
	'a stock server does not restore a setting of the default');
$refusing->safe_psql('postgres', 'DROP DATABASE app');
$refusing->stop;
$old->start;
codes_are($old, \%codes, 'the old cluster keeps the alignment of all indexes');
indexes_ok($old, 'the indexes of the old cluster work');

# Without storage parameters and settings, the index files keep their alignment.
$old->safe_psql('app', <<'SQL');
ALTER INDEX t_param RESET (item_alignment);
ALTER INDEX t_max RESET (item_alignment);
-- The parameter of a partitioned index cannot be changed, so create the index again.
DROP INDEX p_a;
SET default_index_item_alignment = auto;
CREATE INDEX p_a ON p (a);
RESET default_index_item_alignment;
DROP INDEX t_invalid;
DROP FUNCTION f(int);
ALTER ROLE holder RESET ALL;
ALTER ROLE holder IN DATABASE app RESET ALL;
ALTER DATABASE plain RESET ALL;
REVOKE SET ON PARAMETER default_index_item_alignment FROM holder;
SQL
command_ok([ 'pg_dump', '--create', '-f', $dump, '-d', $old->connstr('app') ],
	'pg_dump without storage parameters');
unlike(slurp_file($dump), qr/item_alignment/, 'the default is not dumped');
$old->stop;
$list =~ s/.*?(?=In database)//s;
$list =~ s/ +\(storage.*//g;
$list =~ s/^  (?:public\.(?:p_a|t_max)|function.*)\n//mg;
refused($old, $refusing, $list, 'pg_upgrade with files alone');

# pg_upgrade of the later server checks nothing.  But it has to start the old cluster with the old
# server.  This server refuses the connection, with the extension or without it.
if ($later)
{
	for my $options ([], ['--check'], ['--link'])
	{
		my $name = "pg_upgrade of stock, @$options";
		my $next = init_cluster('next' . scalar(@$options) . ($options->[0] // '') =~ s/-//gr,
			install_path => $later);

		command_checks_all(
			pg_upgrade_command("$later/bin", $old, $bindir, $next, "$later/bin", @$options),
			1,
			[
				qr/FATAL:  database "(app|other)" has B-tree indexes with item alignment, which this pg_upgrade does not know\n.*DETAIL:  One of them is "public\.\S.*"\.\n.*HINT:  .*restore_stock/s
			],
			[qr/^$/],
			$name);
	}
	ok(-e $old->data_dir . '/global/pg_control', 'pg_upgrade fails before it links a file');
}
$old->start;
codes_are($old, { t_pkey => 1, t_s => 2 }, 'the indexes are still aligned');
indexes_ok($old, 'the indexes of the old cluster work after the failed upgrade');
$old->stop;

# Go back: restore the stock alignment of all indexes.
$old->start;
$old->safe_psql('app', 'SET default_index_item_alignment = max; REINDEX SCHEMA public');
$old->safe_psql('other', 'REINDEX TABLE o');
codes_are($old, { map { $_ => 0 } keys %codes }, 'restored');
my $extension = $old->safe_psql('app',
	q{SELECT count(*) FROM pg_available_extensions WHERE name = 'index_align'});
ok($extension, 'the extension is installed');
$old->safe_psql('app', 'CREATE EXTENSION index_align') if $extension;
$old->stop;

# A stock server cannot load the library of the extension.
if ($later)
{
	my $next = init_cluster('unloadable', install_path => $later);
	command_checks_all(
		pg_upgrade_command("$later/bin", $old, $bindir, $next, "$later/bin", '--check'),
		1,
		[qr/^Your installation references loadable libraries that are missing from the$/m],
		[qr/^$/],
		'the installed extension blocks the upgrade');
}
$old->start;
$old->safe_psql('app', 'DROP EXTENSION IF EXISTS index_align');
$old->stop;
to_stock($_) for @to;

# Upgrade to a stock server after all indexes have the stock alignment again.
sub to_stock
{
	my ($to) = @_;
	my $new = stock_upgrade($old, $to, "restored$to");
	is($new->safe_psql('app', $contents), $before, "stock $to: same rows");
	codes_are($new, { map { $_ => 0 } keys %codes }, "stock $to: indexes of its own layout");
	indexes_ok($new, "stock $to: the indexes work");
	$new->safe_psql('app',
		q{INSERT INTO t VALUES (-1, 1, 1, 1, 'x'); INSERT INTO p VALUES (5000); INSERT INTO u VALUES (0)}
	);
	if ($to == $major)
	{
		# Also restore the dump whose indexes were aligned by the default.
		is(restore($new, $dump), '', 'a stock server restores the dump');
		is($new->safe_psql('app', $contents), $before, 'same rows from the dump');
		indexes_ok($new, 'the indexes of the restored dump work');
	}
	$new->stop;
}

# pg_upgrade from an older patched server keeps the indexes unchanged.
for my $from (grep { -d "$top/index_align/$_" } $major - 1)
{
	my $path = "$top/build/$from/dense";
	ok(-x "$path/bin/pg_upgrade", "a patched server $from") or BAIL_OUT("no $path");
	for my $how ('copy', 'link')
	{
		my $name = "patched $from, $how";
		my $patched = init_cluster("patched_$how", install_path => $path);
		my $files =
		  q{SELECT pg_relation_filepath(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text};
		my $rows =
		  q{SELECT count(*), sum(id + s + i + b), md5(string_agg(note, ' ' ORDER BY id)) FROM t};

		$patched->start;
		$patched->safe_psql('postgres', 'CREATE DATABASE app');
		$patched->safe_psql('app', <<'SQL');
CREATE TABLE t (id int, s smallint, i int, b bigint, note text, PRIMARY KEY (id) WITH (item_alignment = auto));
INSERT INTO t SELECT i, i % 1000, i, i, 'note ' || i FROM generate_series(1, 20000) i;
CREATE INDEX t_s ON t (s) WITH (item_alignment = auto);
CREATE INDEX t_i ON t (i) INCLUDE (s) WITH (item_alignment = auto);
CREATE INDEX t_b ON t (b);
UPDATE t SET s = s + 1 WHERE id % 3 = 0;
CHECKPOINT;
SQL
		my %aligned = (t_pkey => 1, t_s => 2, t_i => 1, t_b => 0);
		codes_are($patched, \%aligned, "$name: aligned before");
		my $then = $patched->safe_psql('app', $rows);
		my @files = split /\n/, $patched->safe_psql('app', $files);
		$patched->stop;
		# Read the files after the shutdown, which writes the last changes.
		my @pages = map { slurp_file($patched->data_dir . "/$_") } @files;

		my $next = init_cluster("from_patched_$how");
		command_ok(pg_upgrade_command($bindir, $patched, "$path/bin", $next, $bindir, "--$how"),
			"$name: pg_upgrade");
		$next->start;
		@files = split /\n/, $next->safe_psql('app', $files);
		is(scalar(grep { slurp_file($next->data_dir . "/$files[$_]") ne $pages[$_] } 0 .. 3),
			0, "$name: no index was rebuilt");
		is($next->safe_psql('app', $rows), $then, "$name: the rows are the same");
		codes_are($next, \%aligned, "$name: aligned as before");
		indexes_ok($next, "$name: the indexes work");
		$next->safe_psql('app',
			q{INSERT INTO t SELECT i, i % 1000, i, i, i FROM generate_series(20001, 30000) i; DELETE FROM t WHERE id > 20000; VACUUM t}
		);
		indexes_ok($next, "$name: the indexes work after changes");
		$next->stop;
	}
}

# pg_upgrade from the distribution's server keeps the files unchanged, whatever the default
# alignment is.
if (!$ENV{PGDENSE_OLD_BINDIR})
{
  SKIP:
	{
		skip 'no older server here', 1;
	}
	done_testing();
	exit;
}
chdir $outer_dir or die "could not change directory: $!";
my $older = start_old();
$older->safe_psql('app', <<'SQL');
CREATE TABLE t (id int PRIMARY KEY, s smallint, i int, b bigint, note text);
INSERT INTO t SELECT i, i % 1000, i, i, 'note ' || i FROM generate_series(1, 20000) i;
CREATE INDEX t_s ON t (s);
CREATE INDEX t_i ON t (i) INCLUDE (s);
CREATE TABLE p (a int);
INSERT INTO p SELECT i FROM generate_series(0, 4999) i;
SQL
my $new = upgrade($older, "default_index_item_alignment = auto\n");
is($new->safe_psql('app', $contents), $before, 'same rows from an older server');
codes_are($new, { t_pkey => 0, t_s => 0, t_i => 0 }, 'files of an older server are as they were');
indexes_ok($new, 'indexes from an older server work');
$new->safe_psql('app',
	'INSERT INTO t SELECT i, i % 1000, i, i, i FROM generate_series(20001, 40000) i; DELETE FROM t WHERE id > 20000; VACUUM t; REINDEX INDEX t_s; CREATE INDEX t_new ON t (i)'
);
codes_are(
	$new,
	{ t_pkey => 0, t_s => 2, t_i => 0, t_new => 1, 'pg_catalog.pg_class_oid_index' => 0 },
	'only new indexes are aligned');
indexes_ok($new, 'old and new indexes work');
$new->stop;
done_testing();
