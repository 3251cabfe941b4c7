"""Make asyncpg read and write the compact types as it does the core types that they replace.

    pool = await asyncpg.create_pool(..., init=pg_dense.asyncpg.register)
"""

from typing import Any

from .catalog import TYPES, CompactType, types_of


async def register(conn: Any) -> list[CompactType]:
    """Register the compact types of a database in a connection, and arrays of them.

    Take an asyncpg.Connection.  Return the registered types: an empty list if the database has no
    compact type.
    """
    types = types_of(await conn.fetch(TYPES))
    for one in types:
        await conn.set_builtin_type_codec(one.name, schema=one.schema, codec_name=one.kind.wide)
    return types
