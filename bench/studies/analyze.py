"""ANALYZE with few blocks: errors of estimates on generated tables, and blocks read."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import click
import numpy
import psycopg
from psycopg import sql

from bench.lib.bars import Bar, show_bars
from bench.lib.console import BenchError, progress
from bench.lib.options import common, fill_in
from bench.lib.paths import bindir
from bench.lib.result import Result
from bench.lib.server import Cluster, has_stock
from bench.lib.session import quietly, session
from bench.lib.statistics import paired_ratio

SETTING = "analyze_max_blocks"
# The limit, as a share of the blocks of the table
SHARE = 0.15
SETTINGS = {
    "fsync": "off",
    "shared_buffers": "128MB",
    "autovacuum": "off",
    "max_wal_size": "4GB",
    "jit": "off",
}
# h() is a pseudo-random number from 0 to 1 that depends on the row, the seed and the column.
FUNCTION = """CREATE FUNCTION h(n int, seed bigint) RETURNS float8 IMMUTABLE STRICT LANGUAGE sql
AS 'SELECT hashint8extended(n, seed)::float8 / 18446744073709551616 + 0.5'"""
# Each column is an expression of the number of the row, i, and of the seed.
COLUMNS = {
    "key": "i",
    "uniform1000": "(h(i, seed) * 1000)::int",
    "uniform20000": "(h(i, seed + 1) * 20000)::int",
    "uniform100000": "(h(i, seed + 2) * 100000)::int",
    "few": "(h(i, seed + 3) * 4)::int",
    "zipf": "floor(exp(h(i, seed + 4) * ln(50000)))::int",
    "skewed": "floor(10000 * power(h(i, seed + 5), 3))::int",
    "sorted10": "i / 10",
    "clustered3": "i / 3 * 7919 % 80021",
    "clustered10": "i / 10 * 7919 % 24001",
    "clustered100": "i / 100 * 7919 % 2411",
    "recurring": "i / 50 % 500",
    "recurring20": "i / 20 * 7 % 3001",
    "position": "(i + (h(i, seed + 6) * 2000)::int) / 25",
    "holes": "CASE WHEN i % 3 <> 0 THEN i / 10 END",
    "unordered": "(i / 10 * 7919 % 24001)::text::xid",
}
MEASURES = {
    "distinct.median": "number of distinct values: median q-error",
    "distinct.worst": "number of distinct values: worst q-error",
    "equal.median": "rows equal to a value: median q-error",
    "equal.worst": "rows equal to a value: worst q-error",
    "blocks": "blocks read",
}
MOST = {"median": 1.05, "worst": 1.5, "blocks": SHARE}
BARS = tuple(
    Bar(f"{name}.vs_stock", f"{title}, limit to stock", MOST[name.rpartition(".")[2]])
    for name, title in MEASURES.items()
)


def load(connection: psycopg.Connection, rows: int, seed: int) -> None:
    columns = ", ".join(f"{code} AS {name}" for name, code in COLUMNS.items())
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute(
        f"CREATE TABLE t AS SELECT {columns} FROM generate_series(1, {rows}) i,"
        f" (VALUES ({seed}::bigint)) s (seed)"
    )


def truth(
    connection: psycopg.Connection, values: int, seed: int
) -> Mapping[str, tuple[int, Sequence[tuple[str, int]]]]:
    """Return for each column the number of distinct values, and the rows of some of them.

    Half of these values are drawn from the values, the other half from the rows.
    """
    generator = numpy.random.default_rng(seed)
    found = {}
    for name in COLUMNS:
        column = sql.Identifier(name)
        counts = connection.execute(
            sql.SQL(
                "SELECT {0}::text, count(*) FROM t WHERE {0} IS NOT NULL GROUP BY 1 ORDER BY 1"
            ).format(column)
        ).fetchall()
        weights = numpy.array([count for _, count in counts], dtype=float)
        drawn = [
            *generator.choice(len(counts), values // 2),
            *generator.choice(len(counts), values - values // 2, p=weights / weights.sum()),
        ]
        found[name] = (len(counts), [counts[number] for number in drawn])
    return found


def q_error(estimate: float, true: float) -> float:
    estimate = max(estimate, 1.0)
    return max(estimate / true, true / estimate)


def estimates(
    connection: psycopg.Connection, known: Mapping, limit: int | None
) -> dict[str, float]:
    """Run ANALYZE, and return the measures."""
    notices: list[str] = []
    handler = lambda diagnostic: notices.append(diagnostic.message_primary)  # noqa: E731
    if limit is not None:
        connection.execute(f"SET {SETTING} = {limit}")
    connection.add_notice_handler(handler)
    connection.execute("ANALYZE VERBOSE t")
    connection.remove_notice_handler(handler)
    (scanned,) = [notice for notice in notices if ": scanned " in notice]
    distinct = []
    equal = []
    for name, (count, values) in known.items():
        (estimate,) = connection.execute(
            "SELECT CASE WHEN n_distinct < 0 THEN -n_distinct * reltuples ELSE n_distinct END"
            " FROM pg_stats JOIN pg_class ON oid = 't'::regclass"
            " WHERE tablename = 't' AND attname = %s",
            [name],
        ).fetchone()
        distinct.append(q_error(estimate, count))
        for value, rows in values:
            (plan,) = connection.execute(
                sql.SQL("EXPLAIN (FORMAT JSON) SELECT FROM t WHERE {} = {}").format(
                    sql.Identifier(name), sql.Literal(value)
                )
            ).fetchone()
            plan = json.loads(plan) if isinstance(plan, str) else plan
            equal.append(q_error(plan[0]["Plan"]["Plan Rows"], rows))
    return {
        "distinct.median": float(numpy.median(distinct)),
        "distinct.worst": max(distinct),
        "equal.median": float(numpy.median(equal)),
        "equal.worst": max(equal),
        "blocks": float(scanned.partition(": scanned ")[2].split()[0]),
    }


def measure(result: Result, stack: ExitStack, rows: int, rounds: int, values: int) -> None:
    clusters = {"dense": Cluster("bench-analyze", bindir("dense"))}
    if not clusters["dense"].has_setting(SETTING):
        raise BenchError(
            f'the server has no setting "{SETTING}": bgvacuum_patch is not in it, run "make server"'
        )
    if has_stock():
        clusters["stock"] = Cluster("bench-analyze-stock", bindir("stock"))
    connections = {}
    for name, cluster in clusters.items():
        stack.callback(quietly, cluster.remove)
        cluster.start(SETTINGS)
        connections[name] = stack.enter_context(cluster.connect())
        connections[name].execute(FUNCTION)
    result.describe_server(connections["dense"])
    variants = [*(["stock"] if "stock" in clusters else []), "off", "limit"]
    measured: dict[str, list[dict[str, float]]] = {variant: [] for variant in variants}
    with progress() as bars:
        task = bars.add_task("tables", total=rounds * len(variants))
        for number in range(rounds):
            seed = result.seed * 1000 + number * 10
            for connection in connections.values():
                load(connection, rows, seed)
            known = truth(connections["dense"], values, seed)
            (blocks,) = (
                connections["dense"].execute("SELECT pg_relation_size('t') / 8192").fetchone()
            )
            for variant in variants:
                sample = estimates(
                    connections["stock" if variant == "stock" else "dense"],
                    known,
                    {"stock": None, "off": 0, "limit": int(blocks * SHARE)}[variant],
                )
                measured[variant].append(sample)
                result.samples.append(
                    {"round": number, "variant": variant, "table": blocks, **sample}
                )
                bars.advance(task)
    result.table(
        f"{len(COLUMNS)} columns of {rows:,} rows, limit of {SHARE:.0%} of the blocks, medians of {rounds} tables",
        ["", *variants],
        [
            [title]
            + [
                f"{float(numpy.median([sample[name] for sample in measured[variant]])):.3f}"
                for variant in variants
            ]
            for name, title in MEASURES.items()
        ],
        "errors",
    )
    for base in variants[:-1]:
        for name in MEASURES:
            result.ratio(
                f"{name}.vs_{base}",
                paired_ratio(
                    [sample[name] for sample in measured["limit"]],
                    [sample[name] for sample in measured[base]],
                    result.seed,
                ),
            )
    show_bars(result, BARS)


@click.command(
    "analyze", short_help="Errors of estimates, and blocks read, with a limit of blocks."
)
@common
@click.option(
    "--rows", type=click.IntRange(1000), help="Rows; default: 240000, or 60000 with --quick."
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help="Tables with other values; default: 5, or 1 with --quick.",
)
@click.option(
    "--values",
    type=click.IntRange(2),
    help="Values of each column to estimate; default: 40, or 4 with --quick.",
)
def command(target: Path | None, quick: bool, seed: int, **options) -> None:
    """Errors of estimates after ANALYZE that reads few blocks.

    The study compares a limit of 15 % of the blocks with no limit and with a stock server.
    """
    fill_in(options, quick, rows=(240000, 60000), rounds=(5, 1), values=(40, 4))
    result = Result("analyze", seed, quick)
    result.describe(**options)
    result.environment["settings of all"] = SETTINGS
    with session() as stack:
        measure(result, stack, **options)
    result.save(target)
