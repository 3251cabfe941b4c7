"""Core's four storage strategies, the policy and each codec: random and repeated values."""

from collections.abc import Sequence
from pathlib import Path

import click

from bench.lib.bars import Bar, show_bars
from bench.lib.console import progress
from bench.lib.result import Result
from bench.toast import values
from bench.toast.measure import Bench, Cell, measuring, steps, worst
from bench.toast.options import toast, toast_arguments
from bench.toast.variants import (
    EXTENDED_LZ4,
    EXTENDED_PGLZ,
    EXTERNAL,
    MAIN_LZ4,
    MAIN_PGLZ,
    OWN,
    OWN_NONE,
    PLAIN,
    POLICY_LZ4,
    POLICY_LZ4HC,
    POLICY_PGLZ,
    Variant,
)

SIZES = (1000, 3000, 7000, 15000, 31000)
# Variants that a bar compares are next to each other, so that they run one after the other.
VARIANTS = (
    PLAIN,
    MAIN_PGLZ,
    MAIN_LZ4,
    EXTENDED_PGLZ,
    EXTERNAL,
    POLICY_LZ4,
    EXTENDED_LZ4,
    POLICY_PGLZ,
    POLICY_LZ4HC,
    *OWN,
    OWN_NONE,
)
# The kinds of values, each with the best way to store it without the policy
KINDS = ((values.random, EXTERNAL), (values.repeated, EXTENDED_LZ4))

BARS = (
    Bar("random.insert_vs_external", "random: INSERT, policy against EXTERNAL", 1.08),
    # The same size, give or take a page
    Bar("repeated.size_vs_extended", "repeated: size, policy against EXTENDED lz4", 1.001),
    Bar("repeated.insert_vs_extended", "repeated: INSERT, policy against EXTENDED lz4", 1.10),
)


def show(result: Result, cells: Sequence[Cell], base: Variant) -> None:
    """Show a table each for size, INSERT and read."""
    columns = ["stored as", *(f"{cell.panel}" for cell in cells)]
    name, title = cells[0].values.name, cells[0].values.title

    def ratio(cell: Cell, test: str, variant: Variant) -> str:
        if variant == base:
            return f"{cell.microseconds(test, variant):.2f} µs"
        return f"{cell.ratio(test, variant, base, result.seed).median:.3f}"

    for test, what in (
        ("size", "heap and TOAST table"),
        ("insert", f"time to INSERT a value, and ratio to {base.title}"),
        ("read", f"time to read a value, and ratio to {base.title}"),
    ):
        rows: list[list[object]] = []
        for variant in VARIANTS:
            row: list[object] = [variant.title]
            for cell in cells:
                if variant.name in cell.errors:
                    row.append(f"error {cell.errors[variant.name]}")
                elif test == "size":
                    row.append(cell.sizes[variant.name])
                else:
                    row.append(ratio(cell, test, variant))
            rows.append(row)
        counts = ", ".join(f"{cell.rows:,}" for cell in cells)
        result.table(f"{title}, {counts} rows: {what}", columns, rows, f"{name}.{test}")


def add_metrics(result: Result, cells: dict[str, list[Cell]]) -> None:
    """Add the metrics of the policy with lz4: the worst of the sizes above 2 kB."""
    random = [cell for cell in cells["random"] if cell.values.mean > 2000]
    repeated = [cell for cell in cells["repeated"] if cell.values.mean > 2000]
    seed = result.seed
    worst(
        result,
        "random.insert_vs_external",
        [cell.ratio("insert", POLICY_LZ4, EXTERNAL, seed) for cell in random],
    )
    worst(
        result,
        "random.read_vs_extended",
        [cell.ratio("read", POLICY_LZ4, EXTENDED_LZ4, seed) for cell in random],
    )
    result.metrics["random.size_vs_extended"] = max(
        cell.size_ratio(POLICY_LZ4, EXTENDED_LZ4) for cell in random
    )
    result.metrics["repeated.size_vs_extended"] = max(
        cell.size_ratio(POLICY_LZ4, EXTENDED_LZ4) for cell in repeated
    )
    worst(
        result,
        "repeated.insert_vs_extended",
        [cell.ratio("insert", POLICY_LZ4, EXTENDED_LZ4, seed) for cell in repeated],
    )
    worst(
        result,
        "repeated.read_vs_extended",
        [cell.ratio("read", POLICY_LZ4, EXTENDED_LZ4, seed) for cell in repeated],
    )


def measure(bench: Bench, rows: int) -> None:
    result = bench.result
    cells: dict[str, list[Cell]] = {}
    with progress() as bars:
        task = bars.add_task(
            "strategies", total=steps(len(KINDS) * len(SIZES), len(VARIANTS), bench.rounds)
        )
        bench.advance = lambda: bars.advance(task)
        for make, _ in KINDS:
            for size in SIZES:
                made = make(size, min(rows, values.DISTINCT), result.seed)
                cell = bench.cell(made.name, f"{size:,} bytes", made, rows, VARIANTS)
                cells.setdefault(made.name, []).append(cell)
    for (_, base), group in zip(KINDS, cells.values()):
        show(result, group, base)
    add_metrics(result, cells)
    show_bars(result, BARS)


def run(rows: int, rounds: int, seed: int, quick: bool, running: bool, target: Path | None) -> None:
    result = Result("toast-strategies", seed, quick)
    result.describe(rows=f"at most {rows}", rounds=rounds)
    with measuring(result, result.study, running, rounds) as (_, bench):
        measure(bench, rows)
    result.save(target)


@click.command("toast-strategies", short_help="Storage strategies, the policy and each codec.")
@toast
def command(**options) -> None:
    """PLAIN, EXTERNAL, EXTENDED, MAIN, the policy and each codec.

    The values are random or repeated ones of five sizes.
    """
    run(**toast_arguments(options))
