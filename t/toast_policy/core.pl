# PostgreSQL's own regression tests with every table under access method
# toast_policy: first with the columns that the tests make EXTERNAL governed, then
# with all columns governed, since all types are EXTERNAL by default.  The answers
# are core's own, sizes and compression methods included, in both cases, except for
# a few lines that are looked at here.
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

# What a line of the tests' output is worth here: tables are as wide as their
# widest value and as long as they have rows, and both may be due to a line that
# is looked at by itself.  Where all columns are governed, external is what
# extended is elsewhere.
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

# The lines that make the difference between two files, as diff marks them
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

# The smallest difference between a test's result and what is expected of it
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

# Lines that may differ, by test
my $toast_am = qr/^> (table|materialized view) \w+ \| access method toast_policy \| n$/;
my %known = (
	# the access method, and the event trigger, are in the catalogs
	create_am => qr/^> toast_policy \| toast_policy\.handler \| t$/,
	psql => qr/^> toast_policy \| Table( \| toast_policy\.handler \| [\w ]+)?$/,
	event_trigger => qr/^> toast_policy_guard \| event trigger /,
	# tables depend on it, as on any that is not heap
	create_index => $toast_am,
	# a value in an EXTERNAL column is so long that it goes out of line when raw
	strings => qr/^(< f|> t)$/,
	misc_functions => qr/^(< t \| t|> t \| f)$/,
	# the keys of an index on an EXTERNAL column are compressed
	alter_table => qr/^[<>] a \| text \| yes \| a \| (external|extended) \|$/,
	# it lists operators and classes; those of ztext and zbytea are new
	opr_sanity => qr/^> (#[<>=]+# \| #[<>=]+#|\d+ \| \d \| (#[<>=]+#|\d{5,})|\| z(text|bytea)_ops \| z(text|bytea)_ops \| z(text|bytea))$/,
	# the server patch of the same rule shows that it leaves EXTERNAL columns alone
	toast_chunks => qr/^[<>] \d \| \d+ \|( pglz)? \| \d+ \| \d+ \| t$/,
);
my %number = (create_am => 1, psql => 4, event_trigger => 1, create_index => 8, strings => 2, misc_functions => 2, opr_sanity => 39,
	toast_chunks => 8, alter_table => 2);

# With all types EXTERNAL, the one lists every column of the system catalogs, and
# the other is about EXTENDED columns.
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

	# pg_regress makes its database of template0.
	$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');
	$node->safe_psql('template0', q{SET allow_system_table_mods = on; UPDATE pg_type SET typstorage = 'e' WHERE typstorage = 'x'})
	  if $all;
	$node->safe_psql('template0', 'CREATE EXTENSION toast_policy');
	$node->append_conf('postgresql.conf', "default_table_access_method = toast_policy\n");
	$node->restart;

	my $out = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check) . ($all ? '/toast_core_all' : '/toast_core');
	mkdir $out or die "could not create $out: $!";
	run_log([
		"$regress/pg_regress", "--inputdir=$regress", "--dlpath=$regress", "--outputdir=$out",
		"--bindir=$bindir", '--host=' . $node->host, '--port=' . $node->port,
		"--schedule=$regress/parallel_schedule", '--max-concurrent-tests=20' ]);

	my %ran = map { $_ => 1 } slurp_file("$out/regression.out") =~ /^(?:not )?ok +\d+ +[-+] (\w+(?:\.\w+)*)/mg;
	my @results = grep { $ran{ basename($_, '.out') } } sort glob "$out/results/*.out";
	cmp_ok(scalar(@results), '>', 200, "$what: core's tests were run");
	is(scalar(@results), scalar(keys %ran), "$what: all of them have a result");

	my %lines = map { basename($_, '.out') => [ unexpected($all, $_) ] } @results;
	my (@strange, %count);
	for my $test (sort keys %lines)
	{
		for my $line (@{ $lines{$test} })
		{
			chomp $line;
			# what is said of columns that are added to these tables
			next if $line =~ /^> (?:NOTICE: column "\w+" of table "\w+" is not governed by toast_policy|HINT: If it holds large values: SELECT toast_policy\.enable\(.*\)\.)$/;

			my $pattern = ($all ? $known_all{$test} : undef) // $known{$test};

			$count{$test}++;
			push @strange, "$test: $line" if !defined $pattern || $line !~ $pattern;
		}
	}
	is(join("\n", @strange), '', "$what: no line differs but those that are known to");
	delete $count{type_sanity} if $all;
	$count{$_} = $number{$_} for $all ? ('toast_chunks', 'alter_table') : ();
	is_deeply(\%count, \%number, "$what: as many as are known to") or diag explain \%count;

	# It was the access method that did all this.
	is($node->safe_psql('regression', <<'SQL'), $all ? 't|t|t' : 't|t|', "$what: the tables were the access method's");
SELECT count(*) FILTER (WHERE amname = 'toast_policy') > 500, count(*) FILTER (WHERE amname = 'toast_policy') > 5 * count(*) FILTER (WHERE amname <> 'toast_policy'),
       (SELECT sum(compressed) > 0 FROM toast_policy.stats_rows())
FROM pg_class c JOIN pg_am a ON c.relam = a.oid WHERE relkind IN ('r', 'm') AND c.oid >= 16384
SQL
	like($node->safe_psql('regression', q{SELECT count(*) FROM pg_attribute JOIN pg_class c ON attrelid = c.oid
		WHERE attstorage = 'e' AND relam = (SELECT oid FROM pg_am WHERE amname = 'toast_policy')}),
		$all ? qr/^\d{3,}$/ : qr/^\d\d?$/, "$what: they are governed");

	# What the tests leave behind can be given back, and read as heap's.
	my $tables = <<'SQL';
SELECT format('SELECT %L, count(*), md5(string_agg(md5(t::text), %L ORDER BY md5(t::text))) FROM %s t', c.oid::regclass, '', c.oid::regclass)
FROM pg_class c WHERE relkind IN ('r', 'm') AND c.oid >= 16384 AND relispopulated AND relpersistence <> 't'
  AND relnamespace::regnamespace::text IN ('public', 'testxmlschema', 'temporal_test') ORDER BY c.oid::regclass::text
SQL
	my @queries = split /\n/, $node->safe_psql('regression', $tables);
	my $contents = sub { $node->safe_psql('regression', join '', map { "$_;\n" } @queries) };
	my $before = $contents->();
	cmp_ok($node->safe_psql('regression', 'SELECT toast_policy.disable_all()'), '>', 500, "$what: disable_all()");
	ok($contents->() eq $before, "$what: all tables read the same as heap's");
	is($node->safe_psql('regression', q{SELECT count(*) FROM pg_class c JOIN pg_am a ON relam = a.oid WHERE amname = 'toast_policy'}),
		'0', "$what: none is left");
	$node->safe_psql('regression', 'DROP EXTENSION toast_policy');
	$node->stop;
}

done_testing();
