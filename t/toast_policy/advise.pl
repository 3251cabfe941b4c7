# Test toast_policy.advise() on tables with several kinds of data.  Run each statement that it
# returns.  Then the table must have the predicted size, and the column must be stored as proposed.
# Run undo.  Then a dump of the schema must be the same as before.  Also test that a call about all
# tables goes on if a table is locked, dropped or damaged, or needs more locks than there are.  A
# table without large values is not read.  2,000 tables, or 30 columns, do not need much memory.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('advise');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nmax_wal_size = 4GB\n");
$node->start;

sub query { return $node->safe_psql('postgres', $_[0]); }

query(
	q{
	CREATE EXTENSION toast_policy;
	CREATE SCHEMA "The App";
	CREATE FUNCTION hex(i bigint, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	  SELECT string_agg(md5(i || ' ' || j), '' ORDER BY j) FROM generate_series(1, n) j
	$$;
	CREATE FUNCTION orders(i bigint, n bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	  SELECT jsonb_agg(jsonb_build_object('id', i * 100 + j, 'customer', 'customer ' || abs(hashint8(i * 31 + j)) % 5000,
	    'amount', abs(hashint8(i + j)) % 100000 / 100.0, 'state', (ARRAY['new','paid','sent','closed'])[1 + (i + j) % 4],
	    'token', substr(md5((i + j)::text), 1, 10), 'created', DATE '2026-01-01' + (i + j)::int % 700))
	  FROM generate_series(1, n) j
	$$;
	CREATE FUNCTION mixed(i bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	  SELECT CASE i % 2 WHEN 0 THEN orders(i, 30 + i % 50)::text ELSE hex(i, 100 + i % 300) END
	$$});

# Each case has the DDL of the table, an INSERT, and SET statements.  The tables are in the schema
# "The App".  Where STORAGE or other columns exclude ways to store a column, the proposal does not
# depend on the speed of the machine.
my %cases = (
	json => {
		ddl => 'CREATE TABLE json (id bigint PRIMARY KEY, "a ""b"" \\ --" text)',
		insert => 'INSERT INTO json SELECT i, orders(i, 30 + i % 50)::text',
	},
	mixed => {
		ddl =>
		  q{CREATE TABLE mixed (doc text COMPRESSION pglz COLLATE "POSIX" DEFAULT 'it''s empty', id bigint)},
		insert => 'INSERT INTO mixed SELECT mixed(i), i',
	},
	external => {
		ddl =>
		  'CREATE TABLE external (doc text, data bytea, id bigint); ALTER TABLE external ALTER doc SET STORAGE EXTERNAL, ALTER data SET STORAGE MAIN',
		insert =>
		  q{INSERT INTO external SELECT orders(i, 30 + i % 50)::text, convert_to(mixed(i), 'UTF8'), i},
	},
	type => {
		ddl =>
		  q{CREATE COLLATION "The App"."a ""b""" FROM "POSIX"; CREATE TABLE type (id bigint, doc varchar(100000) COLLATE "a ""b""" NOT NULL DEFAULT 'x' CHECK (doc <> ''), part text); ALTER TABLE type ALTER part SET STORAGE EXTERNAL; CREATE INDEX ON type (id)},
		insert => 'INSERT INTO type SELECT i, mixed(i)',
		# The statements must not depend on the search path.
		settings => 'SET toast_policy.lz4_level = 9; SET search_path = "The App", public',
		expect => qr/^type:doc:extended:ztext$/m,
	},
	governed => {
		ddl =>
		  q{CREATE TABLE governed (id bigint, doc text, other text); SELECT toast_policy.enable('governed', 'doc')},
		insert => q{INSERT INTO governed SELECT i, orders(i, 30 + i % 50)::text, hex(i, 2)},
	},
	view => {
		ddl => q{CREATE MATERIALIZED VIEW view AS SELECT i AS id, orders(i, 40)::text AS doc},
	},
	parted => {
		ddl => q{
			CREATE TABLE parted (id bigint, doc text) PARTITION BY RANGE (id);
			CREATE TABLE part_1 (doc text COMPRESSION pglz, id bigint);
			ALTER TABLE part_1 ALTER doc SET STORAGE MAIN;
			ALTER TABLE parted ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (200);
			CREATE TABLE part_2 PARTITION OF parted FOR VALUES FROM (200) TO (100000) PARTITION BY RANGE (id);
			CREATE TABLE part_21 PARTITION OF part_2 FOR VALUES FROM (200) TO (100000)},
		insert => 'INSERT INTO parted SELECT i, orders(i, 30 + i % 50)::text',
	},);

sub bytes
{
	my ($name) = @_;

	return query(
		qq{
		SELECT sum(pg_relation_size(r.oid)) FROM (
		  SELECT relid::oid AS table_id, reltoastrelid FROM pg_class c, pg_partition_tree('"The App".$name') t WHERE c.oid = t.relid
		  UNION SELECT oid, reltoastrelid FROM pg_class WHERE oid = '"The App".$name'::regclass) t,
		LATERAL (SELECT table_id UNION ALL SELECT reltoastrelid UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = reltoastrelid) r (oid)
		WHERE r.oid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'm', 't', 'i'))});
}

sub dump_schema
{
	my ($out, $err);

	IPC::Run::run(
		[
			'pg_dump', '--schema-only',
			'--schema' => '"The App"',
			'-d' => $node->connstr('postgres')
		],
		'>' => \$out,
		'2>' => \$err) or die $err;

	# pg_dump of some minor versions writes a random key.
	return $out =~ s/^\\(un)?restrict .*//mgr;
}

# Return the rows of advise(), as a list of hashes.
my @columns =
  qw(relation column_name strategy_now codec_now level_now strategy_after codec_after level_after read_us_now read_us_after bytes_now bytes_after reason risk blockers statement undo);

sub advise
{
	my ($arguments, $settings) = @_;
	my $rows = $node->safe_psql(
		'postgres',
		"$settings; SELECT * FROM toast_policy.advise($arguments)",
		extra_params => [ '-F' => "\x01" ]);

	return map { my %row; @row{@columns} = split /\x01/, $_, -1; \%row } split /\n/, $rows;
}

for my $name (sort keys %cases)
{
	my $case = $cases{$name};
	my $settings = $case->{settings} // 'SET toast_policy.lz4_level = 0';
	my $source = 'FROM generate_series(1::bigint, 400) i';

	query(qq{SET search_path = "The App", public; $case->{ddl}}
		  . (defined $case->{insert} ? ";$case->{insert} $source" : " $source"));

	my $before = dump_schema();
	my $hash = "SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM \"The App\".$name t";
	my $contents = query($hash);
	my $size = bytes($name);
	my @rows = advise("'\"The App\".$name'", $settings);

	cmp_ok(scalar(@rows), '>=', 1, "$name: there is advice");
	like(
		join("\n", map { join ':', $name, @$_{qw(column_name strategy_now strategy_after)} } @rows),
		$case->{expect},
		"$name: the advice is what is expected") if $case->{expect};
	for my $row (@rows)
	{
		my $what = "$name.$row->{column_name}";

		is($row->{bytes_now}, $size, "$what: bytes_now");
		note join ', ', map { "$_ $row->{$_}" } @columns;
		if ($row->{statement} eq '')
		{
			is($row->{undo}, '', "$what: nothing to take back");
			is($row->{bytes_after}, $row->{bytes_now}, "$what: the size stays");
			next;
		}
		cmp_ok($row->{read_us_after}, '>', 0, "$what: the time of a read is known");

		my $now = query(
			"$row->{statement}; SELECT strategy_now || ' ' || codec_now || ' ' || coalesce(level_now, -1)
			FROM toast_policy.advise('\"The App\".$name', ARRAY['$row->{column_name}']::name[])"
		) if $row->{strategy_after} !~ /^z/;
		query($row->{statement}) if $row->{strategy_after} =~ /^z/;
		my $real = bytes($name);

		cmp_ok(
			abs($real - $row->{bytes_after}),
			'<=',
			0.05 * $real + 32768,
			"$what: $row->{bytes_after} bytes predicted, $real measured");
		if ($row->{strategy_after} =~ /^z/)
		{
			is( query(
					"SELECT data_type || ' ' || access_method FROM toast_policy.status WHERE relation = '\"The App\".$name'::regclass AND column_name = '$row->{column_name}'"
				),
				"$row->{strategy_after}($row->{codec_after}) heap",
				"$what: the column has the type");
		}
		else
		{
			is( (split /\n/, $now)[-1],
				"$row->{strategy_after} $row->{codec_after} "
				  . ($row->{level_after} eq '' ? -1 : $row->{level_after}),
				"$what: the column is stored as proposed");
		}
		is(query($hash), $contents, "$what: same rows after the statement");

		query($row->{undo});
		is(dump_schema(), $before, "$what: undo restores the schema");
		is(query($hash), $contents, "$what: same rows after undo");
		# Undo changes the schema only.  Store the values as before, for the advice on the next
		# column.
		query("SELECT toast_policy.recompress('\"The App\".$name')");
		cmp_ok(
			abs(bytes($name) - $size),
			'<=',
			0.05 * $size + 32768,
			"$what: the values are stored as before");
	}

	# Run all statements, and then all undos, in both orders.
	for my $order ([ 0 .. $#rows ], [ reverse 0 .. $#rows ])
	{
		query($_) for grep { $_ ne '' } map { $_->{statement} } @rows;
		query($_) for grep { $_ ne '' } map { $_->{undo} } @rows[@$order];
		is(dump_schema(), $before, "$name: undo of all columns restores the schema");
	}

	# The level of values that are stored with it is not proposed again, in a session with another.
	if (my ($hc) = grep { $_->{strategy_after} eq 'toast_policy' && $_->{statement} ne '' } @rows)
	{
		query($hc->{statement});
		my ($again) = advise("'\"The App\".$name', ARRAY['$hc->{column_name}']::name[]", $settings);
		# The time of a read varies, so another way to store the column may be proposed.
		my $same =
			 $again->{strategy_after} eq 'toast_policy'
		  && $again->{level_after} eq $hc->{level_after}
		  && $again->{statement} ne '';
		ok(!$same, "$name: nothing is proposed twice")
		  or note join ', ', map { "$_ $again->{$_}" } @columns;
	}
	query(
		$name eq 'view'
		? 'DROP MATERIALIZED VIEW "The App".view'
		: qq{DROP TABLE "The App".$name});
}

#
# All tables
#
query(
	q{
	CREATE TABLE docs AS SELECT i AS id, orders(i, 60)::text AS doc FROM generate_series(1, 300) i;
	CREATE TABLE locked AS SELECT * FROM docs;
	CREATE TABLE damaged AS SELECT * FROM docs;
	CREATE TABLE "dropped soon" AS SELECT * FROM docs;
	CREATE TABLE plain AS SELECT i AS id, 'a short note ' || i AS note FROM generate_series(1, 20000) i;
	CREATE TABLE unread AS SELECT i AS id, repeat('x', 500) AS note FROM generate_series(1, 1000) i;
	ANALYZE});

# Make the values of a table unreadable.
my $damage = query(
	q{SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE oid = 'damaged'::regclass});
$node->stop;
{
	my $path = $node->data_dir . '/' . $damage;

	open my $file, '+<', $path or die "$path: $!";
	binmode $file;
	my $size = -s $file;
	print $file "\0" x $size;
	close $file;
}
$node->start;

my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE locked');
my $report =
  query(
	q{SELECT relation, column_name, strategy_after IS NOT NULL, blockers FROM toast_policy.advise() ORDER BY relation::text}
  );
is( $report =~ s/\d{3,}/N/gr,
	join("\n",
		'"dropped soon"|doc|t|',
		'damaged||f|{"missing chunk number 0 for toast value N in pg_toast_N"}',
		'docs|doc|t|', 'locked||f|{"another session has locked the table"}'),
	'all tables: tables that are locked or damaged have a row');
$holder->query_safe('ROLLBACK');

# The same if only a partition is locked.  lock_timeout ends a call that waits for the lock.
query(
	q{
	CREATE TABLE parted (id int, doc text) PARTITION BY RANGE (id);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10)});
$holder->query_safe('BEGIN; LOCK TABLE parted_1');
is( query(
		q{SET lock_timeout = '10s'; SELECT blockers FROM toast_policy.advise() WHERE relation = 'parted'::regclass}
	),
	'{"another session has locked the table"}',
	'all tables: a table with a locked partition has a row');
$holder->query_safe('ROLLBACK');
$holder->quit;
query('DROP TABLE parted');

# What is recommended takes less time to compress, but is not better by 5 %, so it is not proposed.
query(
	q{CREATE TABLE digests AS SELECT i AS id, decode(hex(i, 1000), 'hex') AS doc FROM generate_series(1, 100) i}
);
is( query(
		q{SELECT strategy_after, codec_after, statement, reason FROM toast_policy.advise('digests')}
	),
	'extended|pglz||no other way is clearly better than how the column is stored now',
	'no proposal without a clear gain');
query('DROP TABLE digests');

# A table without large values is not read.
query(q{SELECT pg_stat_reset(); SELECT count(*) FROM toast_policy.advise('plain')});
$node->poll_query_until('postgres',
	q{SELECT pg_stat_force_next_flush() IS NOT NULL AND heap_blks_read + heap_blks_hit = 0 FROM pg_statio_user_tables WHERE relname = 'plain'}
) or fail('no statistics');
is( query(
		q{SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'plain'}
	),
	0,
	'a table without large values is not read');

# A call about all tables holds no lock on tables that it has examined.
is( query(
		q{BEGIN; SELECT count(*) > 0 FROM toast_policy.advise(); SELECT count(*) FROM pg_locks WHERE relation IN ('docs'::regclass, 'plain'::regclass); COMMIT}
	),
	"t\n0",
	'all tables: no lock is kept');

# A timeout cancels a call about all tables.
my ($rc, $out, $error) =
  $node->psql('postgres', q{SET statement_timeout = '20ms'; SELECT * FROM toast_policy.advise()});
like($error, qr/canceling statement due to statement timeout/,
	'statement_timeout cancels advise()');

# Progress of recompress(), as its owner and others see it
query(
	q{
	CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN;
	CREATE TABLE large AS SELECT i AS id, orders(i, 100)::text AS doc FROM generate_series(1, 3000) i;
	ALTER TABLE large OWNER TO alice; CREATE INDEX ON large (id); ANALYZE large});
my $writer = $node->background_psql('postgres', extra_params => [ '-U' => 'alice' ]);
my $pid = $writer->query_safe('SELECT pg_backend_pid()');
$writer->query_until(qr/begun/,
	"\\echo begun\nSET toast_policy.lz4_level = 12; SELECT toast_policy.enable('large', 'doc'); ALTER TABLE large ALTER doc SET COMPRESSION lz4; SELECT toast_policy.recompress('large');\n"
);
my $progress = 'SELECT %s FROM toast_policy.progress';
ok( $node->poll_query_until(
		'postgres',
		sprintf($progress,
			"count(*) = 1 AND bool_and(pid = $pid AND datname = 'postgres' AND relid = 'large'::regclass AND command = 'recompress' AND phase = 'seq scanning heap' AND tuples_done BETWEEN 1 AND 3000 AND tuples_total BETWEEN 2500 AND 3500 AND indexes_done = 0)"
		)),
	'progress shows recompress()');
is( $node->safe_psql('postgres', sprintf($progress, 'count(*)'), extra_params => [ '-U' => 'bob' ]),
	0,
	'progress shows nothing to another role');
$writer->quit;
is(query(sprintf($progress, 'count(*)')), 0, 'no progress after the end');

# While a partition is being detached, it has no partitioned table above it.
query('CREATE TABLE parted (id int, doc text) PARTITION BY RANGE (id)');
query('CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10)');
my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN; SELECT FROM parted');
$node->psql('postgres',
	q{SET statement_timeout = '300ms'; ALTER TABLE parted DETACH PARTITION parted_1 CONCURRENTLY});
is(query(q{SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = 'parted_1'::regclass}),
	't', 'a partition is being detached');
is(query('SELECT count(*) > 0 FROM toast_policy.advise()'),
	't', 'advise() while a partition is being detached');
$reader->query_safe('COMMIT');
$reader->quit;
query('ALTER TABLE parted DETACH PARTITION parted_1 FINALIZE');
query('DROP TABLE parted, parted_1');

# The privilege to read a table may be lost while advise() and compare() wait for its lock.  From 18
# on, REVOKE on the table itself would wait, too.
query('CREATE ROLE reader; GRANT SELECT ON plain TO reader');
for my $call (q{advise('plain')}, q{advise('plain', '{note}')}, q{compare('plain', 'note')})
{
	query('GRANT reader TO alice');

	my $asker =
	  $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U' => 'alice' ]);

	$holder->query_safe('BEGIN; LOCK TABLE plain');
	$asker->query_until(qr/asked/, "\\echo asked\nSELECT count(*) FROM toast_policy.$call;\n");
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'plain'::regclass AND NOT granted})
	  or fail("$call does not wait");
	query('REVOKE reader FROM alice');
	$holder->query_safe('COMMIT');
	is($asker->query('SELECT 1'), '1', "$call returns nothing without the privilege");
	like(
		$asker->{stderr},
		qr/ERROR:  permission denied for (?:table plain|column "note")/,
		"$call: the privilege is checked again after the lock");
	$asker->quit;
}

# A table and its schema may be dropped after advise() has seen the table in pg_class.  While advise()
# checks the privilege on the schema, it waits for a lock on pg_auth_members.
query('CREATE DATABASE dropping');
$node->safe_psql(
	'dropping', q{
	CREATE EXTENSION toast_policy;
	CREATE ROLE readers;
	GRANT readers TO alice;
	CREATE SCHEMA app;
	CREATE TABLE app.docs (doc text);
	GRANT USAGE ON SCHEMA app TO readers;
	GRANT SELECT ON app.docs TO readers});
my $asker =
  $node->background_psql('dropping', on_error_stop => 0, extra_params => [ '-U' => 'alice' ]);
my $dropper = $node->background_psql('dropping');
$dropper->query_safe('BEGIN; DROP TABLE app.docs; DROP SCHEMA app; LOCK TABLE pg_auth_members');
$asker->query_until(qr/asked/, "\\echo asked\nSELECT count(*) FROM toast_policy.advise();\n");
ok( $node->poll_query_until(
		'postgres',
		q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'pg_auth_members'::regclass AND NOT granted}
	),
	'advise() waits while it looks for tables');
$dropper->query_safe('COMMIT');
is($asker->query('SELECT 1') . $asker->{stderr},
	"0\n1", 'a table that is dropped meanwhile has no row');
$asker->quit;
$dropper->quit;

# The memory for one column is freed before the next column is measured.
query(
	q{DO $$ BEGIN EXECUTE 'CREATE TABLE columns AS SELECT ' || (SELECT string_agg(format('%L::text AS c%s', 'x', i), ', ') FROM generate_series(1, 30) i)
		|| ' FROM generate_series(1, 60000)'; END $$}
);
my $memory =
  q{SELECT (regexp_match(pg_read_file('/proc/' || pg_backend_pid() || '/status'), '%s:\s+(\d+) kB'))[1]};
my ($before, $peak) = split /\n/,
  query(
		sprintf($memory, 'VmRSS')
	  . q{; DO $$ BEGIN PERFORM FROM toast_policy.advise('columns', (SELECT array_agg('c' || i)::name[] FROM generate_series(1, 30) i), 3000); END $$; }
	  . sprintf($memory, 'VmHWM'));
cmp_ok($peak - $before, '<', 20 * 1024, "30 columns: @{[$peak - $before]} kB of memory");
query('DROP TABLE columns');

# On a standby, the advice is the same.
query('DROP TABLE damaged; CREATE UNLOGGED TABLE unlogged AS SELECT * FROM docs');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $counts =
  q{SELECT relation, column_name, strategy_now, bytes_now, blockers FROM toast_policy.advise() WHERE relation <> 'unlogged'::regclass ORDER BY 1};
is($standby->safe_psql('postgres', $counts), query($counts), 'a standby gives the same advice');
is( $standby->safe_psql(
		'postgres',
		q{SELECT blockers FROM toast_policy.advise() WHERE relation = 'unlogged'::regclass}),
	'{"cannot access temporary or unlogged relations during recovery"}',
	'an unlogged table on a standby has a row');
$standby->stop;

# Many small tables
query(
	q{DO $$ BEGIN FOR i IN 1..2000 LOOP EXECUTE format('CREATE TABLE many_%s AS SELECT 1 AS id, %L::text AS note', i, 'x'); COMMIT; END LOOP; END $$; ANALYZE}
);
my ($seconds, $kilobytes) = split /\|/, query(
	q{
	SELECT clock_timestamp() AS t \gset
	SELECT count(*) >= 3 AS enough FROM toast_policy.advise(sample_pages => 10) \gset
	SELECT extract(epoch FROM clock_timestamp() - :'t'), (SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts) WHERE :'enough'}
);
note "2000 tables: $seconds seconds";
cmp_ok($kilobytes, '<', 200 * 1024, "2000 tables: $kilobytes kB of memory");

# A partitioned table with more partitions than the server has locks for does not end a call about
# all tables.
query(
	q{
	CREATE TABLE parted (id int, doc text) PARTITION BY LIST (id);
	DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES IN (%s)', i, i); COMMIT; END LOOP; END $$;
	-- After an error, even an expression would need a lock.
	CREATE FUNCTION lock_tables(wanted int) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE
	  done int := 0;
	BEGIN
	  FOR i IN 1..wanted LOOP
	    BEGIN
	      EXECUTE format('LOCK TABLE many_%s IN ACCESS SHARE MODE', i);
	    EXCEPTION WHEN out_of_memory THEN
	      RETURN done;
	    END;
	    done := i;
	  END LOOP;
	  RETURN done;
	END $$});
$node->append_conf('postgresql.conf', 'max_locks_per_transaction = 10');
$node->restart;
my $locks = query('SELECT lock_tables(2000)');
cmp_ok($locks, '<', 2000, "the server has only $locks locks");
$holder = $node->background_psql('postgres');
$holder->query_safe("BEGIN; SELECT lock_tables($locks - 200)");
is( query(
		q{SELECT relation, column_name, blockers FROM toast_policy.advise(sample_pages => 10) WHERE relation IN ('docs'::regclass, 'parted'::regclass) ORDER BY relation::text}
	),
	"docs|doc|\nparted||{\"out of shared memory\"}",
	'all tables: a table for which there are too few locks has a row');
$holder->quit;

$node->stop;
done_testing();
