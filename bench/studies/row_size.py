"""Bytes a row, stock types against compact types.

The tables are the nine ones of TPC-C, text-heavy ones, and a mix of text columns.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import psycopg

from bench import text_mix
from bench.lib.bars import Bar, show_bars
from bench.lib.console import console, progress
from bench.lib.options import common, lite, running
from bench.lib.paths import bindir
from bench.lib.result import Result
from bench.lib.server import Cluster, RunningServer, Server
from bench.lib.session import quietly, session
from bench.studies import text_sizes
from bench.tpcc.load import FULL, LITE, LOAD_SETTINGS, Scale, create_extensions, load
from bench.tpcc.sizes import PAGE, DatabaseSize, database_size, megabytes, percent, stage_rows
from bench.tpcc.stages import Stage, stages

DATABASE = "bench_row_size"

# Stages of TPC-C to compare with the stock types, with the suffix of their metrics
STAGES = {
    "compact-strings": "strings",
    "compact-scalars": "scalars",
    "compact-text": "text",
    "compact-types": "all",
}

# Highest ratios to the stock types that the project accepts.
BARS = tuple(
    Bar(name, "", most, claim=f"bytes, {name}")
    for name, most in {
        "order_line.strings": 0.925,
        "stock.strings": 0.96,
        "heap.scalars": 0.89,
        "stock.all": 0.80,
        "customer.all": 0.78,
        "heap.all": 0.85,
        "users.text": 0.66,
        "packages.text": 0.66,
        "mix.mean": 0.64,
        "mix.description": 0.50,
        "mix.japanese_note": 0.40,
    }.items()
)


def measure(server: Server, stage: Stage, warehouses: int, scale: Scale, seed: int) -> DatabaseSize:
    try:
        with progress() as bars:
            load(server, DATABASE, stage, warehouses, scale, seed, bars)
        with server.connect(DATABASE) as connection:
            return database_size(connection)
    finally:
        quietly(server.drop_database, DATABASE)


def add_metrics(
    result: Result, prefix: str, suffix: str, baseline: DatabaseSize, other: DatabaseSize
) -> None:
    for name, before in baseline.tables.items():
        result.metrics[f"{prefix}{name}.{suffix}"] = other.tables[name].heap / before.heap
    result.metrics[f"{prefix}heap.{suffix}"] = other.heap / baseline.heap
    result.metrics[f"{prefix}indexes.{suffix}"] = other.indexes / baseline.indexes


def size_rows(baseline: DatabaseSize, others: list[DatabaseSize]) -> list[list[object]]:
    """Return rows with the bytes a row of each table, and then with the totals."""
    rows: list[list[object]] = []
    for name, before in baseline.tables.items():
        # The size of a single page says nothing about the size of its rows.
        if before.heap <= PAGE:
            cells = [f"tuple {before.tuple:.1f}"]
            cells += [
                f"{other.tables[name].tuple:.1f} ({percent(other.tables[name].tuple / before.tuple)})"
                for other in others
            ]
        else:
            cells = [f"{before.bytes_per_row:.1f}"]
            cells += [
                f"{other.tables[name].bytes_per_row:.1f}"
                f" ({percent(other.tables[name].bytes_per_row / before.bytes_per_row)})"
                for other in others
            ]
        rows.append([name, f"{before.rows:,}", *cells])
    rows += [[title, "", *cells] for title, *cells in stage_rows(baseline, others)]
    return rows


@dataclass
class Study:
    server: Server
    result: Result
    seed: int

    def tpcc(
        self, warehouses: int, scale: Scale, variants: tuple[str, ...], names: Mapping[str, str]
    ) -> None:
        """Measure the nine tables with stock types, and in each of the named stages."""
        result = self.result
        prefix = "".join(f"{name}." for name in variants)
        chosen = stages(("stock", *names), variants)
        sizes = {
            stage.name: measure(self.server, stage, warehouses, scale, self.seed)
            for stage in chosen
        }
        result.samples += [
            {"variant": prefix.rstrip("."), "stage": name, **size.as_json()}
            for name, size in sizes.items()
        ]
        baseline = sizes.pop("stock")
        for name, suffix in names.items():
            add_metrics(result, prefix, suffix, baseline, sizes[name])
        titles = {stage.name: stage.title for stage in chosen}
        result.table(
            "TPC-C, bytes a row on whole pages" + "".join(f", variant {name}" for name in variants),
            ["table", "rows", titles["stock"], *(titles[name] for name in names)],
            size_rows(baseline, [sizes[name] for name in names]),
            f"{prefix}rows",
        )

    def text(self, count: int | None) -> None:
        """Measure columns and tables of text.

        If the number of rows is None, take each table's own.
        """
        try:
            self.server.create_database(DATABASE)
            with self.server.connect(DATABASE) as connection:
                create_extensions(connection, ("compact_types",))
                self.tables(connection, count)
                with console.status("the columns of the frozen mix"):
                    self.mix(connection)
        finally:
            quietly(self.server.drop_database, DATABASE)

    def tables(self, connection: psycopg.Connection, count: int | None) -> None:
        shown = []
        with progress() as bars:
            for table in bars.track(text_mix.tables(), description="text-heavy tables"):
                sizes = text_sizes.table_sizes(connection, table, count)
                name = text_sizes.METRIC_NAMES.get(table.name, table.name)
                cells = [table.name, f"{sizes[0].rows:,}"]
                for what in ("heap", "indexes"):
                    before, *after = (getattr(size, what) for size in sizes)
                    cells.append(megabytes(before))
                    for suffix, size in zip(("text", "all"), after):
                        metric = (
                            f"{name}.{suffix}" if what == "heap" else f"{name}.indexes.{suffix}"
                        )
                        self.result.metrics[metric] = size / before
                        cells.append(f"{megabytes(size)} ({percent(size / before)})")
                shown.append(cells)
                self.result.samples.append(
                    {"table": table.name}
                    | {kind: asdict(size) for kind, size in zip(("stock", "text", "all"), sizes)}
                )
        columns = ["table", "rows"]
        for what in ("heap", "indexes"):
            columns += [f"{what}, text", "compact_text", "all types"]
        self.result.table("Text-heavy tables, whole pages", columns, shown, "text-tables")

    def mix(self, connection: psycopg.Connection) -> None:
        sizes = text_sizes.mix_sizes(connection)
        mean = sum(size.ratio for size in sizes) / len(sizes)
        self.result.metrics["mix.mean"] = mean
        self.result.metrics |= {f"mix.{size.name}": size.ratio for size in sizes}
        self.result.samples += [{"column": size.name, **asdict(size)} for size in sizes]
        shown = [
            [
                size.name,
                f"{size.values:,}",
                f"{size.text:.1f}",
                f"{size.compact:.1f}",
                f"{size.ratio:.3f}",
            ]
            for size in sizes
        ]
        self.result.table(
            f"The {len(sizes)} columns of the frozen mix: stored bytes of a value with its header",
            ["column", "values", "text", "compact_text", "ratio"],
            [*shown, ["mean of the ratios", "", "", "", f"{mean:.3f}"]],
            "mix",
        )


def run(
    warehouses: int, seed: int, quick: bool, running: bool, lite: bool, target: Path | None
) -> None:
    result = Result("row-size", seed, quick)
    scale = LITE if lite else FULL
    result.describe(
        warehouses=warehouses, items=scale.items, customers_per_district=scale.customers
    )
    # Do this before TPC-C takes its time: it fails if the mix cannot be made.
    mix = text_mix.state()
    with session() as stack:
        server = start(stack, "bench-row-size", running)
        with server.connect() as connection:
            result.describe_server(connection, **{"text mix": mix})
        study = Study(server, result, seed)
        study.tpcc(warehouses, scale, (), STAGES)
        # The second money type shows which part of a gain comes from rounding tuples to MAXALIGN.
        if not quick:
            study.tpcc(
                warehouses,
                scale,
                ("numeric-money",),
                {"compact-strings": "strings", "compact-types": "all"},
            )
        study.text(2000 if quick or lite else None)
        show_bars(result, BARS)
    console.print(
        ", ".join(
            f"{name} {percent(result.metrics[f'{name}.all'])}"
            for name in ("order_line", "stock", "heap")
        )
    )
    result.save(target)


def start(stack: ExitStack, name: str, running: bool) -> Server:
    """Return a fresh private instance, which the session removes, or the running server."""
    if running:
        return RunningServer()
    cluster = Cluster(name, bindir("dense"))
    cluster.remove()
    stack.callback(quietly, cluster.remove)
    cluster.start(LOAD_SETTINGS)
    return cluster


@click.command("row-size", short_help="Bytes a row, stock types against compact types.")
@common
@running
@lite
@click.option("--warehouses", type=click.IntRange(1), help="Default: 2, or 1 with --quick.")
def command(
    target: Path | None, quick: bool, seed: int, running: bool, lite: bool, warehouses: int | None
) -> None:
    """Bytes a row, stock types against compact types.

    The study measures TPC-C, text-heavy tables, and a mix of text columns.
    """
    run(warehouses or (1 if quick else 2), seed, quick, running, lite, target)
