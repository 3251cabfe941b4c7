"""Use compact types and split tables with SQLAlchemy's dialect of the package, and with Alembic.

	python -m clients.with_sqlalchemy DRIVER DATABASE OTHER PLAIN < SAMPLES

DRIVER is psycopg, psycopg_async or asyncpg.  In the database OTHER, the types are in the schema
"types".  PLAIN has no compact types.
"""

import asyncio
import datetime
import decimal
import os
import re
import sys

from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from sqlalchemy import (
    ARRAY,
    CHAR,
    BigInteger,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    Numeric,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    create_engine,
    func,
    inspect,
    insert,
    select,
    text,
)
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.schema import CreateTable

from clients.samples import UTC, Sample, check, samples
from pg_dense import sqlalchemy as dense

driver, database, other, plain = sys.argv[1:]
D = decimal.Decimal
SIMPLE = {
    "int1": dense.INT1,
    "uint1": dense.UINT1,
    "uint2": dense.UINT2,
    "uint3": dense.UINT3,
    "uint4": dense.UINT4,
    "uint8": dense.UINT8,
    "seconds4": dense.SECONDS4,
    "seconds4tz": dense.SECONDS4TZ,
    "compact_text": dense.COMPACT_TEXT,
}


def type_of(name: str):
    """Return SQLAlchemy's type for a compact type."""
    if found := re.fullmatch(r"compact_char(\d+)", name):
        return dense.COMPACT_CHAR(int(found[1]))
    if found := re.fullmatch(r"compact_decimal(\d)_(\d+)", name):
        return dense.COMPACT_DECIMAL(int(found[1]), int(found[2]))
    if found := re.fullmatch(r"trained_text(\d+)", name):
        return dense.TRAINED_TEXT(int(found[1]))
    return SIMPLE[name]()


def url(name: str) -> str:
    dialect = "dense_asyncpg" if driver == "asyncpg" else "dense"
    user, host, port = (os.environ[name] for name in ("PGUSER", "PGHOST", "PGPORT"))
    return f"postgresql+{dialect}://{user}@/{name}?host={host}&port={port}"


def values_of(conn, everything: list[Sample]) -> None:
    """Write and read all values, in columns and arrays, and look for them."""
    for sample in everything:
        type_ = type_of(sample.type)
        table = Table(
            f"values_{sample.type}",
            MetaData(),
            Column("id", Integer, primary_key=True),
            Column("v", type_),
            Column("a", ARRAY(type_)),
        )
        table.create(conn)
        rows = [*sample.values, None]
        conn.execute(insert(table), [{"id": i, "v": v, "a": [v, None]} for i, v in enumerate(rows)])
        found = conn.execute(select(table.c.v, table.c.a).order_by(table.c.id)).all()
        expected = [(v, [v, None]) for v in [*sample.loaded, None]]
        check(f"{sample.type}: values", list(map(tuple, found)), expected)
        found = [
            conn.execute(select(table.c.id).where(table.c.v == v)).scalars().all()
            for v in sample.values
        ]
        check(f"{sample.type}: equal", found, [[i] for i in range(len(sample.values))])
        found = conn.scalar(select(func.count()).where(table.c.v.in_(sample.values)))
        check(f"{sample.type}: in", found, len(sample.values))
        # without the table's declarations
        found = conn.execute(text(f"SELECT v FROM {table.name} ORDER BY id")).scalars().all()
        check(f"{sample.type}: values of a text", list(found), [*sample.loaded, None])
        table.drop(conn)


def reflection(conn, everything: list[Sample]) -> None:
    """A reflected table has the types that made it."""
    types = {sample.type: type_of(sample.type) for sample in everything}
    types["limited"] = dense.COMPACT_TEXT(60)
    types["collated"] = dense.COMPACT_TEXT(60, collation="C")
    types["padded"] = dense.COMPACT_CHAR(24, collation="C")
    types["trained"] = dense.TRAINED_TEXT(1, 60, collation="C")
    types["list"] = ARRAY(dense.UINT2())
    columns = [Column(name, type_) for name, type_ in types.items()]
    table = Table("reflected", MetaData(), *columns)
    table.create(conn)
    again = Table("reflected", MetaData(), autoload_with=conn)
    check("reflected types", [repr(c.type) for c in again.c], [repr(c.type) for c in columns])
    made, expected = (str(CreateTable(one).compile(conn)) for one in (again, table))
    check("DDL", made, expected)
    check(
        "length, precision and scale",
        (
            again.c.limited.type.length,
            again.c.compact_char24.type.length,
            again.c.compact_decimal4_2.type.precision,
            again.c.compact_decimal4_2.type.scale,
            again.c.compact_decimal8_2.type.precision,
        ),
        (60, 24, 9, 2, 18),
    )
    server = conn.execute(
        text(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = 'reflected'::regclass AND attnum > 0 ORDER BY attnum"
        )
    )
    names = [sample.type for sample in everything]
    names += ["compact_text(60)", "compact_text(60)", "compact_char24"]
    names += ["trained_text1(60)", "uint2[]"]
    check("types of the server", list(server.scalars()), names)
    table.drop(conn)


def expressions(conn) -> None:
    """Operators mean what they mean for the core types."""
    table = Table(
        "expressions",
        MetaData(),
        Column("n", dense.UINT2),
        Column("m", dense.INT1),
        Column("d", dense.COMPACT_DECIMAL(4, 2)),
        Column("t", dense.COMPACT_TEXT(20)),
        Column("c", dense.COMPACT_CHAR(3)),
        Column("s", dense.SECONDS4),
        Column("z", dense.SECONDS4TZ),
    )
    table.create(conn)
    first = datetime.datetime(2026, 1, 2, 3, 4, 5)
    conn.execute(
        insert(table),
        {"n": 65535, "m": -3, "d": D("1.25"), "t": "ab", "c": "xy"}
        | {"s": first, "z": first.replace(tzinfo=UTC)},
    )
    conn.execute(insert(table), {"n": None})
    c = Table("expressions", MetaData(), autoload_with=conn).c
    hour = datetime.timedelta(hours=1)
    for name, expression, expected in (
        ("add", c.n + c.n, 131070),
        ("add a signed one", c.n + c.m, 65532),
        ("add a large one", c.n + 2**30, 65535 + 2**30),
        ("subtract", c.m - c.n, -65538),
        ("multiply", c.n * 2, 131070),
        ("decimals", c.d + c.d, D("2.50")),
        ("decimal and integer", c.d * c.n, D("81918.75")),
        ("decimal and more digits", c.d + D("0.005"), D("1.255")),
        ("concatenate", c.t + c.t, "abab"),
        ("concatenate with a string", c.t + "!", "ab!"),
        ("concatenate a long string", "x" * 30 + c.t, "x" * 30 + "ab"),
        ("times", c.s - c.s, datetime.timedelta()),
        ("time and interval", c.s + hour, first + hour),
        ("time zone", c.z - hour, first.replace(tzinfo=UTC) - hour),
        ("sum", func.sum(c.n), 65535),
        ("sum of decimals", func.sum(c.d), D("1.25")),
        ("greatest", func.max(c.t), "ab"),
        ("array", func.array_agg(c.d), [D("1.25")]),
    ):
        found = conn.scalar(select(expression).where(c.n.is_not(None)))
        check(f"{driver}: {name}", found, expected)
    for name, condition, expected in (
        ("integer beyond the type", c.n < 70000, 1),
        ("negative integer", c.n > -1, 1),
        ("decimal with more digits", c.d < D("1.254"), 1),
        ("decimal with more digits, not equal", c.d == D("1.254"), 0),
        ("integer for a decimal", c.d > 1, 1),
        ("string", c.t == "ab", 1),
        ("pattern", c.t.like("a%"), 1),
        ("padded string", c.c == "xy", 1),
        ("list", c.n.in_([65535, 7]), 1),
        ("time", c.s == first, 1),
        ("time with fraction", c.s < first + datetime.timedelta(microseconds=1), 1),
        ("time with time zone", c.z == first.replace(tzinfo=UTC), 1),
        ("arithmetic", c.n + c.n == 131070, 1),
    ):
        found = conn.scalar(select(func.count()).where(condition).select_from(c.n.table))
        check(f"{driver}: {name}", found, expected)

    # columns that a program declares with core's types
    for name, type_, expected in (
        ("Numeric", Numeric(8, 2), D("1.25")),
        ("Numeric of floats", Numeric(8, 2, asdecimal=False), 1.25),
        ("Float", Float(), 1.25),
    ):
        declared = Table("expressions", MetaData(), Column("d", type_))
        query = select(declared.c.d).where(declared.c.d.is_not(None))
        check(f"{driver}: declared {name}", conn.scalar(query), expected)
    floats = Table("expressions", MetaData(), Column("d", dense.COMPACT_DECIMAL(4, 2, False)))
    query = select(floats.c.d).where(floats.c.d.is_not(None))
    check(f"{driver}: floats", conn.scalar(query), 1.25)
    table.drop(conn)


def objects(conn) -> None:
    """The object-relational mapper writes and reads compact types."""

    class Base(DeclarativeBase):
        pass

    class Item(Base):
        __tablename__ = "item"
        id: Mapped[int] = mapped_column(dense.UINT2, primary_key=True, autoincrement=False)
        name: Mapped[str] = mapped_column(dense.COMPACT_TEXT(20))
        price: Mapped[D] = mapped_column(dense.COMPACT_DECIMAL(4, 2))

    Base.metadata.create_all(conn)
    with Session(conn) as session:
        session.add_all(Item(id=i, name=f"item {i}", price=D(i) / 2) for i in range(3))
        session.commit()
        item = session.get(Item, 2)
        item.price += D("0.25")
        session.flush()
        session.expire_all()
        found = session.scalars(select(Item).order_by(Item.id.desc())).first()
        check("object", (found.id, found.name, found.price), (2, "item 2", D("1.25")))
    Base.metadata.drop_all(conn)


def schema(conn) -> None:
    """If the types' schema is not in the search_path, DDL names it."""
    columns = "a types.uint2, b types.compact_text(60), c types.compact_char24, d types.uint1[]"
    conn.execute(text(f"CREATE TABLE elsewhere ({columns}, e types.compact_decimal4_2)"))
    table = Table("elsewhere", MetaData(), autoload_with=conn)
    kinds = [type(one.type).__mro__[1].__name__ for one in table.c]
    check("types of a schema", kinds[:3], ["UINT2", "COMPACT_TEXT", "COMPACT_CHAR"])
    ddl = str(CreateTable(table).compile(conn))
    table.drop(conn)
    conn.execute(text(ddl))
    made = conn.execute(
        text(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = 'elsewhere'::regclass AND attnum > 0 ORDER BY attnum"
        )
    )
    expected = "types.uint2 types.compact_text(60) types.compact_char24 types.uint1[]"
    check("DDL with a schema", list(made.scalars())[:4], expected.split())
    conn.execute(text("DROP TABLE elsewhere"))


def split_tables(conn) -> None:
    """The key of a split table is that of the view."""
    inspector = inspect(conn)
    for method in ("shared_key", "surrogate_key", "row_pointer"):
        key = inspector.get_pk_constraint(f"split_{method}")
        check(
            f"{method}: key",
            (key["constrained_columns"], key["name"]),
            (["b", "a"], f"split_{method}_pkey"),
        )
        table = Table(f"split_{method}", MetaData(), autoload_with=conn)
        check(f"{method}: key of the table", [c.name for c in table.primary_key], ["b", "a"])
        key = inspector.get_foreign_keys(f"child_{method}")[0]
        check(
            f"{method}: foreign key",
            (key["referred_table"], key["referred_columns"]),
            (f"split_{method}", ["b", "a"]),
        )
    view = Table("plain_view", MetaData(), autoload_with=conn)
    check("another view has no key", list(view.primary_key), [])
    table = Table("split_shared_key", MetaData(), schema="public", autoload_with=conn)
    check("key, with a schema", [c.name for c in table.primary_key], ["b", "a"])
    table = Table("split_shared_key", MetaData(), schema="hidden", autoload_with=conn)
    check("key in another schema", [c.name for c in table.primary_key], ["c"])
    for child, table in (("child", "split_shared_key"), ("other_child", "split_row_pointer_hot")):
        key = inspector.get_foreign_keys(child, schema="hidden")[0]
        found = (key["referred_schema"], key["referred_table"])
        check(f"{child}: foreign key in another schema", found, ("hidden", table))
    metadata = MetaData()
    metadata.reflect(conn, views=True, only=["child_shared_key", "split_shared_key"])
    child = metadata.tables["child_shared_key"]
    check(
        "table of the foreign key",
        {f.column.table.name for f in child.foreign_keys},
        {"split_shared_key"},
    )


def migrations(conn) -> None:
    """Alembic finds no difference where there is none."""

    class Code(TypeDecorator):
        impl = String(20)
        cache_ok = True

    conn.execute(
        text(
            "CREATE TABLE migrated (a uint2, b compact_text(20), c compact_char24,"
            " d compact_decimal4_2, e seconds4, f seconds4tz, g compact_text, h int1,"
            " i compact_text(20), j uint4, k trained_text1(20))"
        )
    )
    context = MigrationContext.configure(
        conn,
        opts={
            "compare_type": dense.compare_type,
            "include_name": lambda name, kind, parents: kind != "table" or name == "migrated",
        },
    )
    same = {
        "the compact types": [
            dense.UINT2(),
            dense.COMPACT_TEXT(20),
            dense.COMPACT_CHAR(24),
            dense.COMPACT_DECIMAL(4, 2),
            dense.SECONDS4(),
            dense.SECONDS4TZ(),
            dense.COMPACT_TEXT(),
            dense.INT1(),
            dense.COMPACT_TEXT(20),
            dense.UINT4(),
            dense.TRAINED_TEXT(1, 20),
        ],
        "the types of the model": [
            BigInteger(),
            String(20),
            CHAR(24),
            Numeric(8, 2),
            DateTime(),
            DateTime(timezone=True),
            Text(),
            SmallInteger(),
            Code(),
            BigInteger(),
            String(20),
        ],
    }
    different = [
        String(20),
        String(30),
        CHAR(3),
        Numeric(8, 3),
        DateTime(timezone=True),
        dense.SECONDS4(),
        String(20),
        dense.UINT1(),
        Integer(),
        dense.UINT3(),
        dense.COMPACT_TEXT(20),
    ]

    def changes(types: list) -> list:
        metadata = MetaData()
        Table("migrated", metadata, *(Column(n, t) for n, t in zip("abcdefghijk", types)))
        return metadata, compare_metadata(context, metadata)

    for name, types in same.items():
        check(f"migration, {name}", changes(types)[1], [])
    metadata, found = changes(different)
    check("migration, differences", [one[0][3] for one in found], list("abcdefghijk"))
    code = render_python_code(produce_migrations(context, metadata).upgrade_ops)
    check("migration, text", "type_=pg_dense.sqlalchemy.SECONDS4()" in code, True)
    conn.execute(text("DROP TABLE migrated"))


def run(conn) -> None:
    everything = samples()
    values_of(conn, everything)
    reflection(conn, everything)
    expressions(conn)
    objects(conn)
    split_tables(conn)
    migrations(conn)


async def run_async() -> None:
    for name, function in ((database, run), (other, schema), (plain, nothing)):
        engine = create_async_engine(url(name))
        async with engine.connect() as conn:
            await conn.run_sync(function)
        await engine.dispose()


def nothing(conn) -> None:
    check("a database without compact types", conn.scalar(text("SELECT 1")), 1)
    conn.execute(text("CREATE TABLE nothing (a int PRIMARY KEY)"))
    table = Table("nothing", MetaData(), autoload_with=conn)
    check("its keys", [c.name for c in table.primary_key], ["a"])
    conn.rollback()


if driver != "psycopg":
    asyncio.run(run_async())
else:
    for name, function in ((database, run), (other, schema), (plain, nothing)):
        engine = create_engine(url(name))
        with engine.connect() as connection:
            function(connection)
        engine.dispose()
