"""Instructions of sessions and of the background writer, with background vacuum and without."""

from collections.abc import Sequence
from pathlib import Path

import click

from bench.bgvacuum import instructions
from bench.bgvacuum.load import Databases
from bench.bgvacuum.variants import DEFAULT, ON, STOCK, require
from bench.bgvacuum.workloads import workloads as all_workloads
from bench.lib import cachegrind
from bench.lib.bars import show_bars
from bench.lib.options import common, fill_in
from bench.lib.result import Result
from bench.lib.server import has_stock
from bench.lib.session import session


def run(
    target: Path | None,
    quick: bool,
    seed: int,
    names: Sequence[str],
    rows: int,
    calls: int,
    batch: int,
    rounds: int,
    shared_buffers: str,
) -> None:
    cachegrind.require()
    variants = DEFAULT if has_stock() else DEFAULT[1:]
    require(variants)
    workloads = [
        workload
        for workload in all_workloads(quick, rows, None, batch)
        if workload.name in (names or instructions.WORKLOADS)
    ]
    settings = {"shared_buffers": shared_buffers}
    result = Result("instructions", seed, quick)
    result.describe(
        rows=rows, calls=calls, batch=batch, rounds=rounds, shared_buffers=shared_buffers
    )
    result.environment["settings of all"] = instructions.SETTINGS
    result.environment["settings of variants"] = {
        variant.name: variant.settings for variant in variants
    }
    table = []
    with session() as stack:
        databases = Databases("bench-instructions", variants[0], seed, stack)
        for workload in workloads:
            table.append(
                instructions.compare(
                    result, databases.load(workload), workload, variants, settings, calls, rounds
                )
            )
    columns = ["", *(f"session, {variant.title}" for variant in variants)]
    if STOCK in variants:
        columns += [f"{variant.name} to stock" for variant in variants if variant is not STOCK]
    columns += [
        f"background writer, {variant.title}" for variant in (STOCK, ON) if variant in variants
    ]
    result.table(
        "Instructions of one cycle of operations: median (smallest to largest)",
        columns,
        table,
        "instructions",
    )
    show_bars(result, instructions.BARS)
    result.save(target)


@click.command("instructions", short_help="Instructions of sessions with background vacuum.")
@common
@click.option(
    "--workload",
    "names",
    type=click.Choice(instructions.WORKLOADS),
    multiple=True,
    help="Default: all; repeatable.",
)
@click.option(
    "--rows",
    type=click.IntRange(100),
    help="Rows of the table; default: 200000, or 2000 with --quick.",
)
@click.option(
    "--calls",
    type=click.IntRange(1),
    help="Calls of a session; default: 40, or 3 with --quick.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    help="Cycles of operations in one call; default: 250, or 10 with --quick.",
)
@click.option(
    "--rounds", type=click.IntRange(1), help="Runs of each variant; default: 3, or 1 with --quick."
)
@click.option(
    "--shared-buffers", metavar="SIZE", default="8MB", show_default=True, help="Size of the cache."
)
def command(target: Path | None, quick: bool, seed: int, **options) -> None:
    """Count the instructions of one session, and of the background writer, by valgrind.

    The counts do not depend on the other work of the machine, so a cost of one percent is visible.
    """
    fill_in(options, quick, rows=(200_000, 2_000), calls=(40, 3), batch=(250, 10), rounds=(3, 1))
    run(target, quick, seed, **options)
