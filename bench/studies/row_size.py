"""Bytes a row of the nine TPC-C tables, stock types against compact strings."""

from contextlib import ExitStack
from pathlib import Path

from bench.lib.console import console, progress
from bench.lib.paths import bindir
from bench.lib.result import Result
from bench.lib.server import Cluster, RunningServer, Server
from bench.lib.session import quietly, session
from bench.tpcc.load import FULL, LITE, LOAD_SETTINGS, Scale, load
from bench.tpcc.sizes import DatabaseSize, database_size, percent, row_size_rows, total_rows
from bench.tpcc.stages import Stage, stages

COLUMNS = ["table", "rows", "stock types", "compact types", "change", "tuple, stock", "tuple, compact"]


def measure(server: Server, stage: Stage, warehouses: int, scale: Scale, seed: int) -> DatabaseSize:
    database = "bench_row_size"
    try:
        with progress() as bars:
            load(server, database, stage, warehouses, scale, seed, bars)
        with server.connect(database) as connection:
            return database_size(connection)
    finally:
        quietly(server.drop_database, database)


def add_metrics(result: Result, prefix: str, baseline: DatabaseSize, other: DatabaseSize) -> None:
    for name, before in baseline.tables.items():
        result.metrics[f"{prefix}{name}.strings"] = other.tables[name].heap / before.heap
    result.metrics[f"{prefix}heap.strings"] = other.heap / baseline.heap
    result.metrics[f"{prefix}indexes.strings"] = other.indexes / baseline.indexes


def run(warehouses: int, seed: int, quick: bool, running: bool, lite: bool, target: Path | None) -> None:
    result = Result("row-size", seed, quick)
    scale = LITE if lite else FULL
    result.describe(warehouses=warehouses, items=scale.items, customers_per_district=scale.customers)
    with session() as stack:
        server = start(stack, "bench-row-size", running)
        with server.connect() as connection:
            result.describe_server(connection)
        # The second money type shows how much of a gain is owed to where the tuple falls on its alignment.
        for prefix, variants in (("", ()), ("numeric-money.", ("numeric-money",)))[: 1 if quick else 2]:
            sizes = [
                measure(server, stage, warehouses, scale, seed)
                for stage in stages(("stock", "compact-types"), variants)
            ]
            add_metrics(result, prefix, *sizes)
            result.samples += [
                {"variant": prefix.rstrip("."), "stage": stage, **size.as_json()}
                for stage, size in zip(("stock", "compact-types"), sizes)
            ]
            note = " (variant: amounts as numeric)" if variants else ""
            result.table("Bytes a row on whole pages" + note, COLUMNS, row_size_rows(*sizes), f"{prefix}rows")
            result.table(
                "Totals" + note, ["", "stock types", "compact types", "change"], total_rows(*sizes), f"{prefix}totals"
            )
    console.print(
        f"order_line {percent(result.metrics['order_line.strings'])}, stock {percent(result.metrics['stock.strings'])},"
        f" heap {percent(result.metrics['heap.strings'])}"
    )
    result.save(target)


def start(stack: ExitStack, name: str, running: bool) -> Server:
    """A fresh private instance that goes away with the session, or the one that runs already."""
    if running:
        return RunningServer()
    cluster = Cluster(name, bindir("dense"))
    cluster.remove()
    stack.callback(quietly, cluster.remove)
    cluster.start(LOAD_SETTINGS)
    return cluster
