"""Read and write compact types with psycopg 3, after pg_dense.psycopg.register().

	python -m clients.with_psycopg CONNINFO OTHER PLAIN < SAMPLES

In the database OTHER, the types are in the schema "My types", and another extension has a type that
is called uint1.  PLAIN has no compact types.
"""

import asyncio
import datetime
import decimal
import sys

import psycopg
from psycopg.pq import TransactionStatus

from clients.samples import UTC, Sample, check, samples
from pg_dense.psycopg import register, register_async

conninfo, other, plain = sys.argv[1:]


def values_of(conn: psycopg.Connection, sample: Sample) -> None:
    """Write and read all values, in both formats, in all ways."""
    type_ = sample.type
    rows = list(enumerate([*sample.values, None]))
    loaded = [*sample.loaded, None]
    conn.execute(f"CREATE TEMP TABLE p (id int, v {type_}, a {type_}[])")
    conn.cursor().executemany(
        "INSERT INTO p VALUES (%s, %s, %s)", [(i, value, [value, None]) for i, value in rows]
    )
    for binary in (False, True):
        cur = conn.cursor(binary=binary)
        what = f"{type_}, {'binary' if binary else 'text'}"
        query = f"SELECT v, a, ARRAY[a, a], v::{sample.wide} FROM p ORDER BY id"
        for prepare in (False, True, True):
            found = cur.execute(query, prepare=prepare).fetchall()
            expected = [(v, [v, None], [[v, None], [v, None]]) for v in loaded]
            check(f"{what}: values, prepare={prepare}", [row[:3] for row in found], expected)
        if sample.kind != "string" or sample.wide == "text":
            check(f"{what}: as {sample.wide}", [row[0] for row in found], [r[3] for r in found])
        empty = cur.execute(f"SELECT '{{}}'::{type_}[]").fetchone()[0]
        check(f"{what}: empty array", empty, [])

        # parameters of both formats find the rows
        placeholder = "%b" if binary else "%t"
        for prepare in (False, True, True):
            ids = [
                cur.execute(
                    f"SELECT id FROM p WHERE v = {placeholder}", (v,), prepare=prepare
                ).fetchall()
                for v in sample.values
            ]
            check(f"{what}: parameters, prepare={prepare}", ids, [[(i,)] for i, _ in rows[:-1]])

        # COPY, with the types named: any value of the type can be written
        cur.execute(f"CREATE TEMP TABLE c (v {type_}, a {type_}[])")
        form = "(FORMAT binary)" if binary else ""
        with cur.copy(f"COPY c FROM STDIN {form}") as copy:
            copy.set_types([type_, f"{type_}[]"])
            for _, value in rows:
                copy.write_row((value, [value, None]))
        with cur.copy(
            f"COPY (SELECT c.* FROM c JOIN p USING (v) ORDER BY id) TO STDOUT {form}"
        ) as copy:
            copy.set_types([type_, f"{type_}[]"])
            found = list(copy.rows())
        check(f"{what}: COPY", found, [(v, [v, None]) for v in loaded[:-1]])
        check(
            f"{what}: COPY of all", cur.execute("SELECT count(*) FROM c").fetchone()[0], len(rows)
        )
        cur.execute("DROP TABLE c")

        # a server-side cursor
        with conn.cursor("named", binary=binary) as named:
            named.execute("SELECT v FROM p ORDER BY id")
            check(f"{what}: cursor", [row[0] for row in named], loaded)
    conn.rollback()

    if sample.bad is not None:
        try:
            conn.execute(f"SELECT %s::text::{type_}", (sample.bad,))
            check(f"{type_}: error", None, sample.bad)
        except psycopg.errors.DataError as error:
            check(f"{type_}: error", error.sqlstate, sample.sqlstate)
        conn.rollback()


def description(conn: psycopg.Connection) -> None:
    """A column has the length, precision and scale that its name and modifier tell."""
    columns = conn.execute(
        "SELECT NULL::compact_text(60), NULL::compact_text, NULL::compact_char24, NULL::uint2,"
        " NULL::compact_decimal4_2, NULL::compact_decimal8_2,"
        " NULL::uint8"
    ).description
    check(
        "description",
        [(c.type_display, c.display_size, c.precision, c.scale) for c in columns],
        [
            ("compact_text", 60, None, None),
            ("compact_text", None, None, None),
            ("compact_char24", 24, None, None),
            ("uint2", None, None, None),
            ("compact_decimal4_2", None, 9, 2),
            ("compact_decimal8_2", None, 18, 2),
            ("uint8", None, 20, 0),
        ],
    )


def times(conn: psycopg.Connection) -> None:
    """A time is in the session's time zone.  An infinite time is a core type's matter."""
    conn.execute("SET LOCAL timezone = 'Asia/Tokyo'")
    for binary in (False, True):
        cur = conn.cursor(binary=binary)
        value = cur.execute("SELECT '2026-01-02 03:04:05+00'::seconds4tz").fetchone()[0]
        check(f"time zone, binary={binary}", value, value.astimezone(UTC).astimezone(value.tzinfo))
        check(f"hours, binary={binary}", value.utcoffset(), datetime.timedelta(hours=9))
        for literal in ("infinity", "-infinity"):
            for type_ in ("seconds4", "seconds4tz"):
                try:
                    with conn.transaction():
                        cur.execute(f"SELECT %t::{type_}", (literal,))
                    check(f"{literal} as {type_}, binary={binary}", None, "an error")
                except psycopg.errors.DatetimeFieldOverflow as error:
                    check(f"{literal} as {type_}, binary={binary}", error.sqlstate, "22008")
                wide = "timestamptz" if type_ == "seconds4tz" else "timestamp"
                cur.execute(f"SELECT v < %t::{wide} FROM (SELECT now()::{type_}) t (v)", (literal,))
                check(f"{type_} < {literal}, binary={binary}", cur.fetchone()[0], literal[0] == "i")
    conn.rollback()


def state() -> None:
    """register() leaves the connection as it was, and changes no parameter."""
    parameters = [1, 70000, decimal.Decimal(1), datetime.datetime(2026, 1, 2), [1]]
    query = f"SELECT {', '.join(['pg_typeof(%s)::text'] * len(parameters))}"
    with psycopg.connect(conninfo) as conn:
        before = conn.execute(query, parameters).fetchone()
        conn.rollback()
        names = {one.name for one in register(conn)}
        check("the transaction is over", conn.info.transaction_status, TransactionStatus.IDLE)
        check("parameters keep their types", conn.execute(query, parameters).fetchone(), before)
        check("again, in a transaction", {one.name for one in register(conn)}, names)
        check("it goes on", conn.info.transaction_status, TransactionStatus.INTRANS)
        check("all types", {one.type for one in everything} - names, set())
        check("no other type", [name for name in names if "column" in name], [])
    with psycopg.connect(conninfo, autocommit=True, client_encoding="SQL_ASCII") as conn:
        check("SQL_ASCII", {one.name for one in register(conn)}, names)
        check("autocommit", conn.info.transaction_status, TransactionStatus.IDLE)
        check("bytes as for text", conn.execute("SELECT 'x'::compact_text").fetchone()[0], b"x")
    with psycopg.connect(plain) as conn:
        check("no compact type", register(conn), [])
        check("no transaction", conn.info.transaction_status, TransactionStatus.IDLE)
    with psycopg.connect(other) as conn:
        found = {one.name: one for one in register(conn)}
        check("schema", {one.schema for one in found.values()}, {"My types"})
        check("regtype", found["uint2"].regtype, '"My types".uint2')
        row = conn.execute(
            "SELECT '7'::\"My types\".uint1, '{7}'::\"My types\".uint2[], '7'::uint1"
        )
        check("another type of the name", row.fetchone(), (7, [7], "7"))
    with psycopg.connect(conninfo) as conn:
        conn.adapters.register_loader("numeric", psycopg.types.numeric.FloatLoader)
        register(conn)
        row = conn.execute("SELECT '1.5'::compact_decimal4_2").fetchone()
        check("the loader of the connection", row, (1.5,))


async def asynchronous() -> None:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        types = await register_async(conn)
        check("async: all types", {s.type for s in everything} - {one.name for one in types}, set())
        check("async: no transaction", conn.info.transaction_status, TransactionStatus.IDLE)
        cur = await conn.execute("SELECT '5'::uint2, '{1.5}'::compact_decimal4_2[]")
        check("async: values", await cur.fetchone(), (5, [decimal.Decimal("1.50")]))


everything = samples()
with psycopg.connect(conninfo) as connection:
    connection.execute("SET timezone = 'UTC'")
    connection.commit()
    register(connection)
    for one in everything:
        values_of(connection, one)
    description(connection)
    times(connection)
state()
asyncio.run(asynchronous())

# register for all later connections
with psycopg.connect(conninfo) as connection:
    register(connection, psycopg.adapters)
with psycopg.connect(conninfo) as connection:
    row = connection.execute("SELECT '5'::uint2, '{5}'::uint2[]").fetchone()
    check("all later connections", row, (5, [5]))
