"""Time of DROP of a temporary table while many shared buffers hold changed pages of another one."""

import time
from collections.abc import Sequence
from contextlib import ExitStack

import psycopg

from bench.bgvacuum.variants import ON, STOCK, Variant
from bench.lib.console import console
from bench.lib.result import Result
from bench.lib.server import has_stock
from bench.lib.session import quietly
from bench.lib.statistics import interleave, paired_ratio, spread

NAME = "temporary"
INSTANCE = "bench-bgvacuum-temporary"
SETTINGS = {
    "synchronous_commit": "off",
    "checkpoint_timeout": "1h",
    "max_wal_size": "64GB",
    "autovacuum": "off",
    "max_connections": "20",
}
# Rows of one page, so that the number of pages is known.
FILL = "INSERT INTO filler SELECT repeat('x', 7000) FROM generate_series(1, %s)"


def drops(connection: psycopg.Connection, count: int) -> list[float]:
    """Seconds of each DROP."""
    seconds = []
    for _ in range(count):
        connection.execute("CREATE TEMPORARY TABLE gone (i integer)")
        connection.execute("INSERT INTO gone VALUES (1)")
        begin = time.perf_counter()
        connection.execute("DROP TABLE gone")
        seconds.append(time.perf_counter() - begin)
    return seconds


def sample(variant: Variant, number: int, quick: bool) -> dict[str, object]:
    """Half of the buffers are filled with pages that were inserted into.

    A snapshot older than their rows keeps them as they are.  Without it, the background writer sets all of
    them all-visible meanwhile, so that the processors are shared with that.
    """
    megabytes = 64 if quick else 6144
    cluster = variant.cluster(INSTANCE)
    with ExitStack() as stack:
        quietly(cluster.remove)
        stack.callback(quietly, cluster.remove)
        cluster.start({**SETTINGS, **variant.settings, "shared_buffers": f"{megabytes}MB"})
        with cluster.snapshot(), cluster.connect("postgres") as connection:
            connection.execute("CREATE TABLE filler (t text)")
            connection.execute("ALTER TABLE filler ALTER COLUMN t SET STORAGE PLAIN")
            connection.execute(FILL, [megabytes * 128 // 2])
            found = drops(connection, 20 if quick else 1000)
    return {
        "workload": NAME,
        "variant": variant.name,
        "round": number,
        "drops": len(found),
        "drop_seconds": spread(found)[0],
    }


def run(result: Result, variants: Sequence[Variant], pairs: int, quick: bool) -> None:
    """Samples, a table and the metric, of the first variant and "on"."""
    compared = [STOCK, ON] if has_stock() else [variant for variant in variants if variant.name in ("off", ON.name)]
    if len(compared) < 2:
        return
    values: dict[str, list[float]] = {variant.name: [] for variant in compared}
    for number, variant in interleave(compared, pairs):
        found = sample(variant, number, quick)
        result.samples.append(found)
        values[variant.name].append(float(found["drop_seconds"]))  # type: ignore[arg-type]
        console.print(f"{NAME}, run {number + 1}, {variant.name}: {1e3 * values[variant.name][-1]:.3f} ms a DROP")
    ratio = paired_ratio(values[ON.name], values[compared[0].name], result.seed)
    result.ratio(f"{NAME}.drop", ratio)
    result.table(
        "DROP of a temporary table, half of the shared buffers changed: median of the runs' medians, ms",
        ["", *(variant.title for variant in compared), "ratio"],
        [["DROP TABLE", *(f"{1e3 * spread(values[variant.name])[0]:.3f}" for variant in compared), str(ratio)]],
        NAME,
    )
