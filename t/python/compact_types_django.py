"""Register the OIDs of compact types with Django, and set up Django's own tests.

The tests run on one of the databases that t/soak/compact_types_orm.pl makes.  They have a list of
applications of their own, so they do not use the package in clients/python.
"""

import os

from django.contrib.postgres.operations import CreateExtension
from django.db.backends.signals import connection_created
from psycopg.types import TypeInfo


def know_compact_types(connection, **kwargs):
    """Make Django and psycopg treat compact_text and compact_charN, also in arrays, as strings."""
    if connection.vendor != "postgresql":
        return
    with connection.connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.typname, t.oid, t.typarray FROM pg_type t JOIN pg_depend d ON d.objid = t.oid"
            " WHERE d.classid = 'pg_type'::regclass AND d.refclassid = 'pg_extension'::regclass"
            " AND d.deptype = 'e' AND t.typname ~ '^compact_(text|char[0-9]+)$'"
        )
        rows = cursor.fetchall()
    varchar = type(connection.connection.adapters.types["varchar"].typemod)
    for name, oid, array_oid in rows:
        TypeInfo(name, oid, array_oid, typemod=varchar).register(connection.connection)
    connection.introspection.data_types_reverse = {
        **connection.introspection.data_types_reverse,
        **{oid: "CharField" for name, oid, array_oid in rows},
    }


connection_created.connect(know_compact_types)

DATABASES = {
    alias: {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "postgres",
        "USER": os.environ["PGDENSE_ROLE"],
        "HOST": os.environ["PGHOST"],
        "PORT": os.environ["PGPORT"],
        "TEST": {
            "NAME": f"{os.environ['PGDENSE_ROLE']}_{alias}",
            "TEMPLATE": os.environ["PGDENSE_TEMPLATE"],
        },
    }
    for alias in ("default", "other")
}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False

# These extensions need libraries that our server is built without.  Tests that need the extensions
# fail with plain types, too.
MISSING_EXTENSIONS = {"pgcrypto", "uuid-ossp"}


def extension_exists(self, schema_editor, extension):
    return extension in MISSING_EXTENSIONS or plain_extension_exists(self, schema_editor, extension)


plain_extension_exists = CreateExtension.extension_exists
CreateExtension.extension_exists = extension_exists
