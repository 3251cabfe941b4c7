# A new version of the extension adds types to databases that use it.  Before ALTER EXTENSION
# UPDATE, the library is newer than the SQL objects, and all works as before.  After ALTER EXTENSION
# UPDATE, the database has the same objects as a database where the new version was created.  The
# new types can be used beside the old ones, and pg_dump and pg_upgrade preserve them.
#
# The versions are made in a copy of the installation:
#	0.9-test	has no types uint3, uint4 and uint8, although the library knows these types
#	1.0			adds uint3, uint4 and uint8, as a later version may add integer types
#	1.1-test	adds compact_char100
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Installation;
use PgDense::Upgrade;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($copy) = copy_installation('add_type_installation');
chomp(my $folder = `"$copy/bin/pg_config" --sharedir`);
$folder .= '/extension';
my $tmp = $PostgreSQL::Test::Utils::tmp_check;

sub write_file
{
	my ($name, $text) = @_;

	unlink "$folder/$name";
	append_to_file("$folder/$name", $text);
}

# The statements that doc/hacking.md gives for an update script: create the helper function from the
# library again, call it, and drop it.
my $create_missing = <<'SQL';
CREATE FUNCTION compact_types.create_scalars() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_scalars'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_scalars();
DROP FUNCTION compact_types.create_scalars();
SQL

ok(-e "$folder/compact_types.control", 'the copy has the extension');
ok(!-e "$folder/compact_char100.control", 'compact_char100 is no extension of its own');
write_file('compact_types--0.9-test.sql', slurp_file("$folder/compact_types--1.0.sql") . <<'SQL');
DROP TYPE @extschema@.uint3 CASCADE;
DROP FUNCTION compact_types.uint3_sortsupport(internal);
DROP TYPE @extschema@.uint4 CASCADE;
DROP FUNCTION compact_types.uint4_sortsupport(internal);
DROP FUNCTION compact_types.uint4_sum(internal);
DROP TYPE @extschema@.uint8 CASCADE;
DROP OPERATOR FAMILY compact_types.uint8_ops USING btree;
DROP OPERATOR FAMILY compact_types.uint8_ops USING hash;
DROP OPERATOR FAMILY compact_types.uint8_ops USING brin;
DROP FUNCTION compact_types.uint8_sortsupport(internal), compact_types.uint8_sum(internal), compact_types.uint8_avg(internal);
SQL
write_file('compact_types--0.9-test--1.0.sql', $create_missing);
write_file('compact_types--1.0--1.1-test.sql',
	"$create_missing\nSELECT compact_types.create_char(100);\n");

my $node = init_cluster('old', install_path => $copy);
$node->start;

# Run the statements, and return the output.
sub run
{
	my ($sql, $db) = @_;
	return $node->safe_psql($db // 'app', $sql);
}

# Return the error of the statements.
sub error_of
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $node->psql('app', $sql);
	return $err;
}

# Compare two outputs without regard to the order of their lines.
sub same_lines
{
	my ($got, $expected, $name) = @_;
	my %balance;

	$balance{$_}++ for split /\n/, $got;
	$balance{$_}-- for split /\n/, $expected;
	my @differences =
	  map { ($balance{$_} > 0 ? '+ ' : '- ') . $_ } grep { $balance{$_} != 0 } sort keys %balance;
	is(join("\n", splice @differences, 0, 20), '', $name);
}

# This query returns the objects of the extension compact_types, with all their properties that
# queries depend on.
my $members = q{(SELECT classid, objid FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
  WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'compact_types') m};
my $objects = <<"SQL";
SELECT 'member', pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::name) FROM $members;
SELECT 'operator', o.oid::regoperator, oprcode, oprcom::regoperator, oprnegate::regoperator, oprrest, oprjoin, oprcanhash, oprcanmerge
FROM pg_operator o JOIN $members ON objid = o.oid AND classid = 'pg_operator'::regclass;
SELECT 'function', p.oid::regprocedure, prosrc, probin, prolang, prokind, provolatile, proisstrict, proleakproof, proparallel, prosupport,
       prorettype::regtype, proacl IS NULL FROM pg_proc p JOIN $members ON objid = p.oid AND classid = 'pg_proc'::regclass;
SELECT 'aggregate', aggfnoid::regprocedure, aggtransfn, aggfinalfn, aggcombinefn, aggmtransfn, aggsortop::regoperator, aggtranstype::regtype
FROM pg_aggregate JOIN $members ON objid = aggfnoid AND classid = 'pg_proc'::regclass;
SELECT 'amop', opfmethod, opfname, amopstrategy, amopopr::regoperator
FROM pg_opfamily f JOIN $members ON objid = f.oid AND classid = 'pg_opfamily'::regclass JOIN pg_amop ON amopfamily = f.oid;
SELECT 'amproc', opfmethod, opfname, amprocnum, amproc::regprocedure, amproclefttype::regtype, amprocrighttype::regtype
FROM pg_opfamily f JOIN $members ON objid = f.oid AND classid = 'pg_opfamily'::regclass JOIN pg_amproc ON amprocfamily = f.oid;
SELECT 'opclass', opcmethod, opcname, opcdefault, opcintype::regtype, opckeytype::regtype
FROM pg_opclass c JOIN $members ON objid = c.oid AND classid = 'pg_opclass'::regclass;
SELECT 'cast', castsource::regtype, casttarget::regtype, castcontext, castmethod, castfunc::regprocedure
FROM pg_cast c JOIN $members ON objid = c.oid AND classid = 'pg_cast'::regclass;
SELECT 'type', t.oid::regtype, typlen, typbyval, typalign, typstorage, typcategory, typispreferred, typcollation, typarray::regtype
FROM pg_type t JOIN $members ON objid = t.oid AND classid = 'pg_type'::regclass;
SQL

# The owner of the database does not need to be a superuser, because the extension is trusted.
$node->safe_psql('postgres', 'CREATE ROLE app_owner LOGIN');
$node->safe_psql('postgres', 'CREATE DATABASE app OWNER app_owner');
run(<<'SQL');
SET ROLE app_owner;
CREATE EXTENSION compact_types VERSION '0.9-test';
CREATE EXTENSION compact_char24;
CREATE EXTENSION compact_decimal8_2;
RESET ROLE;
CREATE TABLE t (id int PRIMARY KEY, i int1, u uint1, w uint2 CHECK (w <> 65535), s seconds4, x compact_text, c compact_char24, d compact_decimal8_2);
INSERT INTO t SELECT g, g % 50, g % 100, g % 5000, timestamp '2020-01-01' + g * interval '1 h', 'the number ' || g, 'c' || g, g / 7.0
FROM generate_series(1, 20000) g;
CREATE INDEX t_w ON t (w);
CREATE INDEX t_several ON t (u, i, s, d);
CREATE INDEX t_x ON t (x);
CREATE INDEX t_c ON t USING hash (c);
CREATE INDEX t_brin ON t USING brin (w, s, d);
CREATE VIEW v AS SELECT u, sum(w), max(x) FROM t WHERE w > u AND d < 1000 GROUP BY u;
CREATE TABLE k (a int, b int, c int, PRIMARY KEY (a, b, c));
INSERT INTO k SELECT g * 3500, g % 100, g * 3500 FROM generate_series(1, 2000) g;
ANALYZE;
SQL

# 1. The library is newer than the SQL objects.
is( run(q{SELECT extversion, to_regtype('uint3') FROM pg_extension WHERE extname = 'compact_types'}
	),
	'0.9-test|',
	'a version without the type');
my $contents =
  q{SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM t; SELECT md5(string_agg(v::text, ',' ORDER BY u)) FROM v;
	SELECT md5(string_agg(k::text, ',' ORDER BY a)) FROM k};
my $uses = <<'SQL';
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE w = 7;
SELECT count(*) FROM t WHERE u = 7 AND i = 7 AND s > timestamp '2020-02-01';
SELECT count(*), sum(w), avg(u), max(s), sum(d), max(i) FROM t WHERE w = u AND x > 'the number 5';
SELECT count(*) FROM t a JOIN t b ON a.w = b.u WHERE a.c = 'c77';
SELECT count(*) FROM t WHERE w IN (1, 2, 70000) OR x = 'the number 9';
SQL
my $before = run($contents);
my $used = run($uses);
like($used, qr/^4\n/, 'queries work');
like(
	run('SET enable_seqscan = off; EXPLAIN SELECT * FROM t WHERE w = 7'),
	qr/Index Cond|Recheck Cond/,
	'an index serves a literal');
is(run(q{SELECT proposed_type FROM compact_types.advise('k', narrow_keys => true)}),
	"\n\n", 'no advice for the missing type');
is( run(q{SELECT reason FROM compact_types.advise('k', narrow_keys => true) WHERE column_name = 'a'}
	),
	'values 3500 to 7000000 need the width; ALTER EXTENSION compact_types UPDATE creates uint3, which would hold them',
	'but a hint');
run('CREATE TABLE converted AS SELECT id, u::int2 AS u, w::int4 AS w, x::text AS x FROM t');
run(q{SELECT compact_types.convert('converted', narrow => true)});
is( run(q{SELECT string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'converted'::regclass AND attnum > 0}
	),
	'integer uint1 smallint compact_text',
	'a conversion works');
like(
	error_of('SELECT 70000::uint3'),
	qr/ERROR:  type "uint3" does not exist/,
	'the missing type is an ordinary error');

# Only the script of an extension may call this C function.
run(<<'SQL');
CREATE FUNCTION create_again() RETURNS void AS '$libdir/compact_types', 'compact_types_create_scalars' LANGUAGE c;
SQL
like(
	error_of('SELECT create_again()'),
	qr/ERROR:  create_scalars\(\) can only be called by an extension's script/,
	'no call outside of a script');
is(run(q{DROP FUNCTION create_again(); SELECT to_regtype('uint3')}), '', 'and nothing is created');

# 2. The update has two steps.  The first step adds the missing integer types.  In the second step no
# integer type is missing.
my $control = slurp_file("$folder/compact_types.control");
is($control =~ s/default_version = '1\.0'/default_version = '1.1-test'/,
	1, 'the new version becomes the default one');
write_file('compact_types.control', $control);
is( run(q{SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'compact_types'}
	),
	'0.9-test|1.1-test',
	'the server says so');
run('SET ROLE app_owner; ALTER EXTENSION compact_types UPDATE');
is(run(q{SELECT extversion FROM pg_extension WHERE extname = 'compact_types'}),
	'1.1-test', 'the owner has updated the extension');
is(run($contents), $before, 'after the update: same contents');
is(run($uses), $used, 'after the update: same results');

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
run('CREATE EXTENSION compact_types', 'fresh');
my $fresh = run($objects, 'fresh');
cmp_ok(() = $fresh =~ /$_/g, '>', 300, "a new database has the type $_") for 'uint3', 'uint4';
cmp_ok(() = $fresh =~ /uint8/g, '>', 100, 'a new database has the type uint8');
cmp_ok(() = $fresh =~ /compact_char100/g, '>', 100, 'and the other one');
same_lines(run($objects), $fresh, 'after the update: the objects of a new database');
is(run(q{SELECT count(*) FROM pg_proc WHERE proname = 'create_scalars'}), '0',
	'the helper is gone');

# 3. The types work beside the older ones.
run(<<'SQL');
CREATE TABLE n (id int PRIMARY KEY, q uint3, c compact_char100, a uint3[], l uint4, x uint8);
INSERT INTO n SELECT g, g * 800, 'wide ' || g % 77, ARRAY[g, g * 800], 4294967295 - g, 18446744073709551615 - g FROM generate_series(1, 20000) g;
CREATE INDEX n_q ON n (q);
CREATE INDEX n_l ON n (l);
CREATE INDEX n_x ON n (x);
CREATE INDEX n_hash ON n USING hash (q);
CREATE INDEX n_c ON n (c);
CREATE INDEX n_brin ON n USING brin (q, c);
CREATE TABLE small (w uint2 PRIMARY KEY);
INSERT INTO small SELECT g * 800 FROM generate_series(1, 50) g;
CREATE TABLE refers (q uint3 REFERENCES small, w uint1);
INSERT INTO refers VALUES (800, 1);
ANALYZE;
SQL
like(
	error_of('INSERT INTO refers VALUES (801, 1)'),
	qr/violates foreign key constraint/,
	'a foreign key between an old and a new type');
like(error_of('INSERT INTO n VALUES (0, 16777216)'), qr/out of range/, 'the range of the type');
for my $condition (
	'q = 800',
	'q = 800::uint2',
	'80::uint1 < q AND q < 900',
	'q = 800::int8',
	'l > 4294967290',
	q{c = 'wide 7'::text},
	q{c = 'wide 7'::char(9)})
{
	like(
		run("SET enable_seqscan = off; EXPLAIN SELECT * FROM n WHERE $condition"),
		qr/(Index|Recheck) Cond/,
		"an index serves $condition");
}
like(
	run('SET enable_seqscan = off; EXPLAIN SELECT * FROM t WHERE w = 7::uint3'),
	qr/(Index|Recheck) Cond/,
	'an older index serves the new type');
my $new_uses = <<'SQL';
SELECT count(*), sum(q), avg(q), max(q), max(c), sum(q + 1), sum(l), max(l + q) FROM n WHERE q > 100::uint2;
SELECT count(*) FROM n JOIN t ON n.q = t.w;
SELECT count(*) FROM n WHERE q = ANY (a) AND c LIKE 'wide 7%';
SELECT string_agg(n::text, ',' ORDER BY q DESC) FROM n WHERE id < 20;
SQL
my $new_used = run($new_uses);
like($new_used, qr/^20000\|160008000000\|/, 'queries on the types work');
is(run(q{SELECT proposed_type FROM compact_types.advise('k', narrow_keys => true)}),
	"\nuint1\nuint3", 'the advice knows the type');
run(q{SELECT compact_types.convert('k', narrow_keys => true)});
is( run(q{SELECT string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'k'::regclass AND attnum > 0}
	),
	'integer uint1 uint3',
	'so does a conversion');
is(run($contents), $before, 'the rows stay the same');
is( run(q{SELECT column_name, new_type FROM compact_types.revert('converted')}),
	"u|smallint\nw|integer\nx|text",
	'a conversion of the former version is reverted');
is( run('SELECT count(*) FROM converted c JOIN t USING (id) WHERE c.u = t.u AND c.w = t.w AND c.x = t.x'
	),
	'20000',
	'with the same values');

# 4. Restore a dump on a server whose default version of the extension is the new version.
my $dump = "$tmp/add_type.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('app') ], 'pg_dump');
my $text = slurp_file($dump);
like(
	$text,
	qr/^CREATE EXTENSION IF NOT EXISTS compact_types WITH SCHEMA public;/m,
	'the extension is one line of the dump');
unlike($text, qr/^CREATE (TYPE|FUNCTION|OPERATOR|AGGREGATE|CAST)/m, 'the types belong to it');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ],
	'the dump is restored');
is(run($contents, 'restored'), $before, 'restored: same contents');
is(run($new_uses, 'restored'), $new_used, 'restored: same contents of the new types');
same_lines(run($objects, 'restored'), $fresh, 'restored: same objects');

# 5. In the dump of pg_upgrade, each object becomes a member of the extension again.
my $binary = "$tmp/add_type_binary.sql";
$node->command_ok(
	[ 'pg_dump', '--binary-upgrade', '--schema-only', '-f', $binary, $node->connstr('app') ],
	'pg_dump as pg_upgrade calls it');
$text = slurp_file($binary);
is(() = $text =~ /^ALTER EXTENSION compact_types ADD /mg,
	run(<<"SQL"), 'it has all members but those that come with another one');
SELECT count(*) FROM $members
WHERE NOT (classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type t WHERE t.oid = objid AND (typcategory = 'A' OR typtype = 'c')))
SQL
like($text, qr/^ALTER EXTENSION compact_types ADD TYPE public\.$_;/m, "$_ is among them")
  for 'uint2', 'uint3', 'uint4', 'uint8', 'compact_char100';

$node->stop;
my $new = init_cluster('new', install_path => $copy);
command_ok(pg_upgrade_command("$copy/bin", $node, "$copy/bin", $new, "$copy/bin"), 'pg_upgrade');
$new->start;
$node = $new;
is(run(q{SELECT extversion FROM pg_extension WHERE extname = 'compact_types'}),
	'1.1-test', 'pg_upgrade: same version');
is(run($contents), $before, 'pg_upgrade: same contents');
is(run($uses), $used, 'pg_upgrade: same results');
is(run($new_uses), $new_used, 'pg_upgrade: same results of the new types');
same_lines(run($objects), $fresh, 'pg_upgrade: same objects');
like(
	error_of('DROP TYPE uint3'),
	qr/cannot drop type uint3 because extension compact_types requires it/,
	'pg_upgrade: the type belongs to the extension');
run('CREATE EXTENSION amcheck');
run('SELECT '
	  . join(', ',
		map { "bt_index_check('$_', true)" } 't_pkey',
		't_w', 't_several', 't_x', 'n_q', 'n_l', 'n_c', 'k_pkey'));
$node->stop;
done_testing();
