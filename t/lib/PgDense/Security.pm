# PgDense::Security - a hostile table owner, whose code reports the role that it runs as
package PgDense::Security;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(security_node security_database as_role sprung is_harmless);

# security_node(NAME[, CONF]) - start a server with the roles of these tests: role_a, the hostile
# owner; role_b, another owner; role_c, who owns nothing.  None is a member of another.
sub security_node
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf',
		"fsync = off\nautovacuum = off\nclient_min_messages = warning\n" . ($conf // ''));
	$node->start;
	$node->safe_psql('postgres', "CREATE ROLE role_$_ LOGIN") for qw(a b c);
	return $node;
}

# security_database(NODE, NAME, EXTENSION...) - prepare a database with the extensions, created by
# the superuser, and a schema of its own for each of role_a and role_b.
#
# If code of role_a calls one of these functions, a trap is sprung: the function logs KIND and the
# role that it runs as, and tries to make role_a a superuser.
#
#	role_a.trap(KIND) returns boolean true; IMMUTABLE, for CHECK and predicates
#	role_a.trap(KIND, anyelement) returns its second argument; IMMUTABLE
#	role_a.trap_trigger(), KIND as the trigger's argument
sub security_database
{
	my ($node, $name, @extensions) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name") if $name ne 'postgres';
	$node->safe_psql($name, join "\n", map { "CREATE EXTENSION $_ CASCADE;" } @extensions);
	$node->safe_psql($name,
		"CREATE SCHEMA role_$_ AUTHORIZATION role_$_; GRANT USAGE ON SCHEMA role_$_ TO PUBLIC;")
	  for qw(a b);
	as_role($node, $name, 'role_a', <<'SQL');
CREATE FUNCTION role_a.act(kind text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RAISE LOG 'trap % sprung as %', kind, current_user;
	BEGIN
		ALTER ROLE role_a SUPERUSER;
	EXCEPTION WHEN OTHERS THEN
		NULL;
	END;
END $$;
CREATE FUNCTION role_a.trap(kind text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM role_a.act(kind);
	RETURN true;
END $$;
CREATE FUNCTION role_a.trap(kind text, value anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM role_a.act(kind);
	RETURN value;
END $$;
CREATE FUNCTION role_a.trap_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM role_a.act(TG_ARGV[0]);
	IF TG_OP = 'DELETE' THEN
		RETURN OLD;
	END IF;
	RETURN NEW;
END $$;
SQL
	return;
}

# as_role(NODE, DATABASE, ROLE, SQL) - run SQL in a session of that role; return its output
sub as_role
{
	my ($node, $database, $role, $sql) = @_;

	return $node->safe_psql($database, $sql, extra_params => [ '-U', $role ]);
}

# sprung(NODE, CODE) - call CODE; return the traps that were sprung, sorted and without duplicates,
# each as the text "KIND as ROLE"
sub sprung
{
	my ($node, $code) = @_;
	my $offset = -s $node->logfile;
	my %seen;

	$code->();
	my $log = substr(slurp_file($node->logfile), $offset);
	$seen{"$1 as $2"} = 1 while $log =~ /trap (.*?) sprung as (\S+)/g;
	return sort keys %seen;
}

# is_harmless(NODE, CODE, KINDS, NAME) - test that CODE springs exactly the traps in the array
# KINDS, and that none of the roles is a superuser afterwards.  Each trap must run as role_a, or as
# ROLE if its element of KINDS is "KIND as ROLE".
sub is_harmless
{
	my ($node, $code, $kinds, $name) = @_;
	my @got = sprung($node, $code);

	my @expected = sort map { / as / ? $_ : "$_ as role_a" } @$kinds;

	is(join("\n", @got), join("\n", @expected), "$name: code of the owner runs as the owner");
	is( $node->safe_psql(
			'postgres',
			q{SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper AND rolname LIKE 'role\_%'}
		),
		'',
		"$name: and wins nothing");
	$node->safe_psql('postgres', 'ALTER ROLE role_a NOSUPERUSER');
	return;
}

1;
