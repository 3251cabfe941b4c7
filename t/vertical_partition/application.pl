# Run a web shop on plain tables and on split ones, and compare the results.  See
# PgDense::Application.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Application;

my ($major) = `pg_config --version` =~ /(\d+)/;

# Split off the wide columns that share no index or constraint with hot columns.  With the package,
# Django finds also its own table django_migrations.
my %cold = (
	shop_country => 'name',
	shop_category => 'name',
	shop_customer => 'phone,notes,preferences,tags',
	shop_product => 'subtitle,description,attributes',
	shop_order => 'street,city,ip',
	shop_orderline => 'text',
	shop_review => 'body',
	shop_job => 'payload,message',
	shop_counter => 'label',
	shop_setting => 'value',
	auth_user => 'password,first_name,last_name,email',
	auth_permission => 'name',
	django_session => 'session_data',
	django_migrations => 'applied');
my %method = (
	shop_counter => 'surrogate_key',
	shop_product => 'surrogate_key',
	shop_review => 'row_pointer');

# split() refuses a table that a view reads.
my $report = <<'SQL';
CREATE TEMP TABLE report AS SELECT pg_get_viewdef('shop_report') AS definition;
DROP VIEW shop_report;
SQL
my $report_again = q{SELECT format('CREATE VIEW shop_report AS %s', definition) FROM report \gexec};
my %modes = (
	split => {
		client => 'package',
		settings => [
			"session_preload_libraries = 'vertical_partition'",
			'vertical_partition.declare_keys = on'
		],
		sql => $report . join(
			'',
			map {
				"SELECT 'split', vertical_partition.split('$_', '{$cold{$_}}', '"
				  . ($method{$_} // 'shared_key') . "');\n"
			} sort keys %cold)
		  . $report_again,
		back => [
			"$report SELECT vertical_partition.merge(relation) FROM vertical_partition.status; $report_again",
			'merge()'
		],
		rebuilt => 1,
		changed => { '^split\|' => scalar(keys %cold) },
		still => 'SELECT count(*) = ' . keys(%cold) . ' FROM vertical_partition.status'
	},);

# Return the error, but with the name of the table instead of the name of its part.
sub error_of_table
{
	my ($error) = @_;

	return $error if ref $error ne 'HASH' || !defined $error->{table_name};
	return { %$error, table_name => $error->{table_name} =~ s/_(?:hot|cold)$//r };
}

# If a column of the table is an identity column, the column of the view has this default.
my $sequence = qr/^str nextval\('\w+_id_seq'::regclass\)$/;
my @differences = (
	{
		doc => 'the error names the part as its table',
		step => qr/^(?:writes|driver|declared|after \d+)\b/,
		hash => 1,
		same => \&error_of_table
	},
	{
		doc => 'find two tables and a view',
		step => qr/^(?:tried|migrations|Django's catalogs): (?!tables$)/,
		hash => 1,
		catalogs => 1
	},
	{
		doc => 'find two tables and a view',
		step => qr/^Django's catalogs: tables$/,
		catalogs => 1,
		# The test has renamed the table, but not its parts.
		same => sub {
			my %seen;
			[
				sort grep { !$seen{$_}++ }
				  map     { s/_(?:hot|cold)$//r =~ s/^str shop_preference$/str shop_setting/r }
				  @{ $_[0] }
			];
		}
	},
	{
		doc =>
		  'No column of the view is NOT NULL. An identity column of the table has a default in the view',
		# name, type, nullable, default
		step => qr/^catalogs: columns of /,
		same => sub {
			[ map { [ @$_[ 0, 1 ], ($_->[3] // '') =~ s/$sequence//r ] } @{ $_[0] } ]
		}
	},
	{
		doc =>
		  'No column of the view is NOT NULL. An identity column of the table has a default in the view',
		# name, null_ok, default, display size, precision, scale, field
		step => qr/^Django's catalogs: columns of /,
		catalogs => 1,
		same => sub {
			[ map { [ $_->[0], ($_->[2] // '') =~ s/$sequence//r, @$_[ 3 .. 6 ] ] } @{ $_[0] } ]
		}
	},
	{
		doc =>
		  'find only the primary key of the view, and none of its other constraints and indexes',
		# foreign keys, unique and check constraints, indexes
		step => qr/^catalogs: constraints of /,
		catalogs => 1,
		same => sub { $_[0][0] }
	},
	{
		doc => 'Any other `INCLUDING`, also `ALL`, is refused',
		step => qr/^tried: table like another$/,
		seen => qr/^\{"error":"NotSupportedError","sqlstate":"0A000"\}$/
	},
	{
		doc => 'Row-level triggers are refused',
		step => qr/^tried: trigger$/,
		seen => qr/^\{"error":"ProgrammingError","sqlstate":"42809"\}$/
	},);
# A server before 17 refuses MERGE into any view.
push @differences,
  {
	doc => 'On 15, the server refuses MERGE for all views',
	step => qr/^driver: \w+, prepare=\w+: merge$/,
	seen => qr/^\{"error":"\w+","sqlstate":"0A000"\}$/
  },
  {
	doc => 'On 15, the server refuses MERGE for all views',
	# All columns and rows must be the same, except the row that MERGE would have
	# changed.
	step => qr/(?:^|\w )data(?: \w+)*: shop_(?:setting|preference)$/,
	same => sub {
		[ $_[0][0], [ grep { "@$_[1, 2]" ne 'str user:5 str setting.1' } @{ $_[0][1] } ] ]
	}
  } if $major < 17;

test_application('vertical_partition', \%modes, \@differences);
