# Differential fuzzing of the access method.  Random rows have one to six columns of text, bytea and
# jsonb, of random sizes and compressibility.  INSERT, COPY, upsert, UPDATE, MERGE and recompress()
# write them into a table of the access method, and into a heap table with EXTENDED columns (the
# twin).
#
#	always		every value is the same in both tables, also after recompress() and disable()
#	as core		with min_saved_chunks = 0 and early_abort = off, every value takes as many
#				bytes, with the same compression method, as in the twin
#	early_abort off	a value takes less than one chunk more than in the twin
#	default		no value is compressed out of line unless this saves a chunk
#
# PGDENSE_FUZZ_CASES is the number of rows (default 2000).  PGDENSE_FUZZ_SEED is the random seed,
# which the test prints.
use strict;
use warnings FATAL => 'all';
use utf8;

use Encode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = $ENV{PGDENSE_FUZZ_CASES} || 2000;
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
my $batch = 125;
note "seed $seed, $cases rows";

my $node = PostgreSQL::Test::Cluster->new('fuzz');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION toast_policy');
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);

# Set the seed again, because the code above used random numbers itself.
srand($seed);

sub choose { return $_[ int(rand(@_)) ]; }

# All values come from these sources: incompressible text, and text of several other kinds.
my @alphabet = ('A' .. 'Z', 'a' .. 'z', '0' .. '9', '+', '/');
my $noise = join '', map { $alphabet[ int(rand(64)) ] } 1 .. 300_000;
my $hex = join '', map { sprintf '%x', int(rand(16)) } 1 .. 300_000;
my $digits = join '', map { int(rand(10)) } 1 .. 300_000;
my @words = map { substr($noise, $_ * 11, 2 + $_ % 9) } 1 .. 300;
my $words = join ' ', map { choose(@words) } 1 .. 50_000;
my $unicode = join '', map { choose('é', 'ß', '表', '東', 'x', 'ñ') } 1 .. 20_000;

# Choose sizes near the limits more often than others.
sub random_size
{
	my $kind = rand();

	return int(rand(40)) if $kind < 0.15;
	return int(rand(2500)) if $kind < 0.45;
	return 1990 * (1 + int(rand(6))) + int(rand(60)) if $kind < 0.6;
	return 4090 + int(rand(12)) if $kind < 0.65;
	return int(rand(9000)) if $kind < 0.85;
	return int(rand(40_000)) if $kind < 0.98;
	return int(rand(250_000));
}

sub cut
{
	my ($source, $size) = @_;
	my $result = substr($source, int(rand(length($source))), $size);

	$result .= substr($source, 0, $size - length($result)) while length($result) < $size;
	return $result;
}

sub random_text
{
	my $size = random_size();
	my $kind = int(rand(8));

	return choose('x', 'ab', 'é') x $size if $kind == 0;
	return cut($noise, $size) if $kind == 1;
	return cut($hex, $size) if $kind == 2;
	return cut($digits, $size) if $kind == 3;
	return cut($words, $size) if $kind == 4;
	return cut($unicode, int($size / 2)) if $kind == 5;
	my $part = int($size * choose(0.05, 0.1, 0.3, 0.5, 0.9, 0.98));
	return cut($noise, $part) . ('y' x ($size - $part)) if $kind == 6;
	return cut($words, $size - $part) . cut($noise, $part);
}

sub random_value
{
	my ($type) = @_;

	return '\N' if rand() < 0.1;
	return random_text() if $type eq 'text';
	return sprintf(
		'{"k": "%s", "n": [%s], "t": "%s"}',
		random_text(),
		join(',', map { int(rand(1e6)) } 0 .. rand(20)),
		'z' x rand(3000)) if $type eq 'jsonb';
	return '\\\\x' . unpack('H*', encode('UTF-8', random_text())) if rand() < 0.5;
	return '\\\\x' . cut($hex, 2 * random_size());
}

my %failures;

sub check
{
	my ($what, $result, $context, $sql) = @_;

	$failures{$what} //= 0;
	return if $result eq '0';
	$failures{$what}++;
	return if $failures{$what} > 3;
	diag "$what: $result\n$context";
	note $sql;
}

my ($batches, $compared, $compressed) = (0, 0, 0);
for (my $done = 0; $done < $cases; $done += $batch)
{
	my $mode = ('core', 'default', 'no abort', 'random')[ ($done / $batch) % 4 ];
	my @types = map { choose('text', 'bytea', 'jsonb') } 0 .. rand(6);
	my @columns = map { "c$_" } 0 .. $#types;
	# Some columns are not under the policy, but they also count for the size of a row.
	my %ungoverned = map { $_ => choose('EXTENDED', 'MAIN') }
	  grep { rand() < 0.2 } @columns[ 1 .. $#columns ];
	my @governed = grep { !$ungoverned{$_} } @columns;
	my $exact = !grep { $_ eq 'EXTENDED' } values %ungoverned;
	my $definition = join ', ', 'id int PRIMARY KEY', 'x int',
	  map { "c$_ $types[$_] COMPRESSION " . choose('pglz', 'lz4') } 0 .. $#types;
	my $target = rand() < 0.7 ? 2032 : choose(3000, 4080, 8160);
	my @settings;

	push @settings, 'toast_policy.min_saved_chunks = 0', 'toast_policy.early_abort = off',
	  'toast_policy.min_size = ' . choose(0, 2000, 4096, 10000)
	  if $mode eq 'core';
	push @settings, 'toast_policy.early_abort = off' if $mode eq 'no abort';
	push @settings, 'toast_policy.min_saved_chunks = ' . int(rand(6)),
	  'toast_policy.min_saving = ' . rand(), 'toast_policy.early_abort = ' . choose('on', 'off'),
	  'toast_policy.min_size = ' . int(rand(10_000)), 'toast_policy.lz4_level = ' . int(rand(13)),
	  'toast_policy.recompress_source = ' . choose('on', 'off')
	  if $mode eq 'random';
	my $settings = join '', map { "SET $_;\n" } @settings;
	my $context =
		"rows from $done, $mode, $definition, target $target, ungoverned "
	  . join(' ', %ungoverned)
	  . "\n$settings";

	# Write twice as many rows as a batch has.  The second half is a source of updates.
	my $file = $node->basedir . '/rows';
	open my $handle, '>:utf8', $file or die "could not write $file: $!";
	for my $id (1 .. 2 * $batch)
	{
		print $handle join("\t", $id, 0, map { random_value($_) } @types), "\n";
	}
	close $handle;

	my $list = join ', ', @columns;
	my $sql = <<"SQL";
\\set ON_ERROR_STOP on
DROP TABLE IF EXISTS source, packed, policy, twin;
CREATE TABLE source ($definition);
CREATE TABLE packed ($definition);
CREATE TABLE policy ($definition);
CREATE TABLE twin ($definition);
SQL
	$sql .= "ALTER TABLE $_ SET (toast_tuple_target = $target);\n" for ('policy', 'twin');
	$sql .= "ALTER TABLE source ALTER $_ SET STORAGE EXTERNAL;\n"  for @columns;
	for my $column (keys %ungoverned)
	{
		$sql .= "ALTER TABLE $_ ALTER $column SET STORAGE $ungoverned{$column};\n"
		  for ('policy', 'twin');
	}
	$sql .= "SELECT toast_policy.enable('policy', " . join(', ', map { "'$_'" } @governed) . ");\n";
	$sql .= "COPY source FROM '$file';\nINSERT INTO packed SELECT * FROM source;\n$settings";
	my $in_memory = join ', ',
	  map { $types[$_] eq 'jsonb' ? "c$_ || '{}'" : "c$_ || ''" } 0 .. $#types;
	my $column = choose(@columns);
	my $other = choose(@columns);
	my $same_type = (grep { $types[ substr($_, 1) ] eq $types[ substr($column, 1) ] } @columns)[0];
	my $append = $types[ substr($column, 1) ] eq 'jsonb' ? q{'{"more": 1}'} : q{'more'};
	# An UPDATE that moves a TOAST pointer to another column keeps the stored value.
	my $moved =
		$mode eq 'core' || $mode eq 'no abort'
	  ? $types[ substr($same_type, 1) ] eq 'jsonb'
		  ? "$same_type || '{}'"
		  : "$same_type || ''"
	  : $same_type;
	my @steps = (
		"INSERT INTO %s SELECT * FROM source WHERE id <= $batch AND id % 4 = 0",
		"INSERT INTO %s SELECT id, x, $in_memory FROM source WHERE id <= $batch AND id % 4 = 1",
		"INSERT INTO %s SELECT * FROM packed WHERE id <= $batch AND id % 4 = 2",
		"COPY %s FROM '$file' WHERE id <= $batch AND id % 4 = 3",
		"UPDATE %s SET x = id",
		"UPDATE %s t SET $column = (SELECT $column FROM source s WHERE s.id = t.id + $batch) WHERE id % 3 = 0",
		"UPDATE %s SET $column = $column || $append WHERE id % 5 = 0",
		"UPDATE %s SET $column = $moved WHERE id % 7 = 0",
		"UPDATE %s SET $other = NULL WHERE id % 11 = 0",
		"INSERT INTO %s AS t (id, x, $list) SELECT id - $batch / 2, x, $list FROM source WHERE id > $batch "
		  . "ON CONFLICT (id) DO UPDATE SET $column = excluded.$column, x = excluded.x WHERE t.id % 2 = 0",
		"MERGE INTO %s t USING source s ON t.id = s.id - 20 AND s.id > $batch WHEN MATCHED AND t.id % 6 = 0 THEN UPDATE SET $other = s.$other "
		  . "WHEN MATCHED AND t.id % 6 = 1 THEN DELETE WHEN NOT MATCHED AND s.id % 6 = 2 THEN INSERT VALUES (s.id + 1000, 0, "
		  . join(', ', map { "s.$_" } @columns) . ')',);
	for my $step (@steps)
	{
		$sql .= ($step =~ s/%s/$_/r) . ";\n" for ('policy', 'twin');
	}

	my $row = sub {
		my ($t) = @_;
		join ', ', map { "$t.$_" } 'id', 'x', @columns;
	};
	my $size = sub {
		my ($t, @which) = @_;
		join ', ', map { "pg_column_size($t.$_), pg_column_compression($t.$_)" } @which;
	};
	my $raw = sub {
		my ($c) = @_;
		$types[ substr($c, 1) ] eq 'jsonb' ? "pg_column_size($c || '{}')" : "octet_length($c)";
	};
	my $inline = sub {
		my ($c) = @_;
		$major >= 17 ? "pg_column_toast_chunk_id($c) IS NULL" : "pg_column_size($c) <= $target";
	};
	my $differences =
		'SELECT count(*) FROM policy p FULL JOIN twin e USING (id) WHERE ROW('
	  . $row->('p')
	  . ') IS DISTINCT FROM ROW('
	  . $row->('e') . ")";
	my $sizes =
		'SELECT count(*) FROM policy p JOIN twin e USING (id) WHERE ' . 'ROW('
	  . $size->('p', @columns)
	  . ') IS DISTINCT FROM ROW('
	  . $size->('e', @columns) . ')';
	# A row can keep one value uncompressed because another value went out of line.
	my $growth = 'SELECT count(*) FROM policy p JOIN twin e USING (id) WHERE ' . join ' OR ',
	  map { "pg_column_size(p.$_) - pg_column_size(e.$_) >= $target - 36" } @governed;
	my $useless = 'SELECT count(*) FROM policy WHERE ' . join ' OR ', map {
			"(pg_column_compression($_) IS NOT NULL AND NOT ("
		  . $inline->($_)
		  . ') AND '
		  . $raw->($_)
		  . "> 4096 + 8 AND (pg_column_size($_) + 1995) / 1996 >= ("
		  . $raw->($_)
		  . ' + 1995) / 1996)'
	} @governed;

	$sql .=
	  "SELECT 'result', ($differences), ($sizes), ($growth), ($useless), (SELECT count(*) FROM policy), (SELECT count(*) FROM policy WHERE "
	  . join(' OR ', map { "pg_column_compression($_) IS NOT NULL" } @governed) . ");\n";
	$sql .=
	  "SELECT toast_policy.recompress('policy');\nSELECT 'result', ($differences), ($useless);\n";
	$sql .=
	  "CREATE INDEX ON policy (md5($governed[0]::text));\nVACUUM FULL policy;\nSELECT toast_policy.disable('policy');\nSELECT 'result', ($differences);\n";

	my ($ret, $stdout, $stderr) =
	  $node->psql('postgres', $sql, extra_params => [ '-v', 'ON_ERROR_STOP=1' ]);
	my @results = map { [ split /\|/ ] } grep { /^result/ } split /\n/, $stdout;
	check('every statement works', $ret == 0 && @results == 3 ? 0 : $stderr, $context, $sql);
	next if @results != 3;
	check('the values are the same', $results[0][1], $context, $sql);
	# A row can have a value of the policy that arrives compressed, and an EXTENDED
	# column.  Then heap may compress the EXTENDED column, which makes room for other
	# values, so do not compare sizes in this case.
	check('the sizes are those of EXTENDED', $results[0][2], $context, $sql)
	  if $mode eq 'core' && $exact;
	check('a value grows by less than a chunk', $results[0][3], $context, $sql)
	  if $mode eq 'core' || $mode eq 'no abort';
	# Check saved chunks only after recompress(), because INSERT and UPDATE store values that arrive
	# compressed unchanged.
	check('the values are the same after recompress()', $results[1][1], $context, $sql);
	check('a value compressed out of line saves a chunk', $results[1][2], $context, $sql)
	  if $mode eq 'default' || $mode eq 'no abort';
	check('the values are the same after disable()', $results[2][1], $context, $sql);
	$batches++;
	$compared   += $results[0][5];
	$compressed += $results[0][6];
	unlink $file;
}
note "$batches batches, $compared rows compared, $compressed with compressed values";
is($failures{$_}, 0, $_) for sort keys %failures;
cmp_ok($compressed, '>', $compared / 3, 'many values were compressed');
cmp_ok($compared, '>=', $cases / 2, 'enough rows were compared');

$node->stop;
done_testing();
