# Run PostgreSQL's own regression tests with every table under access method toast_policy.  In the
# first run, only the columns that the tests make EXTERNAL are under the policy.  In the second run,
# all columns are under the policy, because all types are EXTERNAL by default.  In both runs the
# results must be those of the stock server, including sizes and compression methods, except for a
# few known lines.
use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $regress = core_tests();
my ($bindir) = `pg_config --bindir` =~ /(.*)/;

# Normalise a line of the tests' output.  Leave out widths of columns and row counts.  They change
# if another line changes, and that other line is compared anyway.  In the second run, EXTERNAL
# stands for EXTENDED.
sub normalise
{
	my ($text, $storage) = @_;
	my @lines;

	for my $line (split /\n/, $text)
	{
		next if $line =~ /^[-+ ]*$/ || $line =~ /^\(\d+ rows?\)$/;
		$line =~ s/\s+/ /g;
		$line =~ s/^ | $//g;
		$line =~ s/\b(external|extended)\b/STORAGE/gi if $storage;
		push @lines, "$line\n";
	}
	return @lines;
}

# Return the differing lines of two files, with the marks of diff.
sub difference
{
	my ($storage, @files) = @_;
	my @names;

	for my $file (@files)
	{
		push @names, PostgreSQL::Test::Utils::tempdir_short() . '/lines';
		open my $out, '>', $names[-1] or die "could not write $names[-1]: $!";
		print $out normalise(slurp_file($file), $storage);
		close $out or die "could not write $names[-1]: $!";
	}
	return grep { /^[<>]/ } `diff $names[0] $names[1]`;
}

# Return the smallest difference between the result of a test and one of its expected files.
sub unexpected
{
	my ($storage, $result) = @_;
	my $name = basename($result, '.out');
	my @variants = grep { -e $_ } map { "$regress/expected/$name$_.out" } '', map { "_$_" } 0 .. 9;
	my $text = slurp_file($result);
	my @smallest;

	for my $i (0 .. $#variants)
	{
		return () if slurp_file($variants[$i]) eq $text;
		my @lines = difference($storage, $variants[$i], $result);
		@smallest = @lines if $i == 0 || @lines < @smallest;
	}
	return @smallest;
}

# For each test, the pattern of the lines that may differ
my $toast_am = qr/^> (table|materialized view) \w+ \| access method toast_policy \| n$/;
my %known = (
	# The catalogs list the access method and the event trigger of the extension.
	create_am => qr/^> toast_policy \| toast_policy\.handler \| t$/,
	psql => qr/^> toast_policy \| Table( \| toast_policy\.handler \| [\w ]+)?$/,
	event_trigger => qr/^> toast_policy_guard \| event trigger /,
	# Tables depend on the access method, as on any access method except heap.
	create_index => $toast_am,
	# A long raw value in an EXTERNAL column goes out of line.
	strings => qr/^(< f|> t)$/,
	misc_functions => qr/^(< t \| t|> t \| f)$/,
	# The keys of an index on an EXTERNAL column are compressed.
	alter_table => qr/^[<>] a \| text \| yes \| a \| (external|extended) \|$/,
	# This test lists operators and operator classes.  The operators of ztext and zbytea are
	# additional.
	opr_sanity =>
	  qr/^> (#[<>=]+# \| #[<>=]+#|\d+ \| \d \| (#[<>=]+#|\d{5,})|\| z(text|bytea)_ops \| z(text|bytea)_ops \| z(text|bytea))$/,
	# This test of the server patch shows that the patch leaves EXTERNAL columns alone.
	toast_chunks => qr/^[<>] \d \| \d+ \|( pglz)? \| \d+ \| \d+ \| t$/,);
my %number = (
	create_am => 1,
	psql => 4,
	event_trigger => 1,
	create_index => 8,
	strings => 2,
	misc_functions => 2,
	opr_sanity => 39,
	toast_chunks => 8,
	alter_table => 2);

# With all types EXTERNAL, type_sanity lists every column of the system catalogs.  The
# test toast_chunks needs EXTENDED columns.
my %known_all = (type_sanity => qr/^> \d+ \| \w+ \| \d+ \| \w+$/, toast_chunks => qr/^[<>]/);

for my $all (0, 1)
{
	my $what = $all ? 'all columns' : 'EXTERNAL columns';
	my $node = PostgreSQL::Test::Cluster->new($all ? 'core_all' : 'core');
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
max_connections = 50
log_statement = none
CONF
	$node->start;

	# pg_regress creates its database from template0.
	$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');
	$node->safe_psql('template0',
		q{SET allow_system_table_mods = on; UPDATE pg_type SET typstorage = 'e' WHERE typstorage = 'x'}
	) if $all;
	$node->safe_psql('template0', 'CREATE EXTENSION toast_policy');
	$node->append_conf('postgresql.conf', "default_table_access_method = toast_policy\n");
	$node->restart;

	my $out = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check)
	  . ($all ? '/toast_core_all' : '/toast_core');
	mkdir $out or die "could not create $out: $!";
	run_log(
		[
			"$regress/pg_regress", "--inputdir=$regress",
			"--dlpath=$regress", "--outputdir=$out",
			"--bindir=$bindir", '--host=' . $node->host,
			'--port=' . $node->port, "--schedule=$regress/parallel_schedule",
			'--max-concurrent-tests=20'
		]);

	my %ran = map { $_ => 1 }
	  slurp_file("$out/regression.out") =~ /^(?:not )?ok +\d+ +[-+] (\w+(?:\.\w+)*)/mg;
	my @results = grep { $ran{ basename($_, '.out') } } sort glob "$out/results/*.out";
	cmp_ok(scalar(@results), '>', 200, "$what: the regression tests ran");
	is(scalar(@results), scalar(keys %ran), "$what: each test has a result");

	my %lines = map { basename($_, '.out') => [ unexpected($all, $_) ] } @results;
	my (@strange, %count);
	for my $test (sort keys %lines)
	{
		for my $line (@{ $lines{$test} })
		{
			chomp $line;
			# Skip notices about columns that are added to tables of the access method.
			next
			  if $line =~
			  /^> (?:NOTICE: column "\w+" of table "\w+" is not governed by toast_policy|HINT: If the column holds large values, run SELECT toast_policy\.enable\(.*\)\.)$/;

			my $pattern = ($all ? $known_all{$test} : undef) // $known{$test};

			$count{$test}++;
			push @strange, "$test: $line" if !defined $pattern || $line !~ $pattern;
		}
	}
	is(join("\n", @strange), '', "$what: only known lines differ");
	delete $count{type_sanity} if $all;
	$count{$_} = $number{$_} for $all ? ('toast_chunks', 'alter_table') : ();
	is_deeply(\%count, \%number, "$what: the known number of lines differs")
	  or diag explain \%count;

	# Check that the tables really used the access method.
	is( $node->safe_psql('regression',
			<<'SQL'), $all ? 't|t|t' : 't|t|', "$what: the tables use the access method");
SELECT count(*) FILTER (WHERE amname = 'toast_policy') > 500, count(*) FILTER (WHERE amname = 'toast_policy') > 5 * count(*) FILTER (WHERE amname <> 'toast_policy'),
       (SELECT sum(compressed) > 0 FROM toast_policy.stats_rows())
FROM pg_class c JOIN pg_am a ON c.relam = a.oid WHERE relkind IN ('r', 'm') AND c.oid >= 16384
SQL
	like(
		$node->safe_psql(
			'regression', q{SELECT count(*) FROM pg_attribute JOIN pg_class c ON attrelid = c.oid
		WHERE attstorage = 'e' AND relam = (SELECT oid FROM pg_am WHERE amname = 'toast_policy')}),
		$all ? qr/^\d{3,}$/ : qr/^\d\d?$/,
		"$what: they are governed");

	# The tables that the tests leave behind can become heap tables, with the same rows.
	my $tables = <<'SQL';
SELECT format('SELECT %L, count(*), md5(string_agg(md5(t::text), %L ORDER BY md5(t::text))) FROM %s t', c.oid::regclass, '', c.oid::regclass)
FROM pg_class c WHERE relkind IN ('r', 'm') AND c.oid >= 16384 AND relispopulated AND relpersistence <> 't'
  AND relnamespace::regnamespace::text IN ('public', 'testxmlschema', 'temporal_test') ORDER BY c.oid::regclass::text
SQL
	my @queries = split /\n/, $node->safe_psql('regression', $tables);
	my $contents = sub {
		$node->safe_psql('regression', join '', map { "$_;\n" } @queries);
	};
	my $before = $contents->();
	cmp_ok($node->safe_psql('regression', 'SELECT toast_policy.disable_all()'),
		'>', 500, "$what: disable_all()");
	ok($contents->() eq $before, "$what: all tables read the same as heap");
	is( $node->safe_psql(
			'regression',
			q{SELECT count(*) FROM pg_class c JOIN pg_am a ON relam = a.oid WHERE amname = 'toast_policy'}
		),
		'0',
		"$what: no table of the access method is left");
	$node->safe_psql('regression', 'DROP EXTENSION toast_policy');
	$node->stop;
}

done_testing();
