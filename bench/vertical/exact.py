"""Figures that do not depend on the machine.

The figures are bytes of new row versions, pages, WAL, buffers and sizes.  A run is one transaction
that calls Payment or New-Order many times, on a fresh copy of the database.  When the run ends,
none of its row versions can have been pruned yet.  So each new row version is found on its page, by
its xmin.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from bench.lib.console import BenchError
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.statistics import spread
from bench.tpcc.load import Scale, create_extensions
from bench.tpcc.sizes import PAGE, megabytes
from bench.vertical.partition import USUAL, stored
from bench.vertical.statements import NAMES, STATEMENTS, Statement, grid, sample_values
from bench.vertical.variants import ALL, ON, PLAIN, WHOLE, Variant

EXTENSIONS = ("pageinspect", "pg_buffercache", "pg_walinspect")
# Number of statements of each kind whose buffers are counted, and of statements before them, which
# fill the session's caches
SAMPLES, FIRST = 21, 3
LINES = 10

RANDOM = "(1 + (hashint8extended({key}, {salt}) & 9223372036854775807) % {count})::integer"


def _random(key: str, salt: int, count: int) -> str:
    return RANDOM.format(key=key, salt=salt, count=count)


def payments(calls: int, scale: Scale, seed: int) -> str:
    district, customer = _random("n", seed, 10), _random("n", seed + 1, scale.customers)
    return (
        f"SELECT count(tpcc_payment(1, d, 1, d, {customer}, 0, {_random('n', seed + 2, 500_000)}))"
        f" FROM generate_series(1, {calls}) AS n, LATERAL (SELECT {district} AS d OFFSET 0) AS chosen"
    )


def new_orders(calls: int, scale: Scale, seed: int) -> str:
    def lines(what: str) -> str:
        return f"ARRAY(SELECT {what} FROM generate_series(1, {LINES}) AS line)"

    key = f"n::bigint * {LINES} + line"
    return (
        f"SELECT count(tpcc_new_order(1, {_random('n', seed, 10)}, {_random('n', seed + 1, scale.customers)}, {LINES},"
        f" {lines(_random(key, seed + 2, scale.items))}, {lines('1')}, {lines(_random(key, seed + 3, 10))}))"
        f" FROM generate_series(1, {calls}) AS n"
    )


@dataclass(frozen=True)
class Work:
    """A statement with many calls that update rows of a table.

    A call updates one row of the table, or LINES rows.
    """

    table: str
    title: str
    updates: int
    statement: str
    # Primary key, to compare the rows afterwards
    key: str


def works(calls: int, scale: Scale, seed: int) -> tuple[Work, ...]:
    orders = max(1, calls // LINES)
    return (
        Work("customer", "Payment", calls, payments(calls, scale, seed), "c_w_id, c_d_id, c_id"),
        Work(
            "stock", "New-Order", orders * LINES, new_orders(orders, scale, seed), "s_w_id, s_i_id"
        ),
    )


# For one table: the number of row versions that a transaction made, and their bytes on the pages
# with their line pointers
VERSIONS = """
SELECT count(*), coalesce(sum((lp_len + 7) / 8 * 8 + 4), 0)::bigint
FROM generate_series(0, pg_relation_size({table}) / 8192 - 1) AS page,
    heap_page_items(get_raw_page({table}, page::integer))
WHERE t_xmin::text::bigint >= {xid}
"""
DIRTY = """
SELECT count(*) FROM pg_buffercache
WHERE isdirty AND relforknumber = 0
    AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND relfilenode = ANY (SELECT pg_relation_filenode(name::regclass) FROM unnest(%s::text[]) AS name)
"""
# Count a WAL record that has several blocks only once.
WAL = """
SELECT coalesce(sum(record_length), 0)::bigint
FROM (SELECT DISTINCT start_lsn, record_length
      FROM pg_get_wal_block_info(%s::pg_lsn, %s::pg_lsn, false)
      WHERE relforknumber = 0
          AND relfilenode = ANY (SELECT pg_relation_filenode(name::regclass) FROM unnest(%s::text[]) AS name)
     ) AS records
"""
INDEXES = (
    "SELECT array_agg(indexrelid::regclass::text) FROM pg_index"
    " WHERE indrelid = ANY (SELECT name::regclass FROM unnest(%s::text[]) AS name)"
)
DIGEST = "SELECT md5(string_agg(md5(t::text), '' ORDER BY {key})) FROM {table} AS t"


def _one(connection: psycopg.Connection, query: str, *parameters: object) -> Any:
    return connection.execute(query, parameters or None).fetchone()[0]


def measure(connection: psycopg.Connection, work: Work, variant: Variant) -> dict[str, Any]:
    """Measure a fresh copy.  Return a sample with a digest of the rows after the updates."""
    parts = stored(connection, [work.table])[work.table]
    indexes = _one(connection, INDEXES, parts)
    # WAL can be read only after it is flushed.
    connection.execute("SET synchronous_commit = on")
    connection.execute("CHECKPOINT")
    begin = _one(connection, "SELECT pg_current_wal_insert_lsn()")
    with connection.transaction():
        xid = _one(connection, "SELECT pg_current_xact_id()::text::bigint")
        connection.execute(work.statement)
    end = _one(connection, "SELECT pg_current_wal_flush_lsn()")
    sample: dict[str, Any] = {
        "test": "update",
        "table": work.table,
        "variant": variant.name,
        "updates": work.updates,
        "dirty_pages": _one(connection, DIRTY, parts),
        "dirty_index_pages": _one(connection, DIRTY, indexes),
        "wal_bytes": _one(connection, WAL, begin, end, [*parts, *indexes]),
    }
    versions = [
        connection.execute(
            sql.SQL(VERSIONS).format(table=sql.Literal(part), xid=sql.Literal(xid))
        ).fetchone()
        for part in parts
    ]
    sample["versions"] = [count for count, _ in versions]
    sample["bytes"] = sum(size for _, size in versions)
    sample["digest"] = _one(connection, DIGEST.format(key=work.key, table=work.table))
    if sample["versions"][0] != work.updates:
        raise BenchError(
            f"{variant.title}: {work.updates} updates of {work.table} left {sample['versions'][0]} new row versions"
        )
    return sample


def require_same(
    work: Work, variant: Variant, sample: Mapping[str, Any], plain: Mapping[str, Any]
) -> None:
    if sample["digest"] != plain["digest"]:
        raise BenchError(
            f"{variant.title}: {work.table} does not hold what the same updates left in the plain table"
        )


def buffers(
    connection: psycopg.Connection, statement: Statement, variant: Variant, scale: Scale
) -> list[int]:
    """Return the buffers that each execution used, with different keys.  Roll updates back."""
    counts = []
    for number in range(FIRST + SAMPLES):
        text = statement.with_values(variant, sample_values(statement.table, scale, number))
        with connection.transaction(force_rollback=True):
            (plan,) = _one(
                connection, f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {text}"
            )
        counts.append(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])
    return counts[FIRST:]


def require_plan(
    connection: psycopg.Connection,
    statement: Statement,
    variant: Variant,
    values: Mapping[str, int],
) -> None:
    """Raise an error unless the statement uses only the hot part.

    With the rewrite, a statement that needs only hot columns must not use the cold part.
    """
    text = statement.with_values(variant, values)
    plan = json.dumps(connection.execute(f"EXPLAIN {text}").fetchall())
    if not statement.is_hot(plan):
        raise BenchError(
            f"{variant.title}: {statement.metric} is not a statement on the hot part alone: {plan}"
        )


class Exact:
    def __init__(self, result: Result, server: Server, scale: Scale, calls: int) -> None:
        self.result = result
        self.server = server
        self.scale = scale
        self.works = works(calls, scale, result.seed)

    def steps(self) -> int:
        return len(WHOLE) * len(self.works)

    def measure(self) -> Iterator[None]:
        """Measure all variants, and yield after each step."""
        for variant in WHOLE:
            for work in self.works:
                variant.create(self.server)
                with self.server.connect(variant.database) as connection:
                    create_extensions(connection, EXTENSIONS)
                    if not self.result.samples:
                        self.result.describe_server(connection)
                    sample = measure(connection, work, variant)
                self.result.samples.append(sample)
                require_same(work, variant, sample, self.sample(work.table, PLAIN))
                yield
            self.server.drop_database(variant.database)

    def sample(self, table: str, variant: Variant) -> dict[str, Any]:
        return next(
            sample
            for sample in self.result.samples
            if (sample["test"], sample["table"], sample["variant"])
            == ("update", table, variant.name)
        )

    def count_buffers(self, variant: Variant, connection: psycopg.Connection) -> None:
        for statement in STATEMENTS:
            if variant.hot_only and not statement.hot_only:
                continue
            if statement.hot_only and variant in ON.values():
                require_plan(
                    connection, statement, variant, sample_values(statement.table, self.scale, 0)
                )
            self.result.samples.append(
                {
                    "test": "buffers",
                    "statement": statement.metric,
                    "variant": variant.name,
                    "buffers": buffers(connection, statement, variant, self.scale),
                }
            )

    def weigh(self) -> None:
        """Record the sizes of the tables as they are loaded."""
        for variant in (PLAIN, *ON.values()):
            with self.server.connect(variant.source) as connection:
                for name, parts in stored(connection, [work.table for work in self.works]).items():
                    for part in parts:
                        rows, heap, indexes = connection.execute(
                            sql.SQL(
                                "SELECT count(*), pg_relation_size({0}), pg_indexes_size({0}) FROM {1}"
                            ).format(sql.Literal(part), sql.Identifier(part))
                        ).fetchone()
                        self.result.samples.append(
                            {
                                "test": "size",
                                "table": name,
                                "variant": variant.name,
                                "part": part,
                                "rows": rows,
                                "heap": heap,
                                "indexes": indexes,
                            }
                        )

    def show(self) -> None:
        self.show_updates()
        self.show_sizes()
        self.show_buffers()

    def show_updates(self) -> None:
        metrics, rows = self.result.metrics, []
        for work in self.works:
            plain = self.sample(work.table, PLAIN)
            for variant in WHOLE:
                sample = self.sample(work.table, variant)
                cells: list[object] = []
                for name in ("bytes", "dirty_pages", "wal_bytes"):
                    each, ratio = sample[name] / work.updates, sample[name] / plain[name]
                    cells += [
                        f"{each:.3f}" if name == "dirty_pages" else f"{each:.1f}",
                        f"{ratio:.3f}",
                    ]
                    if variant is not PLAIN:
                        kind = {"bytes": "bytes", "dirty_pages": "pages", "wal_bytes": "wal"}[name]
                        metrics[
                            f"{kind}_per_update.{work.table}.{variant.name.removesuffix('.on')}"
                        ] = ratio
                cold = f"{sample['versions'][1]:,}" if len(sample["versions"]) > 1 else ""
                rows.append(
                    [
                        f"{work.title}, {work.table}: {variant.title}",
                        f"{work.updates:,}",
                        cold,
                        *cells,
                    ]
                )
            metrics[f"bytes_per_update.{work.table}"] = metrics[
                f"bytes_per_update.{work.table}.{USUAL[work.table]}"
            ]
        self.result.table(
            "Writes of one update of a random key: bytes of new row versions with their line pointers; heap pages that"
            " are dirty after all updates; WAL of heap and indexes without full-page images; ratios to the plain table",
            [
                "",
                "updates",
                "updates of the cold part",
                "bytes",
                "ratio",
                "pages",
                "ratio",
                "WAL bytes",
                "ratio",
            ],
            rows,
            "updates",
        )

    def show_sizes(self) -> None:
        rows = []
        for work in self.works:
            totals: dict[str, int] = {}
            for variant in (PLAIN, *ON.values()):
                found = [
                    sample
                    for sample in self.result.samples
                    if sample["test"] == "size"
                    and (sample["table"], sample["variant"]) == (work.table, variant.name)
                ]
                total = totals[variant.name] = sum(
                    sample["heap"] + sample["indexes"] for sample in found
                )
                ratio = total / totals[PLAIN.name]
                if variant.method:
                    self.result.metrics[f"size.{work.table}.{variant.method}"] = ratio
                rows += [
                    [
                        f"{sample['part']}" + (f", {variant.method}" if variant.method else ""),
                        f"{sample['heap'] / sample['rows']:.1f}"
                        if sample["heap"] > PAGE
                        else "one page",
                        megabytes(sample["heap"]),
                        megabytes(sample["indexes"]),
                        f"{ratio:.3f}" if sample is found[-1] else "",
                    ]
                    for sample in found
                ]
        self.result.table(
            "Sizes as loaded; ratio: all parts with their indexes to the plain table",
            ["", "bytes a row", "heap", "indexes", "ratio"],
            rows,
            "sizes",
        )

    def show_buffers(self) -> None:
        counts = {
            (sample["statement"], sample["variant"]): spread(sample["buffers"])[0]
            for sample in self.result.samples
            if sample["test"] == "buffers"
        }

        def cell(statement: Statement, variant: Variant) -> str:
            count = counts.get((statement.metric, variant.name))
            return "" if count is None else f"{count:.0f}"

        self.result.table(
            "Buffers that one statement uses, hit or read: median",
            ["", *NAMES],
            grid(ALL, cell),
            "buffers",
        )
