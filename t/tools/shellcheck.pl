# Check every shell script with shellcheck, at its default severity.
use strict;
use warnings FATAL => 'all';

use File::Find;
use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

# the scripts of a directory: files that begin with "#!" and name a shell, and files
# that end in .sh
sub scripts
{
	my ($dir) = @_;
	my @found;

	find(
		{
			no_chdir => 1,
			preprocess => sub {
				sort grep { !/^(?:\.git|build|results_\w+|output_iso|tmp_check|__pycache__)$/ } @_;
			},
			wanted => sub {
				return if -l $_ || !-f $_;
				open my $file, '<:raw', $_ or die "could not open $_: $!";
				my $line = readline $file // '';
				push @found, $_ if /\.sh$/ || $line =~ m{^#!.*\b(?:ba|da)?sh\b};
			},
		},
		$dir);
	return @found;
}

sub shellcheck { return run_tool($top, 'shellcheck', '--color=never', '--format=gcc', @_); }

my ($code, $out) = run_tool($top, 'shellcheck', '--version');
if ($code != 0)
{
	fail('shellcheck is installed');
	diag('shellcheck was not found, run "tools/deps test"');
	done_testing();
	exit;
}

my @scripts = scripts($top);
cmp_ok(scalar(@scripts), '>=', 14, 'the scripts are found') or diag "@scripts";
foreach my $name ('.ci/run', 'tools/check', 'tools/common.sh', 'tools/run-unprivileged')
{
	ok((grep { $_ eq "$top/$name" } @scripts), "$name is among the scripts");
}
foreach my $script (@scripts)
{
	($code, $out) = shellcheck($script);
	is($out . $code, '0', $script =~ s{^\Q$top\E/}{}r);
}

# Check that the test can fail, both in tools/, which has settings for shellcheck, and elsewhere.
my $dir = checkout();
write_file("$dir/tools/bad",
	"#!/usr/bin/env bash\n. \"\$(dirname \"\$0\")/common.sh\"\nrm -rf \$top/\$1\n");
write_file("$dir/other/bad.sh", "#!/bin/sh\necho \$1\n");
is_deeply(
	[ grep { /bad/ } scripts($dir) ],
	[ "$dir/other/bad.sh", "$dir/tools/bad" ],
	'scripts with a defect are found');
foreach my $script ("$dir/tools/bad", "$dir/other/bad.sh")
{
	($code, $out) = shellcheck($script);
	is($code, 1, 'a variable without quotes is a failure');
	like($out, qr/: note: Double quote .*\[SC2086\]/, 'the output names the defect');
}

done_testing();
