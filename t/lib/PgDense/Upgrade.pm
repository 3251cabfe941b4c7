# PgDense::Upgrade - functions that the tests of pg_upgrade share
#
# Most tests upgrade from the distribution's server to the tested server.  PGDENSE_OLD_BINDIR names
# the folder of the old server's programs.
package PgDense::Upgrade;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(start_old upgrade init_cluster pg_upgrade_command);

# Enable checksums on both sides, because both clusters must be alike, and initdb enables them by
# default from 18 on.
my @initdb = ('--encoding=UTF8', '--locale=C', '--data-checksums');

my ($old_bindir, $new_bindir, $old_major, $new_major);

# init_cluster(NAME, OPTION => VALUE...) - return a cluster for either side of an upgrade; its
# server is the one at the prefix install_path, or the tested server
sub init_cluster
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name,
		$options{install_path} ? (install_path => $options{install_path}) : ());
	$node->init(extra => [@initdb]);
	$node->append_conf('postgresql.conf', "fsync = off\n" . ($options{settings} // ''));
	return $node;
}

# Return the command that upgrades one cluster to another with the pg_upgrade in the given folder of
# programs.  Change to tmp_check first, because pg_upgrade leaves files in the current directory.
sub pg_upgrade_command
{
	my ($bindir, $old, $old_bindir, $new, $new_bindir, @options) = @_;

	chdir $PostgreSQL::Test::Utils::tmp_check or die "could not change directory: $!";
	# pg_upgrade of 15 always copies files, and does not know --copy.
	push @options, '--copy' if `"$bindir/pg_upgrade" --version` !~ / 15/;
	return [
		"$bindir/pg_upgrade", '--no-sync', '-d', $old->data_dir,
		'-D', $new->data_dir, '-b', $old_bindir,
		'-B', $new_bindir, '-s', $new->host,
		'-p', $old->port, '-P', $new->port,
		@options
	];
}

# Start an instance of the old server with a database "app".  Skip the test if there is no old
# server, or if the tested one is not newer.
sub start_old
{
	chomp($new_bindir = `pg_config --bindir`);
	$old_bindir = $ENV{PGDENSE_OLD_BINDIR} or plan skip_all => 'PGDENSE_OLD_BINDIR is not set';
	($old_major, $new_major) = map { `"$_/pg_config" --version` =~ /(\d+)/ ? $1 : 0 } $old_bindir,
	  $new_bindir;

	# If the tested server is the old server itself, there is nothing to upgrade to.
	plan skip_all => "server $new_major is not newer than $old_major: nothing to upgrade"
	  if $old_major >= $new_major;

	my $old = init_cluster('old', install_path => File::Spec->rel2abs("$old_bindir/.."));
	$old->start;
	$old->safe_psql('postgres', 'CREATE DATABASE app');
	return $old;
}

# Stop the old server's instance, upgrade it, and start the new instance, with further settings.
sub upgrade
{
	my ($old, $settings) = @_;

	# Minor releases of November 2026 mark each column with a reserved option.  pg_upgrade can copy
	# this option only to a server that knows it.  If the new server is an older minor release, not
	# even plain tables can be upgraded, so remove the option.
	my $marked = q{attoptions::text ~ 'pg_attver'};
	if ($old->safe_psql('app', "SELECT count(*) FROM pg_attribute WHERE $marked") > 0
		&& slurp_file("$new_bindir/postgres") !~ /pg_attver/)
	{
		note "removing the column option pg_attver, which server $new_major does not know";
		$old->safe_psql($_, "UPDATE pg_attribute SET attoptions = NULL WHERE $marked")
		  for ('app', 'postgres', 'template1');
	}
	$old->stop;

	my $new = init_cluster('new', settings => $settings);
	command_ok(pg_upgrade_command($new_bindir, $old, $old_bindir, $new, $new_bindir),
		"pg_upgrade from $old_major to $new_major");
	$new->start;
	return $new;
}

1;
