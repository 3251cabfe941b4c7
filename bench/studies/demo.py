"""TPC-C with stock types and with compact types in one private instance, side by side."""

import os

import click
from rich.table import Table

from bench.lib.console import console, progress
from bench.lib.options import major, seed
from bench.lib.paths import bindir, work
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.lib.statistics import interleave, spread
from bench.tpcc import check, workload
from bench.tpcc.load import FULL, LOAD_SETTINGS, load
from bench.tpcc.sizes import PAGE, DatabaseSize, database_size, percent, row_size_rows, total_rows
from bench.tpcc.stages import Stage, stages

NAME = "demo"
WAREHOUSES = 2
CLIENTS = 4
SLICES = 3
SLICE = 5
WARMUP = 1
SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB", "jit": "off"}


def database(stage: Stage) -> str:
    return "tpcc_" + stage.name.partition("-")[0]


def run(keep: bool, seed: int) -> None:
    result = Result("demo", seed)
    result.describe(
        warehouses=WAREHOUSES, clients=CLIENTS, load=f"{SLICES} x {SLICE} s of each, alternating"
    )
    chosen = stages(("stock", "compact-types"))
    with session() as stack:
        cluster = Cluster(NAME, bindir("dense"))
        cluster.remove()
        undo = stack.enter_context(_removed_unless_kept(cluster))
        cluster.start(LOAD_SETTINGS)
        with progress() as bars:
            for stage in chosen:
                load(cluster, database(stage), stage, WAREHOUSES, FULL, seed, bars)
        cluster.stop()
        cluster.start(SETTINGS)
        with cluster.connect() as connection:
            result.describe_server(connection)
        sizes = []
        for stage in chosen:
            with cluster.connect(database(stage)) as connection:
                sizes.append(database_size(connection))
        throughput = measure(cluster, chosen, seed)
        met = conditions(cluster, chosen)
        show(sizes, throughput, met)
        if keep:
            undo.keep = True
    farewell(cluster, chosen, keep)


class _removed_unless_kept:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.keep = False

    def __enter__(self) -> "_removed_unless_kept":
        return self

    def __exit__(self, *_exception: object) -> None:
        if not self.keep:
            quietly(self.cluster.remove)


def measure(cluster: Cluster, chosen: list[Stage], seed: int) -> dict[str, list[float]]:
    throughput: dict[str, list[float]] = {stage.name: [] for stage in chosen}
    plan = workload.Load(WAREHOUSES, FULL, CLIENTS, WARMUP, SLICE, seed)
    with progress() as bars:
        task = bars.add_task(
            "TPC-C load, alternating: seconds", total=len(chosen) * SLICES * (WARMUP + SLICE)
        )
        for number, stage in interleave(chosen, SLICES):
            sample = workload.run(
                cluster,
                database(stage),
                plan,
                work() / "demo",
                number,
                lambda passed: bars.advance(task, passed),
            )
            throughput[stage.name].append(sample["notpm"])
        bars.update(task, completed=bars.tasks[task].total)
    return throughput


def conditions(cluster: Cluster, chosen: list[Stage]) -> list[str]:
    met = []
    with progress() as bars:
        task = bars.add_task(
            "databases that meet all twelve consistency conditions", total=len(chosen)
        )
        for stage in chosen:
            with cluster.connect(database(stage)) as connection:
                met.append(check.check(connection, stage.title))
            bars.advance(task)
    return met


def show(sizes: list[DatabaseSize], throughput: dict[str, list[float]], met: list[str]) -> None:
    stock, compact = sizes
    table = Table(
        title=f"TPC-C, {WAREHOUSES} warehouses: the same server and transactions, only types and column order differ",
        title_justify="left",
    )
    for number, column in enumerate(("", "stock types", "compact types", "change")):
        table.add_column(column, justify="left" if number == 0 else "right")
    for name, _, before, after, change, *_ in row_size_rows(stock, compact):
        table.add_row(f"{name}: bytes a row", before, after, change)
    table.add_section()
    for row in total_rows(stock, compact):
        table.add_row(*row)
    table.add_section()
    medians = []
    cells = []
    for values in throughput.values():
        middle, low, high = spread(values)
        medians.append(middle)
        cells.append(f"{middle:,.0f} ({low:,.0f} to {high:,.0f})")
    table.add_row("New-Orders a minute, median (range)", *cells, percent(medians[1] / medians[0]))
    table.add_row("consistency conditions met", *met, "")
    console.print(table)
    console.print(
        f"Sizes are those of whole {PAGE // 1024} kB pages when freshly loaded.  This little data fits in memory,\n"
        "so a difference in throughput within the range is noise; bench/run tpcc measures with more data\n"
        "than memory."
    )


def farewell(cluster: Cluster, chosen: list[Stage], keep: bool) -> None:
    if not keep:
        console.print(
            "\nThe instance is removed again; to leave it up and look around: make demo KEEP=1\n"
            "To delete the servers as well, and whatever else was built: rm -rf build",
            markup=False,
        )
        return
    environment = cluster.environment
    names = " and ".join(database(stage) for stage in chosen)
    # Other accounts cannot reach its socket.
    who = f' as root or "{cluster.data.owner()}"' if os.geteuid() == 0 else ""
    console.print(
        f"\nThe instance is up, with databases {names}.  Connect to it{who} by:\n"
        f"  {cluster.bindir}/psql -h {environment['PGHOST']} -p {environment['PGPORT']}"
        f" -U {environment['PGUSER']} {database(chosen[-1])}\n"
        "Stop and delete it by:\n"
        f"  tools/cluster remove {cluster.name}\n"
        "To delete the servers as well, and whatever else was built, then: rm -rf build",
        markup=False,
        soft_wrap=True,
    )


@click.command("demo", short_help="Stock and compact types side by side.")
@major
@click.option("--keep", is_flag=True, help="Leave the instance running.")
@seed
def command(keep: bool, seed: int) -> None:
    """TPC-C with stock types and with compact types, side by side, in about a minute."""
    run(keep, seed)
