"""Make psycopg 3 load and dump the compact types as it does the core types that they replace.

    with psycopg.connect(...) as conn:
        pg_dense.psycopg.register(conn)

A pool calls the function for each of its connections: ConnectionPool(..., configure=register), or
AsyncConnectionPool(..., configure=register_async).
"""

from functools import cache
from typing import Any

from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import tuple_row
from psycopg.types import TypeInfo

from .catalog import TYPES, CompactType, types_of

# Without this, names would be bytes on a connection with the encoding SQL_ASCII.
SET_ENCODING = "SET LOCAL client_encoding TO utf8"


def register(conn: Connection[Any], context: AdaptContext | None = None) -> list[CompactType]:
    """Register the compact types of a database, and arrays of them.

    Take a connection to the database.  The types are registered in "context", for example in
    psycopg.adapters for all later connections, or in the connection if there is no context.  Return
    the registered types: an empty list if the database has no compact type.  If no transaction is
    open, none is open afterwards.
    """
    with conn.transaction(), Cursor(conn, row_factory=tuple_row) as cur:
        if conn.info.encoding == "ascii":
            cur.execute(SET_ENCODING)
        types = types_of(cur.execute(TYPES).fetchall())
    return _register(types, context or conn)


async def register_async(
    conn: AsyncConnection[Any], context: AdaptContext | None = None
) -> list[CompactType]:
    """Do the same as register(), for an asynchronous connection."""
    async with conn.transaction(), AsyncCursor(conn, row_factory=tuple_row) as cur:
        if conn.info.encoding == "ascii":
            await cur.execute(SET_ENCODING)
        await cur.execute(TYPES)
        types = types_of(await cur.fetchall())
    return _register(types, context or conn)


class CompactInfo(TypeInfo):
    """A type with the length, precision and scale that cursor.description shows."""

    def __init__(self, one: CompactType):
        super().__init__(one.name, one.oid, one.array_oid, regtype=one.regtype)
        self.kind = one.kind

    def get_display_size(self, fmod: int) -> int | None:
        # the type modifier of compact_text(n) is that of varchar(n)
        return fmod - 4 if self.kind.wide == "text" and fmod >= 0 else self.kind.length

    def get_precision(self, fmod: int) -> int | None:
        return self.kind.precision

    def get_scale(self, fmod: int) -> int | None:
        return self.kind.scale


def _register(types: list[CompactType], context: AdaptContext) -> list[CompactType]:
    adapters = context.adapters
    for one in types:
        # the loaders of this context, which need not be those of psycopg
        loaded = adapters.types[one.kind.wide].oid
        # psycopg has no dumper for bpchar.
        dumped = adapters.types["text"].oid if one.kind.length else loaded
        for form in Format:
            if loader := adapters.get_loader(loaded, form):
                adapters.register_loader(one.oid, loader)
            # Without a class, the dumper serves only where the type is known, as by
            # Copy.set_types() and in arrays.  Ordinary parameters keep their dumpers.
            dumper = adapters.get_dumper_by_oid(dumped, form)
            adapters.register_dumper(None, _dumper_for(dumper, one.oid))
        CompactInfo(one).register(context)
    return types


# psycopg holds classes for ever, so do not make a new one for each connection.
@cache
def _dumper_for(wide: type[Dumper], type_oid: int) -> type[Dumper]:
    """Return a dumper that writes what another one does, for another type."""

    class CompactDumper(Dumper):
        oid = type_oid
        format = wide.format

        def __init__(self, cls: type, context: AdaptContext | None = None):
            super().__init__(cls, context)
            self._wide = wide(cls, context)

        def dump(self, obj: Any) -> Buffer | None:
            return self._wide.dump(obj)

    return CompactDumper
