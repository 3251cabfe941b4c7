"""Background vacuum: growth, reads, writes, WAL, and decline over several autovacuum cycles."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import click
import psycopg

from bench.bgvacuum import figures, load, switched, temporary
from bench.bgvacuum.summary import Summary
from bench.bgvacuum.variants import (
    DEFAULT,
    EAGER,
    EXTENSION,
    ON,
    STOCK,
    Variant,
    parse,
    parse_settings,
    require,
)
from bench.bgvacuum.workloads import Workload
from bench.bgvacuum.workloads import workloads as all_workloads
from bench.lib.bars import show_bars
from bench.lib.console import console
from bench.lib.options import common
from bench.lib.paths import work
from bench.lib.result import Result
from bench.lib.server import has_stock
from bench.lib.session import quietly, session
from bench.lib.statistics import interleave

RUNNING = "bench-bgvacuum-run"

# Other settings have their defaults, in particular those of the background writer.
SETTINGS = {
    "synchronous_commit": "off",
    # The load itself makes the checkpoints.
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    "autovacuum_naptime": "1s",
    # The load is faster than usual, so vacuum has to be faster, too.  A vacuum should take a small
    # part of the time between two vacuums.
    "autovacuum_vacuum_cost_delay": "0",
    # Do not analyze: the snapshot of ANALYZE holds back the horizon, so that some updates leave
    # their page.  Their number depends on the time of the ANALYZE.
    "autovacuum_analyze_scale_factor": "100",
    "max_connections": "60",
    "jit": "off",
    # Find rows by the key, also if the planner's estimates for a growing table are wrong.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    workloads: Sequence[Workload]
    variants: Sequence[Variant]
    pairs: int
    clients: int
    shared_buffers: str
    settings: Mapping[str, str]
    rate: float | None
    # Also run the study of DROP, which has no load.
    temporary: bool
    # Run only what switches background vacuum within one run.
    switched: bool

    def variants_of(self, workload: Workload) -> Sequence[Variant]:
        """Return the variants to compare.

        Of the default ones, compare "off" only with the workload "uniform", whose run is short.
        """
        if self.variants is not DEFAULT or workload.name == "uniform":
            return self.variants
        return (STOCK, EAGER, ON) if workload.name == "mixed" else (STOCK, ON)

    def pairs_of(self, workload: Workload) -> int:
        """Return the number of pairs: half of them for TPC-C, which has a study of its own."""
        return max(1, self.pairs // 2) if workload.name == "tpcc" else self.pairs


def choose(
    quick: bool,
    workloads: Sequence[str],
    variants: Sequence[str],
    settings: Sequence[str],
    pairs: int | None,
    cycles: int | None,
    batch: int,
    rows: int | None,
    warehouses: int | None,
    shared_buffers: str | None,
    **options,
) -> Options:
    known = all_workloads(quick, rows, warehouses, batch)
    chosen = [workload for workload in known if not workloads or workload.name in workloads]
    if cycles:
        chosen = [replace(workload, cycles=cycles) for workload in chosen]
    return Options(
        quick=quick,
        workloads=chosen,
        variants=parse(variants) or (DEFAULT if has_stock() else DEFAULT[1:]),
        settings=parse_settings(settings),
        pairs=pairs or (1 if quick else 5),
        temporary=not workloads or temporary.NAME in workloads,
        shared_buffers=shared_buffers or ("1MB" if quick else "32MB"),
        **options,
    )


class Study:
    def __init__(self, options: Options, stack: ExitStack, result: Result) -> None:
        self.options = options
        self.result = result
        self.databases = load.Databases("bench-bgvacuum", options.variants[0], options.seed, stack)

    def measure(self, workload: Workload, number: int, variant: Variant) -> None:
        options = self.options
        self.databases.load(workload).copy_to(RUNNING)
        # Write the copy now, so that it is not written during the run.
        os.sync()
        cluster = variant.cluster(RUNNING)
        with ExitStack() as stack:
            stack.callback(quietly, cluster.remove)
            settings = {**SETTINGS, "shared_buffers": options.shared_buffers, **workload.settings}
            cluster.start({**settings, **options.settings, **variant.settings})
            with cluster.connect(workload.database) as connection:
                self.describe(connection)
                statistics_of_bgvacuum(connection)
            sample = load.run(
                cluster, workload, options.clients, options.rate, options.seed + number
            )
            with cluster.connect(workload.database) as connection:
                begin = time.monotonic()
                workload.check(connection, sample["cycles"], f"{variant.title}, {workload.name}")
                sample["check_seconds"] = time.monotonic() - begin
        self.result.samples.append(
            {"workload": workload.name, "variant": variant.name, "round": number, **sample}
        )
        console.print(
            f"{workload.name}, run {number + 1}, {variant.name}:\n    {figures.line(sample)}",
            soft_wrap=True,
        )

    def describe(self, connection: psycopg.Connection) -> None:
        """Record the server, once for all runs."""
        if "server" not in self.result.environment:
            self.result.describe_server(connection)

    def measure_switched(self, workload: Workload) -> None:
        """Measure the cost within one run, because the machine's speed varies from run to run."""
        options = self.options
        self.databases.load(workload).copy_to(RUNNING)
        os.sync()
        settings = {
            **SETTINGS,
            "shared_buffers": options.shared_buffers,
            **workload.settings,
            **options.settings,
        }
        found = switched.run(
            ON.cluster(RUNNING),
            workload,
            settings,
            options.clients,
            options.seed,
            options.quick,
            work() / "bgvacuum",
            self.describe,
        )
        switched.record(self.result, workload.name, "tps", found)


def statistics_of_bgvacuum(connection: psycopg.Connection) -> None:
    """Create the statistics view, if the server has it."""
    query = "SELECT 1 FROM pg_available_extensions WHERE name = %s"
    if connection.execute(query, [EXTENSION]).fetchone():
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")


def run(options: Options, target: Path | None) -> None:
    require(options.variants)
    result = Result("bgvacuum", options.seed, options.quick)
    result.describe(
        workloads=", ".join(
            f"{workload.name} x {workload.cycles:,}" for workload in options.workloads
        ),
        variants=", ".join(variant.name for variant in options.variants),
        pairs=options.pairs,
        clients=options.clients,
        rate=options.rate or "unlimited",
        shared_buffers=options.shared_buffers,
    )
    result.environment["settings of all"] = {**SETTINGS, **options.settings}
    result.environment["settings of workloads"] = {
        workload.name: workload.settings for workload in options.workloads
    }
    result.environment["settings of variants"] = {
        variant.name: variant.settings for variant in options.variants
    }
    with session() as stack:
        study = Study(options, stack, result)
        summary = Summary(
            result, {workload.name: options.variants_of(workload) for workload in options.workloads}
        )
        running = options.variants[0].cluster(RUNNING)
        quietly(running.remove)
        stack.callback(quietly, running.remove)
        for workload in options.workloads:
            if not options.switched:
                for number, variant in interleave(
                    options.variants_of(workload), options.pairs_of(workload)
                ):
                    study.measure(workload, number, variant)
            if workload.name in switched.WORKLOADS and ON in options.variants:
                study.measure_switched(workload)
            if not options.switched:
                summary.show(workload)
        if options.temporary:
            temporary.run(result, options.variants, options.pairs, options.quick)
        if options.switched:
            show_bars(result, figures.BARS)
        else:
            summary.finish()
    result.save(target)


@click.command(
    "bgvacuum", short_help="Growth, reads, writes and throughput with background vacuum."
)
@common
@click.option(
    "--workload",
    "workloads",
    type=click.Choice(
        ["mixed", "uniform", "indexed", "groups", "insert_only", "append_only", "temporary", "tpcc"]
    ),
    multiple=True,
    help="Default: all; repeatable.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME[:SERVER[:SETTING=VALUE,...]]",
    help="Variant to compare, the first with all others; SERVER is a directory below build/MAJOR or a path."
    " Default: stock, off, on; repeatable.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Setting of all servers; repeatable.",
)
@click.option(
    "--pairs", type=click.IntRange(1), help="Runs of each variant; default: 5, or 1 with --quick."
)
@click.option(
    "--cycles",
    type=click.IntRange(100),
    help="Cycles of operations in a run; default: that of the workload.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Cycles in one call of the load.",
)
@click.option("--rate", type=click.FloatRange(1), help="Highest number of cycles a second.")
@click.option(
    "--rows",
    type=click.IntRange(100),
    help="Rows of a table; default: 1150000, or 20000 with --quick.",
)
@click.option(
    "--warehouses",
    type=click.IntRange(1),
    help="Warehouses of TPC-C; default: 2, or a small one with --quick.",
)
@click.option("--clients", type=click.IntRange(1, 50), default=4, show_default=True)
@click.option("--shared-buffers", metavar="SIZE", help="Default: 32MB, or 1MB with --quick.")
@click.option(
    "--switched",
    is_flag=True,
    help="Make only the runs that switch background vacuum on and off in turn.",
)
def command(target: Path | None, **options) -> None:
    """Background vacuum: growth of tables, reads, WAL, writes by type of process, throughput.

    The runs last several autovacuum cycles.
    """
    run(choose(**options), target)
