# Test toast_policy.compare().  For several kinds of data, store the table by each strategy, and
# compare its real size with an estimate.  compare() makes this estimate from a table that is stored
# in another way.  The recommended strategy must have the least cost, computed from the real pages
# and chunks.  The times in this cost come from the result of compare().  No test compares these
# times with measured times.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('compare');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nmax_wal_size = 4GB\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION toast_policy');

sub query { return $node->safe_psql('postgres', $_[0]); }

# SQL for a sequence of words that looks like text, for row number i
my $words =
  q{(SELECT string_agg((ARRAY['the','of','and','page','tuple','index','buffer','server','a','to','value','column',
  'transaction','snapshot','vacuum','is','in','that','relation','checkpoint','for','with','it','log','sequence','which'])
  [1 + (abs(hashint8(i * 7919 + j)) >> 3) % 26] || CASE j % 11 WHEN 0 THEN '. ' WHEN 5 THEN ', ' ELSE ' ' END, '' ORDER BY j)
  FROM generate_series(1, COUNT) j)};
my $random =
  q{(SELECT string_agg(sha256((i::text || ' ' || j)::bytea), '' ORDER BY j) FROM generate_series(1, COUNT) j)};
my $json =
  q{(SELECT jsonb_agg(jsonb_build_object('id', i * 100 + j, 'customer', 'customer ' || abs(hashint8(i * 31 + j)) % 5000,
  'amount', abs(hashint8(i + j)) % 100000 / 100.0, 'state', (ARRAY['new','paid','sent','closed'])[1 + (i + j) % 4],
  'token', substr(md5((i + j)::text), 1, 10), 'created', DATE '2026-01-01' + (i + j)::int % 700)) FROM generate_series(1, COUNT) j)};

sub counted { return $_[0] =~ s/COUNT/$_[1]/r; }

# Each kind of data has a type, a number of rows, and the expression of the value for row number i.
my %kinds = (
	json => [ 'text', 1500, counted("${json}::text", '30 + i % 50') ],
	jsonb => [ 'jsonb', 1500, counted($json, '10 + i % 25') ],
	text => [ 'text', 2000, counted($words, '500 + i % 1700') ],
	md5hex => [
		'text', 1500,
		q{(SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, 100 + i % 300) j)}
	],
	random => [ 'bytea', 1500, counted($random, '250 + i % 300') ],
	repeated => [ 'text', 1500, q{repeat('repeated ' || i % 10, (500 + i % 2000)::int)} ],
	mixed => [
		'text', 6000,
		"CASE i % 5 WHEN 0 THEN "
		  . counted($words, '100 + i % 900')
		  . q{ WHEN 1 THEN (SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, i % 200) j)
		  WHEN 2 THEN repeat('x', (i % 5000)::int) WHEN 3 THEN NULL ELSE 'short ' || i END}
	],
	short => [ 'text', 40000, q{rpad('value ' || i, 100, md5(i::text))} ],
	medium => [ 'text', 5000, counted($words, '150 + i % 350') ],);

# These are the strategies that this server supports, with the DDL of the table.
my $has_lz4 =
  query(q{SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'})
  eq 't';
my @codecs = ('pglz', $has_lz4 ? 'lz4' : ());
my @levels = $has_lz4 ? (0, 4, 9, 12) : ();

# Return the real size of a table: pages of the heap, of the TOAST table and of its index, number of
# chunks and of values out of line, and bytes of the column.
sub measure
{
	my ($table) = @_;
	my $toast = query(
		"SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '$table'::regclass AND reltoastrelid <> 0"
	);
	my $size = q{pg_relation_size(%s) / current_setting('block_size')::int};
	my %real = (index => 0, toast => 0, chunks => 0, externals => 0);

	$real{values} = query("SELECT count(v) FROM $table");
	$real{heap} = query(sprintf "SELECT $size", "'$table'");
	$real{bytes} = query("SELECT coalesce(sum(pg_column_size(v)), 0) FROM $table");
	if ($toast ne '')
	{
		$real{toast} = query(sprintf "SELECT $size", "'$toast'");
		$real{index} =
		  query(sprintf "SELECT $size FROM pg_index WHERE indrelid = '$toast'::regclass",
			'indexrelid');
		($real{chunks}, $real{externals}) = split /\|/,
		  query("SELECT count(*), count(DISTINCT chunk_id) FROM $toast");
	}
	$real{pages} = $real{heap} + $real{toast} + $real{index};
	return \%real;
}

# Compute the cost by which compare() decides, but from the real counts.
sub cost
{
	my ($real, $estimate) = @_;

	return 0.5 +
	  $estimate->{decompress_us} +
	  0.01 * $estimate->{compress_us} + 0.5 +
	  (3.0 * $real->{externals} +
		  0.76 * $real->{chunks} +
		  10.0 * (2 * $real->{heap} + $real->{toast})) /
	  $real->{values};
}

# Check that a number differs from the expected number by at most 10 %, or by at most $apart.
sub near
{
	my ($is, $should, $apart) = @_;

	return abs($is - $should) <= 0.1 * $should || abs($is - $should) <= $apart;
}

# Return the result of compare() as a hash of strategy, codec and level.
sub comparison
{
	my ($table, @arguments) = @_;
	my %result;

	for my $line (
		split /\n/,
		query(
			"SELECT concat_ws(' ', strategy, codec, level), * FROM toast_policy.compare("
			  . join(', ', "'$table'", "'v'", @arguments) . ')'))
	{
		my ($name, @fields) = split /\|/, $line;

		@{ $result{$name} }{
			qw(strategy codec level sampled raw_bytes stored_bytes chunks table_pages compress_us decompress_us read_us recommended reason)
		} = @fields;
	}
	return \%result;
}

# Build the table by one strategy, and return its name.
sub build
{
	my ($kind, $strategy, $codec, $level) = @_;
	my $table = join('_', $kind, $strategy, $codec, $level);
	my $storage = $strategy eq 'toast_policy' ? 'external' : $strategy;
	my $sql;

	if ($strategy =~ /^z/)
	{
		query(
			"CREATE TABLE $table (id int, note text, v $strategy($codec), flag bool); INSERT INTO $table SELECT * FROM $kind"
		);
		return $table;
	}
	$sql = "CREATE TABLE $table (LIKE $kind); ALTER TABLE $table ALTER v SET STORAGE $storage;";

	$sql .= "ALTER TABLE $table ALTER v SET COMPRESSION $codec;" if $codec ne 'none';
	$sql .=
	  "SELECT toast_policy.enable('$table', 'v'); SET toast_policy.lz4_level = "
	  . ($level eq '' ? 0 : $level) . ';'
	  if $strategy eq 'toast_policy';
	query("$sql INSERT INTO $table SELECT * FROM $kind");
	return $table;
}

# Compare an estimate with a table, and return the real size of the table.
sub compare
{
	my ($estimate, $table, $what) = @_;
	my $real = measure($table);
	my $counts = sprintf '%d of %d pages, %d of %d chunks, %d of %d bytes',
	  $estimate->{table_pages}, $real->{pages},
	  $estimate->{chunks}, $real->{chunks}, $estimate->{stored_bytes}, $real->{bytes};

	note sprintf '%-45s %s, us %.1f %.1f %.1f%s', $what, $counts,
	  @$estimate{qw(compress_us decompress_us read_us)},
	  $estimate->{recommended} eq 't' ? ' *' : '';
	ok( near($estimate->{table_pages}, $real->{pages}, 3)
		  && near($estimate->{chunks}, $real->{chunks}, 20)
		  && near($estimate->{stored_bytes}, $real->{bytes}, 1000),
		"$what: $counts");
	return $real;
}

# All kinds of data together take minutes, so test only some kinds by default.
my %usual = map { $_ => 1 } @ARGV ? $ARGV[0] : qw(json mixed random);
for my $kind (grep { $usual{$_} || (!@ARGV && $ENV{PGDENSE_SOAK}) } sort keys %kinds)
{
	my ($type, $rows, $expression) = @{ $kinds{$kind} };
	my %cost;

	# Store the values uncompressed, so that each strategy gets the values as an application would
	# send them.
	query(
		qq{
		CREATE TABLE $kind (id int, note text, v $type, flag bool);
		ALTER TABLE $kind ALTER v SET STORAGE EXTERNAL;
		INSERT INTO $kind SELECT i, 'note ' || i, $expression, i % 2 = 0 FROM generate_series(1::bigint, $rows) i}
	);
	my $comparison = comparison($kind);

	for my $strategy ('extended', 'main', 'external', 'toast_policy')
	{
		for my $codec ($strategy eq 'external' ? 'none' : @codecs)
		{
			for my $level ($strategy eq 'toast_policy'
				&& $codec eq 'lz4' ? @levels : $codec eq 'lz4' ? 0 : '')
			{
				my $name = join(' ', grep { $_ ne '' } $strategy, $codec, $level);
				my $table = build($kind, $strategy, $codec, $level);

				$cost{$name} =
				  cost(compare($comparison->{$name}, $table, "$kind, $name"), $comparison->{$name});
			}
		}
	}

	# The types add a small header to each value.
	my ($own) = $type eq 'text' ? 'ztext' : $type eq 'bytea' ? 'zbytea' : undef;
	for my $codec (defined $own
		&& query("SELECT to_regtype('$own') IS NOT NULL") eq 't' ? qw(lz4 snappy zstd) : ())
	{
		my $name = join(' ', $own, $codec, $codec eq 'lz4' ? 0 : $codec eq 'zstd' ? 3 : ());

		$cost{$name} =
		  cost(compare($comparison->{$name}, build($kind, $own, $codec, ''), "$kind, $name"),
			$comparison->{$name});
	}

	# Call compare() again on values that are stored in another way, and with a small sample.
	my $name = $has_lz4 ? 'toast_policy lz4 9' : 'toast_policy pglz';
	my $table = $name =~ s/ /_/gr;
	$table .= '_' unless $has_lz4;
	for my $from ('extended_pglz_', "toast_policy_pglz_", 'main_pglz_')
	{
		compare(comparison("${kind}_$from")->{$name}, "${kind}_$table", "$kind, $name from $from");
	}
	compare(comparison($kind, 300)->{$name}, "${kind}_$table", "$kind, $name from 300 rows");

	my ($pick) = grep { $comparison->{$_}{recommended} eq 't' } keys %$comparison;
	is(scalar(grep { $_->{recommended} eq 't' } values %$comparison),
		1, "$kind: one strategy is recommended");
	my ($least) = sort { $cost{$a} <=> $cost{$b} } keys %cost;
	note "$kind: recommended is $pick, and $least costs least";
	if (defined $cost{$pick})
	{
		cmp_ok(
			$cost{$pick}, '<=',
			1.1 * $cost{$least},
			"$kind: $pick costs little more than $least");
	}
	else
	{
		# compare() recommends ztext or zbytea.
		cmp_ok($comparison->{$pick}{read_us},
			'<=', $cost{$least}, "$kind: $pick costs less than $least");
	}
	query(
		join(';',
			map { "DROP TABLE $_" } split /\n/,
			query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE '$kind%'")));
}

#
# Tables with more rows and larger values than the sample reads
#
query(
	q{
	CREATE TABLE many (id int, v text);
	INSERT INTO many SELECT i, CASE WHEN i % 3 > 0 THEN repeat('many ' || i % 100, 1 + i % 400) END FROM generate_series(1, 120000) i;
	CREATE TABLE large (id int, v text);
	INSERT INTO large SELECT i, repeat(md5(i::text), 200000) || repeat('x', i * 100000) FROM generate_series(1, 6) i;
	ALTER TABLE large ALTER v SET STORAGE EXTERNAL;
	INSERT INTO large SELECT 7, repeat(md5('7'), 2000000);
	ALTER TABLE large ALTER v SET STORAGE EXTENDED});
my $many = comparison('many', 500);
is($many->{'extended pglz'}{sampled}, 500, 'the sample has no more rows than sample_rows');
compare($many->{'extended pglz'}, 'many', 'a part of many rows');
my $raw = query('SELECT sum(octet_length(v)) FROM many');
ok( near($many->{'extended pglz'}{raw_bytes}, $raw, 0),
	"raw bytes $many->{'extended pglz'}{raw_bytes} of $raw");
my $large = comparison('large');
is( $large->{'external none'}{raw_bytes},
	query('SELECT sum(octet_length(v)) FROM large'),
	'all bytes of large values are counted');
query(
	'CREATE TABLE large_copy (id int, v text); INSERT INTO large_copy SELECT id, v || $$$$ FROM large'
);
compare($large->{'extended pglz'}, 'large_copy', 'large values, judged by their beginning');

#
# compare() on a standby
#
query('CREATE UNLOGGED TABLE unlogged AS SELECT * FROM large');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $counts =
  q{SELECT strategy, codec, level, sampled, raw_bytes, stored_bytes, chunks, table_pages FROM toast_policy.compare('many', 'v')};
is($standby->safe_psql('postgres', $counts), query($counts), 'a standby gives the same comparison');
my ($rc, $out, $error) =
  $standby->psql('postgres', q{SELECT * FROM toast_policy.compare('unlogged', 'v')});
like(
	$error,
	qr/cannot access temporary or unlogged relations during recovery/,
	'an unlogged table cannot be read on a standby');
$standby->stop;

#
# A timeout cancels compare()
#
($rc, $out, $error) = $node->psql('postgres',
	q{SET statement_timeout = '20ms'; SELECT * FROM toast_policy.compare('many', 'v', 100000)});
like(
	$error,
	qr/canceling statement due to statement timeout/,
	'statement_timeout cancels compare()');

$node->stop;
done_testing();
