"""Bytes an entry by the shape of its key: indexes built at MAXALIGN against the key's alignment."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import click
import psycopg
from rich.progress import Progress

from bench.indexes.alignment import (
    AUTO,
    MAX,
    MAXALIGN,
    STOCK,
    choose,
    index_size,
    leaf_bytes,
    require,
    verify,
    wanted,
)
from bench.indexes.shapes import SHAPES, Shape
from bench.lib.bars import Bar, show_bars
from bench.lib.console import note, progress
from bench.lib.options import common, lite, running
from bench.lib.paths import bindir, build_hint
from bench.lib.result import Result
from bench.lib.server import Cluster, RunningServer, Server
from bench.lib.session import quietly, session
from bench.studies import index_speed, index_tpcc
from bench.tpcc.load import FULL, LITE, LOAD_SETTINGS, create_extensions

DATABASE = "bench_index_size"
PAGE = 8192
# An index that is built of all rows at once, and one that grows by rows in random order
WAYS = ("built", "inserted")

SIZE_BARS = (
    Bar("int4", "int4, unique: auto against max", 0.805),
    Bar("int4x3", "(int4, int4, int4)", 0.86),
    Bar("int2", "int2, unique", 0.72),
    Bar("worst", "largest ratio of all keys", 1.001),
    Bar("max_vs_stock", "max against stock, all keys: largest difference of one key", 1.0),
    Bar(
        "tpcc.total",
        "TPC-C, plain types, DBT-2's key of stock: all indexes, auto against max",
        0.95,
    ),
)


@dataclass
class Sizes:
    """For one shape, bytes of the main fork by kind of session and way to fill the index."""

    shape: Shape
    rows: int
    align: int = MAXALIGN
    # The computed ratio of the bytes of all leaf tuples
    bound: float = 1.0
    bytes: dict[str, dict[str, int]] = field(default_factory=dict)

    def ratio(self, way: str, kind: str = AUTO, base: str = MAX) -> float:
        return self.bytes[kind][way] / self.bytes[base][way]

    @property
    def off_stock(self) -> float:
        """Return the factor by which max and stock differ, the larger one to the smaller one."""
        ratios = [self.ratio(way, MAX, STOCK) for way in WAYS] if STOCK in self.bytes else []
        return max((max(ratio, 1 / ratio) for ratio in ratios), default=1.0)

    def row(self) -> list[object]:
        cells: list[object] = [self.shape.title, f"{self.rows:,}", str(self.align)]
        for way in WAYS:
            cells += [f"{self.bytes[kind][way] // PAGE:,}" for kind in (MAX, AUTO)]
            cells.append(f"{self.ratio(way):.3f}")
            if way == "built":
                cells.append(f"{self.bound:.3f}")
        if STOCK in self.bytes:
            cells.append(
                "same"
                if self.off_stock == 1
                else " ".join(f"{self.bytes[STOCK][way]:,}" for way in WAYS)
            )
        else:
            cells.append("")
        return cells


@dataclass
class Study:
    result: Result
    rows: int
    server: Server
    stock: Server | None

    def sizes(self, bars: Progress) -> None:
        servers = [(self.server, (MAX, AUTO))]
        if self.stock:
            servers.append((self.stock, (STOCK,)))
        task = bars.add_task("keys", total=len(SHAPES) * len(servers))
        measured = {shape.name: Sizes(shape, shape.rows(self.rows)) for shape in SHAPES}
        for server, kinds in servers:
            with server.connect(DATABASE) as connection:
                prepare(connection)
                for shape in SHAPES:
                    # The stock server may not have our extensions.
                    if (
                        server is self.server
                        or not shape.extension
                        or available(connection, shape.extension)
                    ):
                        self.measure(connection, measured[shape.name], kinds)
                    bars.advance(task)
        self.show(list(measured.values()))

    def measure(self, connection: psycopg.Connection, sizes: Sizes, kinds: tuple[str, ...]) -> None:
        shape = sizes.shape
        if shape.extension:
            create_extensions(connection, (shape.extension,))
        # With wal_level = minimal, private instances write no WAL for tables and indexes created in
        # the same transaction.
        with connection.transaction(force_rollback=True):
            self.build(connection, sizes, kinds)

    def build(self, connection: psycopg.Connection, sizes: Sizes, kinds: tuple[str, ...]) -> None:
        shape = sizes.shape
        connection.execute(shape.create_table("source"))
        connection.execute(shape.fill("source", self.rows, self.result.seed))
        for kind in kinds:
            choose(connection, kind)
            connection.execute(shape.create_index("built", "source"))
            connection.execute(shape.create_table("target"))
            connection.execute(shape.create_index("inserted", "target"))
            connection.execute("INSERT INTO target SELECT * FROM source")
            taken = sizes.bytes[kind] = {}
            for way in WAYS:
                align = verify(connection, way, kind)
                taken[way] = index_size(connection, way)
                self.result.samples.append(
                    {
                        "test": "size",
                        "key": shape.name,
                        "kind": kind,
                        "way": way,
                        "align": align,
                        "rows": sizes.rows,
                        "bytes": taken[way],
                        "pages": taken[way] // PAGE,
                    }
                )
            if kind == AUTO:
                sizes.align = wanted(connection, "built", AUTO)
                aligned, widest = (
                    leaf_bytes(connection, shape, "source", align)
                    for align in (sizes.align, MAXALIGN)
                )
                sizes.bound = aligned / widest
            connection.execute("DROP INDEX built; DROP TABLE target")

    def show(self, measured: list[Sizes]) -> None:
        metrics = self.result.metrics
        for way, suffix in (("built", ""), ("inserted", ".inserted")):
            for sizes in measured:
                metrics[sizes.shape.name + suffix] = sizes.ratio(way)
            metrics["worst" + suffix] = max(sizes.ratio(way) for sizes in measured)
        if any(STOCK in sizes.bytes for sizes in measured):
            metrics["max_vs_stock"] = max(sizes.off_stock for sizes in measured)
        self.result.table(
            "Pages of an index by its key, at item alignment max and auto: built by CREATE INDEX, and filled in random"
            " order; bound: size of all leaf tuples with their line pointers, auto to max",
            [
                "key",
                "entries",
                "alignment at auto",
                "built: max",
                "built: auto",
                "ratio",
                "bound",
                "inserted: max",
                "inserted: auto",
                "ratio",
                "max and stock",
            ],
            [sizes.row() for sizes in measured],
            "keys",
        )


def available(connection: psycopg.Connection, extension: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM pg_available_extensions WHERE name = %s", [extension]
    ).fetchone()
    return found is not None


def prepare(connection: psycopg.Connection) -> None:
    create_extensions(connection, ("pageinspect",))
    # Read rows in the order of the table, and build indexes with one backend.
    connection.execute(
        "SET synchronize_seqscans = off; SET max_parallel_maintenance_workers = 0;"
        " SET max_parallel_workers_per_gather = 0; SET jit = off; SET maintenance_work_mem = '256MB'"
    )


def version(server: Server) -> str:
    with server.connect() as connection:
        return connection.execute("SELECT version()").fetchone()[0]


def start(stack: ExitStack, name: str, binary: str) -> Cluster:
    cluster = Cluster(name, bindir(binary))
    cluster.remove()
    stack.callback(quietly, cluster.remove)
    cluster.start(LOAD_SETTINGS)
    return cluster


def start_stock(stack: ExitStack) -> Cluster | None:
    if not (bindir("stock") / "postgres").exists():
        note(
            f'no stock server: the comparison with it is left out; build one with "{build_hint("stock")}"'
        )
        return None
    return start(stack, "bench-index-size-stock", "stock")


def run(
    rows: int,
    rounds: int,
    warehouses: int,
    seed: int,
    quick: bool,
    running: bool,
    lite: bool,
    exact: bool,
    target: Path | None,
) -> None:
    result = Result("index-size", seed, quick)
    result.describe(rows=rows, rounds=rounds, warehouses=warehouses, lite=lite, exact=exact)
    with session() as stack:
        server: Server = RunningServer() if running else start(stack, "bench-index-size", "dense")
        with server.connect() as connection:
            require(connection)
        stock = None if running else start_stock(stack)
        servers = [server, stock] if stock else [server]
        for each in servers:
            each.create_database(DATABASE)
            stack.callback(quietly, each.drop_database, DATABASE)
        with server.connect(DATABASE) as connection:
            result.describe_server(
                connection, **{"compared with": version(stock) if stock else "nothing"}
            )
        with progress() as bars:
            Study(result, rows, server, stock).sizes(bars)
        index_tpcc.measure(result, server, warehouses, LITE if lite else FULL)
        bars_shown = list(SIZE_BARS)
        if not exact:
            for each in servers:
                if isinstance(each, Cluster):
                    each.stop()
                    each.start(index_speed.SETTINGS)
            bars_shown += index_speed.Study(result, rows, rounds, server, stock, DATABASE).run()
        show_bars(result, bars_shown)
    result.save(target)


@click.command("index-size", short_help="Bytes and time of B-tree indexes by item alignment.")
@common
@running
@lite
@click.option(
    "--rows",
    type=click.IntRange(1000),
    help="Rows of an index; default: 400000, or 20000 with --quick.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help="Repeats of each timed test; default: 21, or 3 with --quick.",
)
@click.option(
    "--warehouses",
    type=click.IntRange(1),
    help="Warehouses of TPC-C; default: 10, or 1 with --quick.",
)
@click.option(
    "--exact", is_flag=True, help="Sizes only, which do not depend on the machine; no times."
)
def command(
    rows: int | None, rounds: int | None, warehouses: int | None, quick: bool, **options
) -> None:
    """B-tree indexes with item alignment max and auto.

    The study measures bytes by the shape of the key, bytes of TPC-C's indexes, and time.
    """
    run(
        rows=rows or (20_000 if quick else 400_000),
        rounds=rounds or (3 if quick else 21),
        warehouses=warehouses or (1 if quick else 10),
        quick=quick,
        **options,
    )
