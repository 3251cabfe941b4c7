"""Sizes and costs of each codec: documents, text, digests, random bytes, and repetition."""

from pathlib import Path

import click

from bench.lib.bars import Bar, show_bars
from bench.lib.console import note, progress
from bench.lib.result import Result
from bench.toast import advice, values
from bench.toast.measure import MEGABYTE, Bench, Cell, measuring, steps
from bench.toast.options import toast, toast_arguments
from bench.toast.variants import (
    EXTENDED_LZ4,
    EXTENDED_PGLZ,
    EXTERNAL,
    LZ4HC_LEVEL,
    OWN,
    POLICY_LZ4,
    POLICY_LZ4HC,
    POLICY_LZ4HC_HIGH,
    POLICY_LZ4HC_LOW,
    POLICY_PGLZ,
)

# The size of all values except the documents, which have about this size
SIZE = 8000
# Variants that a bar compares are next to each other, so that they run one after the other.
VARIANTS = (
    EXTERNAL,
    POLICY_PGLZ,
    EXTENDED_PGLZ,
    POLICY_LZ4HC,
    EXTENDED_LZ4,
    POLICY_LZ4,
    POLICY_LZ4HC_LOW,
    POLICY_LZ4HC_HIGH,
    *OWN,
)

BARS = tuple(
    bar
    for name, title in (("json", "orders"), ("records", "measurements"))
    for bar in (
        Bar(f"{name}.lz4hc.size_vs_lz4", f"JSON, {title}: size, lz4hc against EXTENDED lz4", 0.80),
        Bar(
            f"{name}.lz4hc.read_vs_lz4",
            f"JSON, {title}: read, lz4hc against EXTENDED lz4",
            1.0,
            within=True,
        ),
        Bar(
            f"{name}.lz4hc.size_vs_pglz", f"JSON, {title}: size, lz4hc against EXTENDED pglz", 1.02
        ),
        Bar(
            f"{name}.lz4hc.read_vs_pglz",
            f"JSON, {title}: read, lz4hc against EXTENDED pglz",
            1 / 2.5,
        ),
    )
)


def kinds(count: int, seed: int) -> list[values.Values]:
    return [
        values.json_documents("json", count),
        values.json_documents("records", count),
        values.sgml(SIZE, count),
        values.md5_hex(SIZE, count, seed),
        values.random(SIZE, count, seed),
        values.repeated(SIZE, count, seed),
    ]


def show(result: Result, cell: Cell) -> None:
    rows: list[list[object]] = []
    for variant in cell.variants:
        size = cell.sizes[variant.name]
        row: list[object] = [
            variant.title,
            f"{size.stored / cell.rows:.0f}",
            f"{size.stored / size.raw:.3f}",
            f"{size.total / MEGABYTE:.2f}",
        ]
        for test in ("insert", "read"):
            row.append(f"{cell.microseconds(test, variant):.2f}")
            row.append(
                "1"
                if variant == EXTENDED_LZ4
                else str(cell.ratio(test, variant, EXTENDED_LZ4, result.seed))
            )
        rows.append(row)
    result.table(
        f"{cell.values.title}, {cell.rows:,} rows of {cell.values.mean:,.0f} bytes: stored bytes of a value and their"
        f" share of the raw bytes; MB of heap and TOAST table; time for a value; ratios to EXTENDED lz4; lz4hc at level"
        f" {LZ4HC_LEVEL}",
        ["stored as", "stored bytes", "share", "MB", "INSERT µs", "ratio", "read µs", "ratio"],
        rows,
        cell.values.name,
    )


def add_metrics(result: Result, cell: Cell) -> None:
    for base, suffix in ((EXTENDED_LZ4, "lz4"), (EXTENDED_PGLZ, "pglz")):
        name = f"{cell.values.name}.lz4hc"
        sizes = [cell.sizes[variant.name].stored for variant in (POLICY_LZ4HC, base)]
        result.metrics[f"{name}.size_vs_{suffix}"] = cell.size_ratio(POLICY_LZ4HC, base)
        result.metrics[f"{name}.stored_vs_{suffix}"] = sizes[0] / sizes[1]
        result.ratio(
            f"{name}.read_vs_{suffix}", cell.ratio("read", POLICY_LZ4HC, base, result.seed)
        )


def measure(bench: Bench, rows: int) -> None:
    result = bench.result
    made = kinds(min(rows, values.DISTINCT), result.seed)
    cells = []
    advised: list[tuple[Cell, list[advice.Advice]]] = []
    ask = advice.exists(bench)
    if not ask:
        note("this toast_policy has no compare(): its estimates are not checked")
    with progress() as bars:
        task = bars.add_task("codecs", total=steps(len(made), len(VARIANTS), bench.rounds))
        bench.advance = lambda: bars.advance(task)
        for kind in made:
            cells.append(
                bench.cell(
                    "",
                    kind.title,
                    kind,
                    rows,
                    VARIANTS,
                    lambda cell: advised.append((cell, advice.ask(bench, cell))) if ask else None,
                )
            )
    for cell in cells:
        show(result, cell)
        add_metrics(result, cell)
    show_bars(result, [*BARS, *(advice.show(result, advised) if ask else [])])


def run(rows: int, rounds: int, seed: int, quick: bool, running: bool, target: Path | None) -> None:
    result = Result("toast-codecs", seed, quick)
    result.describe(rows=f"at most {rows}", rounds=rounds)
    # Do this first: it fails if there is no source tree.
    values.manual()
    with measuring(result, result.study, running, rounds) as (_, bench):
        measure(bench, rows)
    result.save(target)


@click.command("toast-codecs", short_help="Codecs on documents, text, digests and random bytes.")
@toast
def command(**options) -> None:
    """Size, INSERT and read of each codec.

    The values are JSON, SGML, hexadecimal digests, random bytes, and repeated bytes.
    """
    run(**toast_arguments(options))
