# Run PostgreSQL's own regression tests in a database with all compact types.  The objects of these
# types in pg_catalog must not change the result of any query of core.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use File::Spec;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $regress = core_tests();
my ($bindir) = `pg_config --bindir` =~ /(.*)/;

my $node = PostgreSQL::Test::Cluster->new('core');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
max_connections = 50
log_statement = none
session_preload_libraries = 'compact_types'
CONF
$node->start;
$node->safe_psql('template1', join '', map { "CREATE EXTENSION $_;\n" } @extensions);

my $out = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check) . '/core';
mkdir $out or die "could not create $out: $!";
run_log(
	[
		"$regress/pg_regress", "--inputdir=$regress",
		"--dlpath=$regress", "--outputdir=$out",
		"--bindir=$bindir", '--host=' . $node->host,
		'--port=' . $node->port, "--schedule=$regress/parallel_schedule",
		'--max-concurrent-tests=20', map { "--load-extension=$_" } @extensions
	]);

# Read the differences from the files that pg_regress writes.
my $diffs = -e "$out/regression.diffs" ? slurp_file("$out/regression.diffs") : '';
my $log = -e "$out/regression.out" ? slurp_file("$out/regression.out") : '';
my @failed = $log =~ /^not ok +\d+ +[-+] (\w+)/mg;
my $passed = () = $log =~ /^ok +\d+ +[-+] /mg;

note "$passed tests passed";
cmp_ok($passed, '>', 200, 'more than 200 tests of core passed');

# Four tests differ, for known reasons.  Their additional lines are checked below.  One test lists
# the catalogs, one lists the event triggers, one lists the operator families of SP-GiST, and one
# lists the types whose names are LIKE 'int_', such as int1.  From 18 on, another test shows the last of the functions with the name abs.  If
# there is a type int3, the test "regproc" differs, too, because it expects no type of this name.
my ($major) = `pg_config --version` =~ /(\d+)/;
my $int3 = $node->safe_psql('regression', q{SELECT to_regtype('int3')});
my $known = ($major >= 18 ? 'btree_index ' : '') . 'collate.icu.utf8 event_trigger opr_sanity psql';
$known .= ' regproc' if $int3;
my %section = $diffs =~ m{^diff \S+ \S+/expected/([\w.]+)\.out \S+\n(.*?)(?=^diff |\z)}msg;
is(join(' ', sort keys %section), $known, 'exactly the known tests differ')
  or diag substr($diffs, 0, 20000);
is(scalar(keys %section), scalar(@failed), 'the differences of all failed tests were checked');

# The differences of "regproc" are two results, which show the type and no error.
is( join("\n", (delete $section{regproc} // '') =~ /^[-+](?!--|\+\+) *(\w.*?) *$/mg),
	$int3
	? "ERROR:  type \"int3\" does not exist\nLINE 1: SELECT regtype('int3');\nregtype\nint3\nint3"
	: '',
	'regproc differs by the type int3 only');

# Each additional line must be about the compact types.  Such a line has the OID of one of their
# objects, an operator of their families (#=#), or the name of one of their types, families or
# classes.  Other lines say that the families lack operators for pairs of stand-ins (the internal
# types that literals and operands get).
my %members = map { $_ => 1 } split /\n/, $node->safe_psql('regression', <<'SQL');
SELECT d.objid FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE d.deptype = 'e' AND e.extname ~ '^compact_'
SQL
my (%more, %less);
for my $line (map { split /\n/ } values %section)
{
	next if $line !~ /^([-+])(.*)/ || $line =~ /^(---|\+\+\+) \//;
	my ($sign, $text) = ($1, $2);

	# Ignore spaces and row counts, because columns are as wide as their widest value, and the
	# number of rows differs.
	$text =~ s/\s+/ /g;
	$text =~ s/^ | $//g;
	next if $text =~ /^[-+ ]*$/ || $text =~ /^\(\d+ rows?\)$/;
	$sign eq '+' ? $more{$text}++ : $less{$text}++;
}
for my $text (keys %less)
{
	next if ($more{$text} // 0) < $less{$text};
	$more{$text} -= delete $less{$text};
	delete $more{$text} if !$more{$text};
}
is(join("\n", sort keys %less), $major >= 18 ? 'abs | 1700 | 11' : '',
	'no line of core is missing');
my $scalars = join '|', split /\n/, $node->safe_psql('regression', <<'SQL');
SELECT t.typname FROM pg_type t JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'compact_types' AND t.typname ~ '^(u?int|seconds)\d'
SQL
like($scalars, qr/uint1/, 'there are narrow scalars');
# The families use the hash functions of text for varchar.
my @foreign = grep {
		 $_ ne 'text | character varying'
	  && !/(^| )(##?)[-+*\/%<>=]+\2( |$)/
	  && !/(^| )(compact_\w+(\.\w+)?|$scalars)( |$)/
	  && !
	  /operator family "(integer|seconds\w*|compact_decimal\w+|uint8)_ops" of access method \w+ is missing cross-type/
	  && !grep { $members{$_} }
	  /\b(\d{5,})\b/g
} sort keys %more;
is(join("\n", @foreign), '', 'all additional lines are of the compact types');
cmp_ok(scalar(keys %more), '>', 20, 'there are more than 20 additional lines');

is( $node->safe_psql(
		'regression', q{SELECT count(*) FROM pg_extension WHERE extname ~ '^compact_'}),
	scalar(@extensions),
	'all extensions were installed');

$node->stop;
done_testing();
