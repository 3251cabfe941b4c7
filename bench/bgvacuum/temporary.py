"""Time to drop a temporary table while many shared buffers hold changed pages of another table."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import psycopg

from bench.bgvacuum.switched import record, switch
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
# Each row fills a page, so that the number of pages is known.
FILL = "INSERT INTO filler SELECT repeat('x', 7000) FROM generate_series(1, %s)"


def drops(connection: psycopg.Connection, count: int) -> list[float]:
    """Create and drop temporary tables.  Return the seconds of each DROP."""
    seconds = []
    for _ in range(count):
        connection.execute("CREATE TEMPORARY TABLE gone (i integer)")
        connection.execute("INSERT INTO gone VALUES (1)")
        begin = time.perf_counter()
        connection.execute("DROP TABLE gone")
        seconds.append(time.perf_counter() - begin)
    return seconds


@contextmanager
def server(variant: Variant, megabytes: int) -> Iterator[psycopg.Connection]:
    """Yield a connection to a server with shared buffers of this size.

    The database has an empty table for fill().  A snapshot that is older than the rows keeps them
    as they are.  Without it, the background writer would set all pages all-visible meanwhile, and
    would take processor time for that.
    """
    cluster = variant.cluster(INSTANCE)
    with ExitStack() as stack:
        quietly(cluster.remove)
        stack.callback(quietly, cluster.remove)
        cluster.start({**SETTINGS, **variant.settings, "shared_buffers": f"{megabytes}MB"})
        with cluster.snapshot(), cluster.connect("postgres") as connection:
            connection.execute("CREATE TABLE filler (t text)")
            connection.execute("ALTER TABLE filler ALTER COLUMN t SET STORAGE PLAIN")
            yield connection


def fill(connection: psycopg.Connection, megabytes: int) -> None:
    """Fill half of the shared buffers, whose size is given, with pages of inserted rows."""
    connection.execute("TRUNCATE filler")
    connection.execute(FILL, [megabytes * 128 // 2])


def sample(variant: Variant, megabytes: int, count: int) -> float:
    """Return the median seconds of a DROP while half of the shared buffers have been changed."""
    with server(variant, megabytes) as connection:
        fill(connection, megabytes)
        return spread(drops(connection, count))[0]


def sample_switched(megabytes: int, count: int) -> dict[str, float]:
    """Do the same with the switch on and off in turn.  Return the medians by setting.

    Two servers differ in the place of their memory, which changes the time by up to a quarter.  So
    use only one server here.
    """
    seconds: dict[str, list[float]] = {"on": [], "off": []}
    with server(ON, megabytes) as connection:
        # In this order, a drift of the machine affects both settings alike.  Fill the table again
        # after each switch to on, because background vacuum does not process rows that were
        # inserted while it was off.
        for setting, refill in (("on", True), ("off", False), ("off", True), ("on", True)):
            switch(connection, setting)
            if refill:
                fill(connection, megabytes)
            seconds[setting] += drops(connection, count)
    return {setting: spread(found)[0] for setting, found in seconds.items()}


def run(result: Result, variants: Sequence[Variant], pairs: int, quick: bool) -> None:
    """Add samples, a table and metrics: the variant "on" compared with the first variant."""
    compared = (
        [STOCK, ON]
        if has_stock()
        else [variant for variant in variants if variant.name in ("off", ON.name)]
    )
    if len(compared) < 2:
        return
    megabytes, count = (64, 20) if quick else (6144, 1000)
    values: dict[str, list[float]] = {variant.name: [] for variant in compared}
    for number, variant in interleave(compared, pairs):
        seconds = sample(variant, megabytes, count)
        values[variant.name].append(seconds)
        result.samples.append(
            {
                "workload": NAME,
                "variant": variant.name,
                "round": number,
                "drops": count,
                "drop_seconds": seconds,
            }
        )
        console.print(f"{NAME}, run {number + 1}, {variant.name}: {1e3 * seconds:.3f} ms a DROP")
    record(
        result,
        NAME,
        "drop",
        [sample_switched(megabytes, count) for _ in range(pairs)],
        "drop_seconds",
    )
    ratio = paired_ratio(values[ON.name], values[compared[0].name], result.seed)
    result.ratio(f"{NAME}.drop", ratio)
    result.table(
        "DROP TABLE of a temporary table, half of the shared buffers dirty: median of the runs' medians, ms",
        ["", *(variant.title for variant in compared), "ratio"],
        [
            [
                "DROP TABLE",
                *(f"{1e3 * spread(values[variant.name])[0]:.3f}" for variant in compared),
                str(ratio),
            ]
        ],
        NAME,
    )
