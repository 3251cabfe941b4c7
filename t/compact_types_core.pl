# PostgreSQL's own regression tests in a database with all compact types: what
# the types put into pg_catalog changes the answer to no query of core.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;

use CompactTypesSamples;
use File::Spec;
use PgDensePatch;
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
run_log([
	"$regress/pg_regress", "--inputdir=$regress", "--dlpath=$regress", "--outputdir=$out",
	"--bindir=$bindir", '--host=' . $node->host, '--port=' . $node->port,
	"--schedule=$regress/parallel_schedule", '--max-concurrent-tests=20',
	map { "--load-extension=$_" } @extensions ]);

# The files that pg_regress writes say what differs.
my $diffs = -e "$out/regression.diffs" ? slurp_file("$out/regression.diffs") : '';
my $log = -e "$out/regression.out" ? slurp_file("$out/regression.out") : '';
my @failed = $log =~ /^not ok +\d+ +[-+] (\w+)/mg;
my $passed = () = $log =~ /^ok +\d+ +[-+] /mg;

note "$passed tests passed";
cmp_ok($passed, '>', 200, 'core\'s tests were run');

# Three tests differ, for known reasons; what they have more is looked at below.  One lists
# what is in the catalogs, one the event triggers, and one the types that are called int_,
# of which int1 is one.  From 18 on another one shows the last of the functions called abs.
my ($major) = `pg_config --version` =~ /(\d+)/;
my $known = ($major >= 18 ? 'btree_index ' : '') . 'collate.icu.utf8 event_trigger opr_sanity';
my %section = $diffs =~ m{^diff \S+ \S+/expected/([\w.]+)\.out \S+\n(.*?)(?=^diff |\z)}msg;
is(join(' ', sort keys %section), $known, 'only the tests that are known to differ do, and they do')
  or diag substr($diffs, 0, 20000);
is(scalar(keys %section), scalar(@failed), 'all differences were looked at');

# What they have more must be of the compact types: a number that is
# the OID of one of their objects, an operator of the families' own (#=#), the
# name of a type, family or class; the families lack pairs of the types that
# stand in for literals and operands.
my %members = map { $_ => 1 } split /\n/, $node->safe_psql('regression', <<'SQL');
SELECT d.objid FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE d.deptype = 'e' AND e.extname ~ '^compact_'
SQL
my (%more, %less);
for my $line (map { split /\n/ } values %section)
{
	next if $line !~ /^([-+])(.*)/ || $line =~ /^(---|\+\+\+) \//;
	my ($sign, $text) = ($1, $2);

	# columns are as wide as their widest value, and as many as there are rows
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
is(join("\n", sort keys %less), $major >= 18 ? 'abs | 1700 | 11' : '', 'nothing of core is missing');
my $scalars = join '|', split /\n/, $node->safe_psql('regression', <<'SQL');
SELECT t.typname FROM pg_type t JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'compact_types' AND t.typname ~ '^(u?int|seconds)\d'
SQL
like($scalars, qr/uint1/, 'there are narrow scalars');
# The families have hash functions of varchar that are those of text.
my @foreign = grep {
	$_ ne 'text | character varying' && !/(^| )#[-+*\/%<>=]+#( |$)/ && !/(^| )(compact_\w+(\.\w+)?|$scalars)( |$)/ &&
	  !/operator family "(integer|seconds\w*|compact_decimal\w+)_ops" of access method \w+ is missing cross-type/ && !grep { $members{$_} } /\b(\d{5,})\b/g
} sort keys %more;
is(join("\n", @foreign), '', 'what is new is of the compact types');
cmp_ok(scalar(keys %more), '>', 20, 'there is something new');

is($node->safe_psql('regression', q{SELECT count(*) FROM pg_extension WHERE extname ~ '^compact_'}),
	scalar(@extensions), 'the types were there');

$node->stop;
done_testing();
