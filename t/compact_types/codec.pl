# Check the codecs of compact_text in a program that runs without a server.  gcc adds checks for
# memory errors and undefined behavior to the program (-fsanitize).  A second program is built with
# optimization, and without these checks.
#
# - The dictionaries have the CRCs that they had when they were frozen.
# - Each string is encoded to the same bytes as by a simple reference implementation.
# - Decoding returns the string that was encoded.
# - Decoding of any bytes neither crashes nor reads or writes out of bounds.
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

chomp(my $include = `$pg_config --includedir-server`);
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
	my ($program, @flags) = @_;
	my ($result, undef, $err) = run_program(
		qw(gcc -std=gnu99 -g -O1 -Wall -fno-strict-aliasing -fwrapv),
		@flags,
		"-I$top/compact_types",
		"-I$top",
		'-isystem',
		$include,
		"$top/t/compact_types/codec.c",
		"$top/t/compact_types/codec_server.c",
		"$top/compact_types/compact_text_codec.c",
		"$top/compact_types/compact_text_dictionary.c",
		'-o',
		"$dir/$program");

	diag $err if $err ne '';
	return $result;
}

is( build(
		'sanitized', '-DUSE_ASSERT_CHECKING',
		'-fsanitize=address,undefined', '-fno-sanitize-recover=all'),
	'ok',
	'the codec is built outside of a server');

my ($result, $out, $err) = run_program("$dir/sanitized", 'check');
is("$result$err", 'ok', 'the tables of the codec are right');
for my $dict (sort keys %crc)
{
	like($out, qr/^dictionary $dict crc $crc{$dict} /m, "dictionary $dict has the frozen CRC");
}

local $ENV{ASAN_OPTIONS} = 'detect_leaks=0';
($result, $out, $err) = run_program("$dir/sanitized", 'fuzz', $seed, $cases);
is("$result$err", 'ok', "strings and garbage are right, $cases cases, seed $seed");

# Optimization must not change the stored bytes.
is(build('optimized', qw(-O3)), 'ok', 'the codec is built with optimization');
($result, $out, $err) = run_program("$dir/optimized", 'fuzz', $seed, $cases);
is("$result$err", 'ok', 'strings and garbage are right with optimization');

done_testing();
