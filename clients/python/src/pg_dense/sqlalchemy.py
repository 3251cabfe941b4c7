"""The compact types and split tables in SQLAlchemy.

Each dialect is the dialect of a driver that also knows the compact types: their values, and their
names in reflection and DDL.  It also knows the primary keys of split tables.

    create_engine("postgresql+dense://...")                 # psycopg 3
    create_async_engine("postgresql+dense://...")           # psycopg 3
    create_async_engine("postgresql+dense_asyncpg://...")   # asyncpg
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from sqlalchemy import CHAR, VARCHAR, BigInteger, DateTime, Float, Integer, Numeric, String, text
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.postgresql.psycopg import (
    PGDialect_psycopg,
    PGDialectAsync_psycopg,
)
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeDecorator, TypeEngine

from .catalog import DIGITS, HAS_SPLIT_TABLES, kind_of

NUMERIC_OID = 1700
# Types of extensions have greater OIDs than core's types.
FIRST_NORMAL_OID = 16384

# the primary keys of split tables
KEYS = """
SELECT v.relname, s.key_columns, k.conname FROM vertical_partition.status s
JOIN pg_catalog.pg_class v ON v.oid = s.relation
JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace
JOIN pg_catalog.pg_constraint k ON k.conrelid = s.hot AND k.contype = 'p'
WHERE CASE WHEN CAST(:schema AS text) IS NULL THEN pg_catalog.pg_table_is_visible(v.oid)
    ELSE n.nspname = :schema END"""

# For each part of a split table, the name of the table.  If the search_path finds the part, another
# row has no schema, because a reflected foreign key need not have one.
PARTS = """
SELECT found.schema, p.relname, v.relname FROM vertical_partition.status s
JOIN pg_catalog.pg_class v ON v.oid = s.relation
JOIN pg_catalog.pg_class p ON p.oid IN (s.hot, s.cold)
JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
JOIN (VALUES (true), (false)) named (named) ON named OR pg_catalog.pg_table_is_visible(p.oid)
CROSS JOIN LATERAL (SELECT CASE WHEN named THEN n.nspname END) found (schema)"""


class CompactType:
    """What all compact types have in common.

    DDL writes the type's name, "compact_name".  If the type is in a schema that is not in the
    search_path, use a subclass of the type with the name of this schema in "schema".
    """

    compact_name: str
    schema: str | None = None


class INT1(CompactType, Integer):
    compact_name = "int1"


class UINT1(CompactType, Integer):
    compact_name = "uint1"


class UINT2(CompactType, Integer):
    compact_name = "uint2"


class UINT3(CompactType, Integer):
    compact_name = "uint3"


class UINT4(CompactType, BigInteger):
    compact_name = "uint4"


class SECONDS4(CompactType, DateTime):
    compact_name = "seconds4"

    def __init__(self) -> None:
        super().__init__(timezone=False)


class SECONDS4TZ(CompactType, DateTime):
    compact_name = "seconds4tz"

    def __init__(self) -> None:
        super().__init__(timezone=True)


class COMPACT_TEXT(CompactType, VARCHAR):
    """COMPACT_TEXT(), or COMPACT_TEXT(n) with a greatest length in characters."""

    compact_name = "compact_text"


class TRAINED_TEXT(COMPACT_TEXT):
    """TRAINED_TEXT(N), or TRAINED_TEXT(N, n): the type trained_textN, with a greatest length n."""

    def __init__(self, number: int = 1, length: int | None = None, collation: str | None = None):
        super().__init__(length, collation)
        self.number = number

    @property
    def compact_name(self) -> str:  # type: ignore[override]
        return f"trained_text{self.number}"


class COMPACT_CHAR(CompactType, CHAR):
    """COMPACT_CHAR(n), the type compact_charN."""

    @property
    def compact_name(self) -> str:  # type: ignore[override]
        return f"compact_char{self.length}"


class COMPACT_DECIMAL(CompactType, Numeric[Any]):
    """COMPACT_DECIMAL(width, scale), with a width of 4 or 8 bytes.

    SQLAlchemy makes the type without arguments for the result of arithmetic, which is numeric.
    """

    def __init__(self, width: int | None = None, scale: int | None = None, asdecimal: bool = True):
        super().__init__(DIGITS[width] if width else None, scale)
        self.asdecimal = asdecimal
        self.width = width

    @property
    def compact_name(self) -> str:  # type: ignore[override]
        return f"compact_decimal{self.width}_{self.scale}" if self.width else "numeric"

    def adapt(self, cls: type[Any], **kw: Any) -> Any:
        # A parameter that is cast to numeric(p,s) would be rounded.
        if not issubclass(cls, COMPACT_DECIMAL):
            kw = {"precision": None, "scale": None, **kw}
        return super().adapt(cls, **kw)


class UINT8(COMPACT_DECIMAL):
    """An integer from 0 to 2**64 - 1, which is a Decimal in Python as that of a numeric(20) is."""

    compact_name = "uint8"  # type: ignore[assignment]

    def __init__(self, asdecimal: bool = True):
        super().__init__(asdecimal=asdecimal)


@compiles(CompactType)
def _ddl(type_: Any, compiler: Any, **kw: Any) -> str:
    """Return how DDL writes a type."""
    quote = compiler.dialect.identifier_preparer.quote
    name: str = (f"{quote(type_.schema)}." if type_.schema else "") + type_.compact_name
    # Length and collation are written as for the core types.
    if isinstance(type_, COMPACT_TEXT):
        name = compiler.visit_VARCHAR(type_, **kw).replace("VARCHAR", name, 1)
    elif isinstance(type_, COMPACT_CHAR):
        name = compiler.visit_CHAR(type_, **kw).replace(f"CHAR({type_.length})", name, 1)
    return name


_SIMPLE: tuple[type[CompactType], ...] = (
    INT1,
    UINT1,
    UINT2,
    UINT3,
    UINT4,
    UINT8,
    SECONDS4,
    SECONDS4TZ,
    COMPACT_TEXT,
)
SIMPLE = {one.compact_name: one for one in _SIMPLE}


@cache
def _in_schema(type_: type, schema: str) -> type:
    return type(type_.__name__, (type_,), {"schema": schema, "__module__": type_.__module__})


class _Names(dict[str, Any]):
    """The types that reflection finds by name: those of PostgreSQL, and the compact types.

    The name has the schema in front if the schema is not in the search_path.
    """

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key) or self._compact(key) or default

    @staticmethod
    def _compact(key: str) -> Any:
        schema, _, name = key.rpartition(".")
        kind = kind_of(name)
        if kind is None:
            return None
        type_: Any
        arguments: tuple[int | None, ...] = ()
        if kind.length:
            type_, arguments = COMPACT_CHAR, (kind.length,)
        elif name in SIMPLE:
            type_ = SIMPLE[name]
        elif kind.precision:
            width = next(width for width, digits in DIGITS.items() if digits == kind.precision)
            type_, arguments = COMPACT_DECIMAL, (width, kind.scale)
        else:
            type_, arguments = TRAINED_TEXT, (kind.number,)
        if schema:
            type_ = _in_schema(type_, schema.strip('"'))
        return partial(type_, *arguments) if arguments else type_


def _with_decimals(colspecs: Any) -> Any:
    """Let Numeric and Float read decimals, which have an OID that SQLAlchemy does not know."""

    def reading(wide: Any) -> type:
        class Reading(wide):
            def result_processor(self, dialect: Dialect, coltype: int) -> Any:
                if coltype >= FIRST_NORMAL_OID:
                    coltype = NUMERIC_OID
                return super().result_processor(dialect, coltype)

        return Reading

    return {
        **colspecs,
        Numeric: reading(colspecs[Numeric]),
        Float: reading(colspecs[Float]),
    }


class _Dense(PGDialect):
    """What all dialects have in common."""

    ischema_names = _Names(PGDialect.ischema_names)

    def _register(self, dbapi_connection: Any) -> None:
        """Register the compact types in a new connection."""
        raise NotImplementedError

    def on_connect(self) -> Callable[[Any], None]:
        former = super().on_connect()

        def connect(dbapi_connection: Any) -> None:
            if former:
                former(dbapi_connection)
            self._register(dbapi_connection)

        return connect

    def get_multi_pk_constraint(  # type: ignore[override]
        self, connection: Connection, *, schema: str | None = None, **kw: Any
    ) -> Iterable[Any]:
        """Return the primary keys also of split tables, which are views."""
        found = dict(super().get_multi_pk_constraint(connection, schema=schema, **kw))
        if found and connection.scalar(text(HAS_SPLIT_TABLES)):
            for name, columns, key in connection.execute(text(KEYS), {"schema": schema}):
                if (schema, name) in found:
                    found[schema, name].update(constrained_columns=columns, name=key)
        return found.items()

    def get_multi_foreign_keys(  # type: ignore[override]
        self, connection: Connection, **kw: Any
    ) -> Iterable[Any]:
        """Return foreign keys that refer to a part of a split table with the name of the table."""
        found = dict(super().get_multi_foreign_keys(connection, **kw))
        foreign_keys = [key for keys in found.values() for key in keys]
        if foreign_keys and connection.scalar(text(HAS_SPLIT_TABLES)):
            rows = connection.execute(text(PARTS))
            tables = {(schema, part): table for schema, part, table in rows}
            for key in foreign_keys:
                part = key["referred_schema"], key["referred_table"]
                key["referred_table"] = tables.get(part, part[1])
        return found.items()


class PsycopgDialect(_Dense, PGDialect_psycopg):
    """postgresql+dense, with create_engine()"""

    supports_statement_cache = True
    colspecs = _with_decimals(PGDialect_psycopg.colspecs)

    def _register(self, dbapi_connection: Any) -> None:
        from . import psycopg

        psycopg.register(dbapi_connection)

    @classmethod
    def get_async_dialect_cls(cls, url: Any) -> type[Dialect]:
        return AsyncPsycopgDialect


class AsyncPsycopgDialect(_Dense, PGDialectAsync_psycopg):
    """postgresql+dense, with create_async_engine()"""

    supports_statement_cache = True
    colspecs = _with_decimals(PGDialectAsync_psycopg.colspecs)

    def _register(self, dbapi_connection: Any) -> None:
        from . import psycopg

        dbapi_connection.run_async(psycopg.register_async)


class AsyncpgDialect(_Dense, PGDialect_asyncpg):
    """postgresql+dense_asyncpg"""

    supports_statement_cache = True
    colspecs = _with_decimals(PGDialect_asyncpg.colspecs)

    def _register(self, dbapi_connection: Any) -> None:
        from . import asyncpg

        dbapi_connection.run_async(asyncpg.register)


# The package's entry points name the same dialects.  These lines serve a program that imports this
# module from a source tree.
registry.register("postgresql.dense", __name__, "PsycopgDialect")
registry.register("postgresql.dense_asyncpg", __name__, "AsyncpgDialect")


def compare_type(
    context: Any,
    inspected_column: Any,
    metadata_column: Any,
    inspected_type: TypeEngine[Any],
    metadata_type: TypeEngine[Any],
) -> bool | None:
    """Tell Alembic that a column with a compact type has not changed.

    Give this function to Alembic: context.configure(..., compare_type=compare_type).  It returns
    False, "the types are equal", if the database has the compact type that replaces the type of the
    model: convert() or compact_types.auto has changed the column.  Otherwise it returns None, and
    Alembic compares the types.
    """
    if isinstance(metadata_type, TypeDecorator):
        metadata_type = metadata_type.impl_instance
    if not isinstance(inspected_type, CompactType) or isinstance(metadata_type, CompactType):
        return None
    return False if _replaces(inspected_type, metadata_type) else None


def _replaces(found: Any, core: Any) -> bool:
    """Return true if a compact type holds the values of a core type, under the same limits."""
    if isinstance(core, Integer):
        return isinstance(found, Integer)
    if isinstance(core, DateTime):
        return isinstance(found, DateTime) and found.timezone == core.timezone
    if isinstance(core, Numeric) and not isinstance(core, Float):
        return isinstance(found, Numeric) and found.scale == (core.scale or 0)
    if isinstance(core, String):
        return isinstance(found, String) and found.length == core.length
    return False
