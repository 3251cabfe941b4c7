"""Vertical partition: cost of point reads and updates, and bytes of an update, split and not."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from bench.lib.bars import Bar, show_bars
from bench.lib.console import progress
from bench.lib.options import common, fill_in
from bench.lib.paths import bindir
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.tpcc.load import FULL, LITE, LOAD_SETTINGS, load
from bench.tpcc.stages import split_stage
from bench.vertical import speed
from bench.vertical.exact import Exact
from bench.vertical.partition import METHODS
from bench.vertical.variants import ALL, ON, PLAIN

CLUSTER = "bench-vertical-partition"
SETTINGS = {
    # The study measures only CPU time and bytes of rows.  All tables stay in memory.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "1GB",
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    "wal_init_zero": "off",
    "jit": "off",
    # Find rows by the key, also in the small tables of a smoke run.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}
BARS = (
    Bar(
        "bytes_per_update.customer",
        "bytes of new row versions, Payment: customer by shared_key, to plain",
        0.55,
    ),
    Bar(
        "bytes_per_update.stock",
        "bytes of new row versions, New-Order: stock by row_pointer, to plain",
        0.30,
    ),
)


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    exact: bool
    rounds: int
    calls: int
    updates: int


def measure(options: Options, result: Result, stack: ExitStack) -> None:
    scale = LITE if options.quick else FULL
    cluster = Cluster(CLUSTER, bindir("dense"))
    quietly(cluster.remove)
    stack.callback(quietly, cluster.remove)
    cluster.start(LOAD_SETTINGS)
    with progress() as bars:
        for variant in (PLAIN, *ON.values()):
            load(cluster, variant.source, split_stage(variant.method), 1, scale, options.seed, bars)
    cluster.stop()
    cluster.start(SETTINGS)
    exact = Exact(result, cluster, scale, options.updates)
    shown = list(BARS)
    with progress() as bars:
        task = bars.add_task("updates: runs", total=exact.steps())
        for _ in exact.measure():
            bars.advance(task)
        exact.weigh()
        task = bars.add_task("databases for statements", total=len(ALL))
        for variant in ALL:
            variant.create(cluster)
            with cluster.connect(variant.database) as connection:
                exact.count_buffers(variant, connection)
            bars.advance(task)
        if not options.exact:
            timed = speed.Speed(result, cluster, scale, options.rounds, options.calls)
            task = bars.add_task("time: runs", total=timed.steps())
            with cluster.connect() as connection:
                timed.measure(connection, lambda: bars.advance(task))
    exact.show()
    if not options.exact:
        timed.show()
        shown = [*speed.bars(), *shown]
    show_bars(result, shown)


def run(options: Options, target: Path | None) -> None:
    result = Result("vertical-partition", options.seed, options.quick)
    result.describe(
        methods=", ".join(METHODS),
        rounds=options.rounds,
        statements=options.calls,
        updates=options.updates,
        exact=options.exact,
    )
    result.environment["settings of all"] = SETTINGS
    result.environment["settings of variants"] = {variant.name: variant.settings for variant in ALL}
    with session() as stack:
        measure(options, result, stack)
    result.save(target)


@click.command(
    "vertical-partition",
    short_help="Reads and updates by key of tables split into hot and cold columns.",
)
@common
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help="Runs of each statement; default: 9, or 1 with --quick.",
)
@click.option(
    "--calls",
    type=click.IntRange(10),
    help="Statements of a run; default: 20000, or 200 with --quick.",
)
@click.option(
    "--updates",
    type=click.IntRange(10),
    help="Updates whose bytes and pages are counted; default: 3000, or 100 with --quick.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Bytes, pages and buffers only, which do not depend on the machine; no times.",
)
def command(target: Path | None, quick: bool, **options) -> None:
    """Tables split into hot and cold columns: point reads and updates by key.

    The study measures time, buffers, and the bytes and pages that an update writes.
    """
    fill_in(options, quick, rounds=(9, 1), calls=(20_000, 200), updates=(3_000, 100))
    run(Options(quick=quick, **options), target)
