"""The five tests of the proposal "Optimize external TOAST storage" on pgsql-hackers.

Their values are those whose compression saves no chunk.
"""

from pathlib import Path

import click

from bench.lib.bars import Bar, show_bars
from bench.lib.console import progress
from bench.lib.result import Result
from bench.lib.statistics import interleave, paired_ratio, spread
from bench.lib.timing import copy_in, copy_out
from bench.toast import values
from bench.toast.measure import MEGABYTE, Bench, Cell, measuring, steps
from bench.toast.options import toast, toast_arguments
from bench.toast.variants import (
    CORE_LZ4,
    EXTENDED_LZ4,
    EXTERNAL,
    POLICY_LZ4,
    Variant,
    has_core_patch,
)

# Values whose compression saves less than a chunk.  The last two have no more than two chunks.
TESTS = (
    (31685, values.md5_hex),
    (16505, values.md5_hex),
    (7925, values.md5_hex),
    (3885, values.md5_hex),
    (3966, values.half_random),
)
NARROW = "narrow."

BARS = (
    Bar("read_cpu.31685", "read 31685 bytes, policy against EXTENDED lz4", 0.65),
    Bar("read_cpu.16505", "read 16505 bytes, policy against EXTENDED lz4", 0.78),
    Bar("read_cpu.7925", "read 7925 bytes, policy against EXTENDED lz4", 0.85),
    Bar("size.max", "size, largest ratio of the five tests", 1.05),
    Bar("growth_chunks.max", "growth of a value, in TOAST chunks", 0.999),
    Bar("core.read_cpu.31685", "read 31685 bytes, core patch on against off", 0.65),
    Bar("core.read_cpu.16505", "read 16505 bytes, core patch on against off", 0.78),
    Bar("core.read_cpu.7925", "read 7925 bytes, core patch on against off", 0.85),
    Bar("core.size.max", "size with the core patch, largest ratio", 1.05),
    Bar("narrow.copy", "narrow rows: COPY, policy against heap", 1.03),
    Bar("narrow.update", "narrow rows: UPDATE, policy against heap", 1.05),
)


def cell_rows(result: Result, cell: Cell) -> list[list[object]]:
    rows: list[list[object]] = []
    for variant in cell.variants:
        size = cell.sizes[variant.name]
        row: list[object] = [
            f"{cell.panel}, {variant.title}",
            f"{size.stored / cell.rows:.0f}",
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
    return rows


def add_metrics(result: Result, cells: list[Cell]) -> None:
    for variant, prefix in ((POLICY_LZ4, ""), (CORE_LZ4, "core.")):
        if variant not in cells[0].variants:
            continue
        ratios = {}
        for cell, (size, _) in zip(cells, TESTS):
            result.ratio(
                f"{prefix}read_cpu.{size}", cell.ratio("read", variant, EXTENDED_LZ4, result.seed)
            )
            result.ratio(
                f"{prefix}insert_cpu.{size}",
                cell.ratio("insert", variant, EXTENDED_LZ4, result.seed),
            )
            ratios[size] = cell.size_ratio(variant, EXTENDED_LZ4)
            result.metrics[f"{prefix}size.{size}"] = ratios[size]
        result.metrics[f"{prefix}size.max"] = max(ratios.values())
        # Count chunks, because each chunk also costs a tuple header and a line pointer.
        result.metrics[f"{prefix}growth_chunks.max"] = max(
            (cell.sizes[variant.name].stored - cell.sizes[EXTENDED_LZ4.name].stored)
            / cell.rows
            / values.CHUNK
            for cell in cells
        )


def narrow(bench: Bench, rows: int, rounds: int) -> None:
    """Measure COPY and UPDATE of rows with nothing to compress: the cost of the access method."""
    connection, result = bench.connection, bench.result
    kinds = ("policy", "heap")
    for kind in (*kinds, "lines"):
        connection.execute(
            f"CREATE TABLE narrow_{kind} (id integer, a integer, b smallint, s text, doc text COMPRESSION lz4)"
        )
    connection.execute("SELECT toast_policy.enable('narrow_policy', 'doc')")
    connection.execute(
        "INSERT INTO narrow_lines SELECT i, i * 7, i % 100, 'row ' || i, 'a document of row number ' || i"
        f" FROM generate_series(1, {rows}) AS i"
    )
    lines = copy_out(connection, "narrow_lines")

    def copy(kind: str) -> None:
        copy_in(connection, f"narrow_{kind}", lines)

    def update(kind: str) -> None:
        connection.execute(f"UPDATE narrow_{kind} SET a = a + 1")

    times: dict[str, dict[str, list[float]]] = {"copy": {}, "update": {}}
    for _, kind in interleave(kinds, rounds):
        # Begin every round with the same pages.
        connection.execute(f"TRUNCATE narrow_{kind}")
        for test, action in (("copy", copy), ("update", update)):
            seconds = bench.clock.measure(action, kind)
            times[test].setdefault(kind, []).append(seconds)
            result.samples.append(
                {"test": NARROW + test, "type": kind, "seconds": seconds, "unit": bench.clock.kind}
            )
        bench.advance()
    shown = []
    for test, title in (("copy", "COPY FROM (ms)"), ("update", "UPDATE of all rows (ms)")):
        ratio = paired_ratio(times[test]["policy"], times[test]["heap"], result.seed)
        result.ratio(NARROW + test, ratio)
        shown.append(
            [title, *(f"{spread(times[test][kind])[0] * 1000:.1f}" for kind in kinds), ratio]
        )
    result.table(
        f"{rows:,} narrow rows with a column that toast_policy governs: medians",
        ["", "policy", "heap", "ratio"],
        shown,
        "narrow",
    )


def measure(bench: Bench, rows: int, narrow_rows: int) -> None:
    result = bench.result
    variants: list[Variant] = [EXTERNAL, POLICY_LZ4, EXTENDED_LZ4]
    if has_core_patch(bench.connection):
        variants.append(CORE_LZ4)
    # A bar of 3 % needs many pairs, and a round takes little time.
    narrow_rounds = bench.rounds * 3
    cells = []
    with progress() as bars:
        total = steps(len(TESTS), len(variants), bench.rounds) + narrow_rounds * 2
        task = bars.add_task("chunks", total=total)
        bench.advance = lambda: bars.advance(task)
        for size, make in TESTS:
            made = make(size, min(rows, values.DISTINCT), result.seed)
            cells.append(bench.cell("", f"{size} bytes", made, rows, variants))
        result.table(
            f"{cells[0].rows:,} to {cells[-1].rows:,} rows: stored bytes of a value; MB of heap and TOAST table;"
            " backend time for a value; ratios to EXTENDED lz4",
            ["values", "stored bytes", "MB", "INSERT µs", "ratio", "read µs", "ratio"],
            [row for cell in cells for row in cell_rows(result, cell)],
            "chunks",
        )
        narrow(bench, narrow_rows, narrow_rounds)
    add_metrics(result, cells)
    show_bars(result, BARS)


def run(rows: int, rounds: int, seed: int, quick: bool, running: bool, target: Path | None) -> None:
    result = Result("toast-chunks", seed, quick)
    result.describe(rows=f"at most {rows}", rounds=rounds)
    with measuring(result, result.study, running, rounds) as (_, bench):
        measure(bench, rows, 2_000 if quick else 50_000)
    result.save(target)


@click.command("toast-chunks", short_help="Compression that saves no chunk, and narrow rows.")
@toast
def command(**options) -> None:
    """Large values whose compression saves no TOAST chunk.

    These are the five tests published on pgsql-hackers.
    """
    run(**toast_arguments(options))
