# Test tools/venv.  It makes the environment of pinned Python packages once, and again
# when the pins change.  Test its messages if a package is not available.  The test
# makes the packages itself, as wheels, and uses no package index.
use strict;
use warnings FATAL => 'all';

use Digest::SHA;
use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my $wheels = "$dir/wheels";
my $python = "$dir/build/venv/bin/python";
mkdir $wheels or die "mkdir $wheels: $!";

# Make a wheel with one module, and the line that pins it.
sub wheel
{
	my ($version) = @_;
	my $path = "$wheels/densetest-$version-py3-none-any.whl";

	system_ok('/usr/bin/python3', '-c', <<'SCRIPT', $path, $version);
import sys, zipfile
path, version = sys.argv[1:]
info = f"densetest-{version}.dist-info"
with zipfile.ZipFile(path, "w") as file:
    file.writestr("densetest.py", f"version = '{version}'\n")
    file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: densetest\nVersion: {version}\n")
    file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    file.writestr(f"{info}/RECORD", "")
SCRIPT
	return
	  "densetest==$version --hash=sha256:"
	  . Digest::SHA->new(256)->addfile($path)->hexdigest . "\n";
}

sub venv { return run_tool($dir, 'tools/venv'); }

sub version
{
	my ($code, $out) = run_tool($dir, $python, '-c', 'import densetest; print(densetest.version)');
	return $out;
}

delete @ENV{ grep { /^(?:PIP|PYTHON)/ } keys %ENV };
local $ENV{PIP_NO_INDEX} = 1;
local $ENV{PIP_FIND_LINKS} = $wheels;
# These two settings must have no effect.
local $ENV{PIP_TARGET} = "$dir/elsewhere";
local $ENV{PYTHONPATH} = "$dir/elsewhere";

my ($one, $two) = (wheel('1.0'), wheel('2.0'));
write_file("$dir/tools/python-packages", "# a comment\n$one");
umask 077;
my ($code, $out, $err) = venv();
umask 022;
is($code, 0, 'the first run succeeds') or diag $err;
is($out, '', 'the first run prints nothing on stdout');
is(version(), "1.0\n", 'the package is installed');
my @private = grep { !((stat)[2] & 04) } split /\0/,
  (run_tool($dir, 'find', "$dir/build/venv", '!', '-type', 'l', '-print0'))[1];
is_deeply(\@private, [], 'every account can read the environment');
ok(!-e "$dir/elsewhere", 'the environment is in no other place');

my $inode = (stat $python =~ s{/bin/python$}{}r)[1];
($code, $out, $err) = venv();
is($code . $out . $err, '0', 'the second run prints nothing');
is((stat $python =~ s{/bin/python$}{}r)[1], $inode, 'the second run keeps the environment');

write_file("$dir/tools/python-packages", $two);
($code, $out, $err) = venv();
is($code, 0, 'a run with other pins succeeds') or diag $err;
is(version(), "2.0\n", 'the other version is installed');

write_file("$dir/tools/python-packages", $one =~ s/[0-9a-f]{64}/'0' x 64/er);
($code, $out, $err) = venv();
isnt($code, 0, 'a wrong checksum is an error');
like($err, qr/DO NOT MATCH THE HASHES/, 'the error names the wrong checksum');
is(version(), '', 'a package with a wrong checksum is not installed');

write_file("$dir/tools/python-packages", $one =~ s/1\.0/3.0/r);
($code, $out, $err) = venv();
isnt($code, 0, 'a package that is not available is an error');
like(
	$err,
	qr/^tools\/venv: error: could not download Python packages: .*densetest==3\.0.* \(hint: .*\)$/m,
	'the error names the package');
cmp_ok(scalar(split /\n/, $err), '<=', 2, 'the error is at most two lines');

# an index that does not answer
{
	delete local $ENV{PIP_NO_INDEX};
	delete local $ENV{PIP_FIND_LINKS};
	local $ENV{PIP_INDEX_URL} = 'http://127.0.0.1:1/simple';
	local $ENV{PIP_RETRIES} = 0;
	($code, $out, $err) = venv();
	isnt($code, 0, 'no network is an error');
	like(
		$err,
		qr/^tools\/venv: error: could not download Python packages: .* \(hint: is there a network,/m,
		'the error asks for a network');
	cmp_ok(scalar(split /\n/, $err), '<=', 2, 'the error is at most two lines');
}

# After a failed run, the next run must not take the unfinished environment for a finished one.
write_file("$dir/tools/python-packages", $one);
($code, $out, $err) = venv();
is($code, 0, 'the next run succeeds when the package is available') or diag $err;
is(version(), "1.0\n", 'the package is installed by the next run');

done_testing();
