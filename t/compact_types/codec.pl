# Check the codecs of compact_text and of trained_textN in programs that run without a server.  gcc
# adds checks for memory errors and undefined behavior to the programs (-fsanitize).  Each program
# is built a second time, with optimization and without these checks.
#
# The program codec.c:
# - The dictionaries have the CRCs that they had when they were frozen.
# - Each string is encoded to the same bytes as by a simple reference implementation.
# - Decoding returns the string that was encoded.
# - Values compare like their strings, also values of trained_textN.
# - Decoding of any bytes neither crashes nor reads or writes out of bounds.
#
# The program trained_codec.c:
# - Encodings with a trained symbol table are those that may never change.
# - Each string is encoded to the same bytes as by a simple reference implementation.
# - A key for sorting is that of a simple reference implementation, and is ordered like its string.
# - Any table that is not valid is rejected.
# - A trained table keeps the limits that were given to the training.
# - The largest tables need only so much memory.
#
# PGDENSE_FUZZ_CASES is the number of strings (default 2000).  PGDENSE_FUZZ_SEED is the random seed,
# which the test prints.
use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename;
use File::Temp;
use IPC::Run;
use Test::More;

my $cases = $ENV{PGDENSE_FUZZ_CASES} || 2000;
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
my $top = $ENV{PGDENSE_TOP} || abs_path(dirname(__FILE__) . '/../..');
my $pg_config = $ENV{PG_CONFIG} || 'pg_config';

# These CRCs must never change, because stored values depend on every symbol and on its place.
my %crc = (
	latin => '51879BB5',
	cjk => '8DB5677B',
	cyrillic => '95A03868');

# The C files of each program.
my @common = map { "$top/t/compact_types/$_.c" } qw(codec_server codec_common);
my %sources = (
	codec => [
		"$top/t/compact_types/codec.c",
		map { "$top/compact_types/$_.c" }
		  qw(compact_text_codec compact_text_dictionary compact_trained_codec compact_trained_order)
	],
	trained_codec => [
		"$top/t/compact_types/trained_codec.c",
		map { "$top/compact_types/$_.c" }
		  qw(compact_trained_codec compact_trained_order compact_trained_train)
	]);

# What the programs do with strings, and the name of the check.
my %fuzz = (
	codec => [ [ [ 'fuzz', $seed, $cases ], 'strings and garbage are right' ] ],
	trained_codec => [
		[ ['golden'], 'what may never change has not changed' ],
		[ [ 'fuzz', $seed, $cases ], 'strings, garbage and mutated tables are right' ],
		[ [ 'train', $seed, $cases ], 'trained tables are right' ],
		[ [ 'nasty', $seed ], 'large tables are right and need little memory' ]
	]);

sub config
{
	chomp(my $value = `$pg_config --$_[0]`);
	return $value;
}

my $include = config('includedir-server');

# libpgport has the CRC and qsort().  Packages of a distribution have it beside the server's
# modules.
my ($libpgport) = grep { -e } map { config($_) . '/libpgport.a' } qw(pkglibdir libdir);
my $dir = File::Temp::tempdir(CLEANUP => 1);

sub run_program
{
	my (@command) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err);
	return ($? == 0 ? 'ok' : "failed ($?)", $out, $err);
}

# Do not use the flags of the server, because its headers have warnings with some of them.
sub build
{
	my ($program, $kind, @flags) = @_;
	my ($result, undef, $err) = run_program(
		qw(gcc -std=gnu99 -g -O1 -Wall -fno-strict-aliasing -fwrapv -D_GNU_SOURCE), @flags,
		"-I$top/compact_types", "-I$top",
		'-isystem', $include,
		@{ $sources{$program} }, @common,
		$libpgport, '-o',
		"$dir/$program.$kind");

	diag $err if $err ne '';
	return $result;
}

ok(defined $libpgport, 'the server has libpgport.a') or BAIL_OUT('libpgport.a is missing');
local $ENV{ASAN_OPTIONS} = 'detect_leaks=0';
for my $program (sort keys %sources)
{
	is( build(
			$program, 'sanitized',
			'-DUSE_ASSERT_CHECKING', '-fsanitize=address,undefined',
			'-fno-sanitize-recover=all'),
		'ok',
		"$program: the program is built outside of a server");

	# Optimization must not change the stored bytes.
	is(build($program, 'optimized', '-O3'), 'ok', "$program: the program is built with -O3");
	for my $kind (qw(sanitized optimized))
	{
		for my $run (@{ $fuzz{$program} })
		{
			my ($arguments, $name) = @$run;
			my ($result, undef, $err) = run_program("$dir/$program.$kind", @$arguments);

			is("$result$err", 'ok', "$program $kind: $name, $cases cases, seed $seed");
		}
	}
}

my ($result, $out, $err) = run_program("$dir/codec.sanitized", 'check');
is("$result$err", 'ok', 'the tables of the codec are right');
for my $dict (sort keys %crc)
{
	like($out, qr/^dictionary $dict crc $crc{$dict} /m, "dictionary $dict has the frozen CRC");
}

done_testing();
