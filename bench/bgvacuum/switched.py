"""Operations a second with background vacuum switched on and off in turn, within one run.

Two consecutive runs differ because of the other work of the machine.  Where processors are the
limit, this difference is far larger than the cost of background vacuum.  Phases of seconds on one
server do not differ in this way.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy
import psycopg

from bench.bgvacuum.variants import ON, SETTING
from bench.bgvacuum.workloads import Workload
from bench.lib import pgbench
from bench.lib.console import console
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly
from bench.lib.statistics import paired_ratio

# All workloads except TPC-C, which has a study of its own, and except those that examine what is
# left at the end
WORKLOADS = ("mixed", "uniform", "indexed", "groups", "insert_only")
# A vacuum would fall into phases of one kind only.
SETTINGS = {"autovacuum": "off"}
# In the order off, on, on, off, a drift of the machine affects both settings alike.
ORDER = ("off", "on", "on", "off")
# Seconds before the first phase, until the caches are warm
WARMUP = 5.0


def phase_seconds(quick: bool) -> tuple[float, float]:
    """Return the seconds of a phase, and of its beginning, which is not counted.

    A process notices a reload of the settings only between two statements.
    """
    return (0.4, 0.2) if quick else (2.0, 0.5)


def blocks(name: str, quick: bool) -> int:
    """Return how often the phases of ORDER are repeated.

    A table that only grows has no room for many repetitions.
    """
    if quick:
        return 2
    return 12 if name == "insert_only" else 40


def switch(connection: psycopg.Connection, setting: str) -> None:
    connection.execute(f"ALTER SYSTEM SET {SETTING} = {setting}")
    connection.execute("SELECT pg_reload_conf()")


def rates(
    ended: numpy.ndarray, windows: Sequence[tuple[str, float, float]], batch: int
) -> list[dict[str, float]]:
    """Return, for each block of windows, the operations a second with the switch on and off.

    ended has the time at which each call ended, in order.  A window is the setting, begin and end
    of a phase.
    """
    found = []
    for first in range(0, len(windows), len(ORDER)):
        block = windows[first : first + len(ORDER)]
        calls = dict.fromkeys(ORDER, 0)
        seconds = dict.fromkeys(ORDER, 0.0)
        for setting, begin, end in block:
            calls[setting] += int(numpy.diff(numpy.searchsorted(ended, (begin, end)))[0])
            seconds[setting] += end - begin
        found.append({setting: batch * calls[setting] / seconds[setting] for setting in calls})
    return found


def run(
    cluster: Cluster,
    workload: Workload,
    settings: Mapping[str, str],
    clients: int,
    seed: int,
    quick: bool,
    directory: Path,
    describe: Callable[[psycopg.Connection], None],
) -> list[dict[str, float]]:
    """Run the workload, and return the rates() of its phases.

    describe is called with a connection to the server.
    """
    phase, skipped = phase_seconds(quick)
    seconds = WARMUP + phase * len(ORDER) * blocks(workload.name, quick)
    options = pgbench.client_options(clients, seed)
    # Let the scripts make no checkpoints, because these would also fall into phases of one kind.
    variables = {**workload.variables(seed), "call": 0, "checkpoint_every": 10**9}
    scripts = workload.write_scripts(directory / "scripts")
    windows = []
    with ExitStack() as stack:
        stack.callback(quietly, cluster.remove)
        cluster.start({**settings, **ON.settings, **SETTINGS})
        with (
            cluster.connect(workload.database) as connection,
            pgbench.Background(
                cluster, workload.database, scripts, variables, options, directory, seconds
            ) as load,
        ):
            describe(connection)
            time.sleep(WARMUP)
            for _ in range(blocks(workload.name, quick)):
                for setting in ORDER:
                    switch(connection, setting)
                    time.sleep(skipped)
                    begin = time.time()
                    time.sleep(phase - skipped)
                    windows.append((setting, begin, time.time()))
    return rates(numpy.sort(load.log().ended), windows, workload.batch)


def record(
    result: Result, name: str, figure: str, found: list[dict[str, float]], key: str | None = None
) -> None:
    """Add the rates as samples, and their ratio as a metric.

    The samples have the workload NAME.switched, and the figure is called key there, if key is
    given.  The metric is NAME.FIGURE.switched.
    """
    for number, by_setting in enumerate(found):
        result.samples.append(
            {
                "workload": f"{name}.switched",
                "variant": ON.name,
                "round": number,
                key or figure: by_setting,
            }
        )
    ratio = paired_ratio(
        [by_setting["on"] for by_setting in found],
        [by_setting["off"] for by_setting in found],
        result.seed,
    )
    result.ratio(f"{name}.{figure}.switched", ratio)
    console.print(f"{name}, the switch on to off in one run: {figure} {ratio}")
