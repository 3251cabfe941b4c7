"""Read and write compact types with asyncpg, after pg_dense.asyncpg.register().

	python -m clients.with_asyncpg DATABASE OTHER PLAIN < SAMPLES

In the database OTHER, the types are in the schema "My types", and another extension has a type that
is called uint1.  PLAIN has no compact types.
"""

import asyncio
import sys

import asyncpg

from clients.samples import Sample, check, samples
from pg_dense.asyncpg import register

database, other, plain = sys.argv[1:]


async def values_of(conn: asyncpg.Connection, sample: Sample) -> None:
    """Write and read all values, in all ways."""
    type_ = sample.type
    loaded = [*sample.loaded, None]
    rows = [(i, value, [value, None]) for i, value in enumerate([*sample.values, None])]
    await conn.execute(f"CREATE TEMP TABLE p (id int, v {type_}, a {type_}[])")
    await conn.executemany("INSERT INTO p VALUES ($1, $2, $3)", rows)
    found = await conn.fetch("SELECT v, a, ARRAY[a, a] FROM p ORDER BY id")
    expected = [(v, [v, None], [[v, None], [v, None]]) for v in loaded]
    check(f"{type_}: values", [tuple(row) for row in found], expected)

    statement = await conn.prepare(f"SELECT id FROM p WHERE v = $1::{type_}")
    ids = [[row[0] for row in await statement.fetch(v)] for v in sample.values]
    check(f"{type_}: prepared", ids, [[i] for i in range(len(sample.values))])
    query = f"SELECT id FROM p WHERE v = $1::{sample.wide}"
    ids = [await conn.fetchval(query, v) for v in sample.values]
    check(f"{type_}: parameters of the core type", ids, list(range(len(sample.values))))
    if sample.kind != "string":
        # The server says that the parameter is a text, because a text holds every value.
        query = "SELECT id FROM p WHERE v = $1"
        ids = [await conn.fetchval(query, str(v)) for v in sample.values]
        check(f"{type_}: parameters without a type", ids, list(range(len(sample.values))))
    count = await conn.fetchval(
        f"SELECT count(*) FROM p WHERE v = ANY($1::{type_}[])", sample.values
    )
    check(f"{type_}: list", count, len(sample.values))

    # COPY, always in binary format
    await conn.execute("CREATE TEMP TABLE c (LIKE p)")
    await conn.copy_records_to_table("c", records=rows)
    found = await conn.fetch("SELECT v, a FROM c ORDER BY id")
    check(f"{type_}: COPY", [tuple(row) for row in found], [(v, [v, None]) for v in loaded])

    if sample.bad is not None:
        try:
            await conn.execute(f"SELECT '{sample.bad}'::{type_}")
            check(f"{type_}: error", None, sample.sqlstate)
        except asyncpg.DataError as error:
            check(f"{type_}: error", error.sqlstate, sample.sqlstate)
    await conn.execute("DROP TABLE p, c")


async def run() -> None:
    everything = samples()
    async with asyncpg.create_pool(database=database, init=register, min_size=1) as pool:
        async with pool.acquire() as conn:
            for sample in everything:
                await values_of(conn, sample)
    conn = await asyncpg.connect(database=database)
    names = {one.name for one in await register(conn)}
    check("all types", {one.type for one in everything} - names, set())
    await conn.close()

    conn = await asyncpg.connect(database=other)
    check("schema", {one.schema for one in await register(conn)}, {"My types"})
    row = await conn.fetchrow("SELECT '7'::\"My types\".uint1, '{7}'::\"My types\".uint2[]")
    check("types of a schema", tuple(row), (7, [7]))
    await conn.close()

    conn = await asyncpg.connect(database=plain)
    check("no compact type", await register(conn), [])
    await conn.close()


asyncio.run(run())
