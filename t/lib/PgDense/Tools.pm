# PgDense::Tools - functions that the tests of the tools share
#
# A test of a tool runs the tool in a small checkout of its own, made of a copy
# of tools/ and of a "server release" of a few files, so that it takes seconds
# and never touches build/ of the checkout that is tested.
package PgDense::Tools;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use Digest::SHA;
use Exporter qw(import);
use File::Basename;
use File::Path qw(make_path);
use File::Temp;
use Test::More;

our @EXPORT =
  qw($top checkout run_tool start_tool is_clear_error write_file append_file write_program read_file release_tarball
  pin_release git_src system_ok can_mount);

our $top = abs_path(dirname(__FILE__) . '/../../..');

# The results of these tests depend on the locale, but neither on servers nor on the user's umask.
$ENV{LC_ALL} = 'C';
delete @ENV{qw(PG_SOURCES MAKEFLAGS MAKELEVEL PGDENSE_ACCOUNT)};

sub write_file
{
	my ($path, $content) = @_;
	make_path(dirname($path));
	open my $file, '>', $path or die "could not write $path: $!";
	print $file $content;
	close $file or die "could not write $path: $!";
}

# write_program(FILE, SCRIPT) - make a shell script that can take the place of a program
sub write_program
{
	my ($file, $script) = @_;
	write_file($file, "#!/bin/sh\n$script\n");
	chmod 0755, $file;
}

sub append_file
{
	my ($path, $content) = @_;
	open my $file, '>>', $path or die "could not write $path: $!";
	print $file $content;
	close $file or die "could not write $path: $!";
}

sub read_file
{
	my ($path) = @_;
	open my $file, '<', $path or die "could not read $path: $!";
	local $/;
	return scalar <$file>;
}

sub system_ok
{
	system(@_) == 0 or die "failed: @_";
}

# can_mount() - return true if the test can make mounts of its own, which needs root and which many
# containers do not allow
sub can_mount
{
	return $> == 0
	  && system('unshare --mount --propagation private mount -t tmpfs tmpfs /mnt 2> /dev/null') ==
	  0;
}

# checkout([DIR]) - make a fresh checkout with only the tools and the Makefile.  Without DIR, the
# checkout is removed at the end of the test.
sub checkout
{
	my ($dir) = @_;
	my $base = $ENV{TESTDIR} || "$top/build/check/tools";
	make_path($base);
	$dir //= File::Temp::tempdir('XXXXXX', DIR => $base, CLEANUP => 1);
	make_path($dir);
	chmod 0755, $dir;
	system_ok('cp', '-a', "$top/tools", "$top/Makefile", $dir);
	return $dir;
}

# start_tool(CHECKOUT, OUTPUT FOLDER, COMMAND...) - start a command in the background, with its
# output in the files "out" and "err" of the folder; return the process id
sub start_tool
{
	my ($dir, $to, @command) = @_;
	my $pid = fork() // die "fork: $!";

	return $pid if $pid;
	chdir $dir or die "chdir $dir: $!";
	# A shell cannot trap a signal that was ignored when the shell started.  In a background job,
	# SIGINT is ignored.
	$SIG{INT} = 'DEFAULT';
	open STDIN, '<', '/dev/null';
	open STDOUT, '>', "$to/out";
	open STDERR, '>', "$to/err";
	exec @command or exit 127;
}

# run_tool(DIR, COMMAND...) - run a command in DIR; return (exit code, stdout, stderr)
sub run_tool
{
	my ($dir, @command) = @_;
	my $log = File::Temp->newdir;
	my $pid = start_tool($dir, $log, @command);
	waitpid $pid, 0;
	return ($? & 127 ? 128 + ($? & 127) : $? >> 8, read_file("$log/out"), read_file("$log/err"));
}

# is_clear_error([CODE, STDOUT, STDERR], PATTERN, NAME) - test that a tool ended with an exit code
# other than 0, and wrote one line to stderr, which matches PATTERN
sub is_clear_error
{
	my ($result, $pattern, $name) = @_;
	my ($code, $out, $err) = @$result;
	my @lines = split /\n/, $err;
	subtest $name => sub {
		isnt($code, 0, 'exit code');
		is(scalar(@lines), 1, 'one line') or diag $err;
		like($err, $pattern, 'message');
	};
}

# release_tarball(PATH, VERSION, {FILE => CONTENT}) - make a tarball of files; return its sha256
sub release_tarball
{
	my ($path, $version, $files) = @_;
	my $tmp = File::Temp->newdir;
	foreach my $name (keys %$files)
	{
		write_file("$tmp/postgresql-$version/$name", $files->{$name});
		chmod 0755, "$tmp/postgresql-$version/$name"
		  if $files->{$name} =~ /^#!/;
	}
	make_path(dirname($path));
	# The files belong to another account, and everyone may write to them.  Unpacking must not keep
	# this owner and this mode.
	system_ok('tar', '-cjf', $path, '--owner=12345', '--group=12345', '--mode=a+rw', '-C', $tmp,
		"postgresql-$version");
	return Digest::SHA->new(256)->addfile($path)->hexdigest;
}

# pin_release(CHECKOUT, VERSION, SHA256) - write tools/pg-versions of the checkout, with this
# release for 17
sub pin_release
{
	my ($dir, $version, $sha256) = @_;
	write_file("$dir/tools/pg-versions",
		"17 $version postgresql-$version.tar.bz2 $sha256 stable\n");
}

# git_src(CHECKOUT, ARG...) - run git in the server source tree of the checkout as a developer
# would
sub git_src
{
	my ($dir, @args) = @_;
	my ($code, $out, $err) =
	  run_tool("$dir/build/17/src", 'git', '-c', 'safe.directory=*', '-c', 'user.name=Ada Example',
		'-c', 'user.email=ada@example.org', @args);
	die "git @args: $err" if $code != 0;
	return $out;
}

1;
