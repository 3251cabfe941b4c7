# PgDense::IndexAlign - functions that the tests of index_align share
#
# The functions find the stock server for comparisons, run another server on a data directory, and
# read the pages of indexes on disk.
package PgDense::IndexAlign;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use File::Spec;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT =
  qw(stock_path hand_over path_of page_count read_page write_bytes page_flags item_code run_sql fails
  wait_for_log_line);

my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/../..");
my ($major) = `pg_config --version` =~ /(\d+)/;

# stock_path() - return the installation of a stock server of the same release
sub stock_path
{
	my $path = "$top/build/$major/stock";

	ok(-x "$path/bin/postgres", 'a stock server to compare with') or BAIL_OUT("no $path");
	return $path;
}

# hand_over(NODE, NAME, PATH, [MOVE]) - return a new node NAME that runs the server installed in
# PATH (undef: the tested one) on a copy of NODE's data directory, or, if MOVE is true, on that
# directory itself
sub hand_over
{
	my ($node, $name, $path, $move) = @_;
	my $new = PostgreSQL::Test::Cluster->new($name, install_path => $path);

	mkdir dirname($new->data_dir);
	system_or_bail('rm', '-rf', $new->data_dir);
	system_or_bail($move ? 'mv' : ('cp', '-a'), $node->data_dir, $new->data_dir);
	unlink $new->data_dir . '/postmaster.pid';
	# Use the port and the socket of the new node.
	$new->append_conf('postgresql.conf',
		"port = @{[ $new->port ]}\nunix_socket_directories = '@{[ $new->host ]}'\n");
	return $new;
}

# path_of(NODE, RELATION[, DATABASE]) - return the path of a relation's file; the database is
# "postgres" if it is not given
sub path_of
{
	my ($node, $relation, $database) = @_;

	return $node->data_dir . '/'
	  . $node->safe_psql($database // 'postgres', "SELECT pg_relation_filepath('$relation')");
}

sub page_count
{
	my ($path) = @_;

	return (-s $path) / 8192;
}

sub read_page
{
	my ($path, $block) = @_;
	my $page;

	open my $file, '<:raw', $path or die "could not open $path: $!";
	seek $file, $block * 8192, 0 or die "could not seek in $path: $!";
	read($file, $page, 8192) == 8192 or die "could not read block $block of $path";
	close $file;
	return $page;
}

sub write_bytes
{
	my ($path, $offset, $bytes) = @_;

	open my $file, '+<:raw', $path or die "could not open $path: $!";
	seek $file, $offset, 0 or die "could not seek in $path: $!";
	print $file $bytes;
	close $file or die "could not write $path: $!";
	return;
}

# pd_flags of a page, and the code of its item alignment
sub page_flags { return unpack('S', substr($_[0], 10, 2)); }
sub item_code  { return page_flags($_[0]) >> 8 & 3; }

# run_sql(NODE, SQL[, DATABASE]) - return (exit code, stdout, stderr), with the codes of errors
sub run_sql
{
	my ($node, $sql, $database) = @_;

	return $node->psql($database // 'postgres',
		"\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n$sql");
}

# fails(NODE, SQL, PATTERN, NAME) - test that SQL raises the error and returns no row, and that the
# session goes on
sub fails
{
	my ($node, $sql, $pattern, $name) = @_;
	my ($code, $out, $err) = run_sql($node, $sql);

	like($err, $pattern, $name);
	is($out, '', "$name: no row");
	isnt($code, 2, "$name: the session goes on");
	return $err;
}

# wait_for_log_line(NODE, PATTERN, [OFFSET]) - wait until the log from OFFSET matches, or for a
# timeout; return the log from OFFSET
sub wait_for_log_line
{
	my ($node, $pattern, $offset) = @_;

	for my $i (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $log = -e $node->logfile ? substr(slurp_file($node->logfile), $offset // 0) : '';
		return $log if $log =~ $pattern;
		select undef, undef, undef, 0.1;
	}
	return substr(slurp_file($node->logfile), $offset // 0);
}

1;
