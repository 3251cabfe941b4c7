"""The application.  It has no models."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate

from ..psycopg import register
from .introspection import with_dense


def know_compact_types(connection: Any, **kwargs: Any) -> None:
    """Register the compact types with psycopg, and compact types and split tables with Django.

    Take Django's connection: the function is a receiver of the signal connection_created.  Other
    databases than PostgreSQL are left alone.
    """
    if connection.vendor != "postgresql":
        return
    types = register(connection.connection)
    introspection = connection.introspection
    introspection.__class__ = with_dense(introspection.__class__)
    core = connection.connection.adapters.types
    introspection.data_types_reverse = {
        **introspection.data_types_reverse,
        **{one.oid: introspection.data_types_reverse[core[one.kind.wide].oid] for one in types},
    }


def know_new_types(using: str, **kwargs: Any) -> None:
    """Register the types that a migration has created, as know_compact_types() does."""
    connection = connections[using]
    if connection.connection is not None:
        know_compact_types(connection)


class PgDenseConfig(AppConfig):
    name = "pg_dense.django"
    label = "pg_dense"

    def ready(self) -> None:
        connection_created.connect(know_compact_types)
        post_migrate.connect(know_new_types, sender=self)
