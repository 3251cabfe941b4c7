"""One measured run of pgbench -N: commits, WAL, and bytes that go to the device."""

import math
import time
from dataclasses import dataclass

import numpy
import psycopg

from bench.lib import counters, pgbench
from bench.lib.cgroup import ControlGroup
from bench.lib.console import BenchError
from bench.lib.paths import work
from bench.lib.server import Cluster
from bench.wal.instance import DATABASE

SCRIPT = ("-b", "simple-update")
# Seconds that pgbench runs longer than the measurement, which ends late on a busy machine
SLACK = 0.5
ATTEMPTS = 5
LSN = "SELECT pg_current_wal_insert_lsn() - '0/0'"


@dataclass(frozen=True)
class Counted:
    """What is counted in addition to commits and WAL.

    device is MAJOR:MINOR of a device.  If processes is true, the writes of the server's processes
    are counted.  group is a control group.
    """

    device: str | None = None
    processes: bool = False
    group: ControlGroup | None = None


NOTHING = Counted()


class TooLate(Exception):
    """pgbench ended before the measured time ended."""


# Number of calls that write WAL, without the calls that fill new segments
WRITES_17 = "SELECT wal_write FROM pg_stat_wal"
WRITES_18 = "SELECT sum(writes) FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'"


def snapshot(
    connection: psycopg.Connection, postmaster: int, counted: Counted
) -> tuple[dict[str, float], dict[int, int] | None]:
    (wal_bytes,) = connection.execute(LSN).fetchone()
    taken: dict[str, float] = {"wal_bytes": float(wal_bytes)}
    if counted.group:
        taken |= {"group_" + name: float(value) for name, value in counted.group.counters().items()}
    processes = counters.written_by_processes(postmaster) if counted.processes else None
    # Read these counters last, because the caller notes the time right after them.
    taken |= counters.device_counters(counted.device)
    return taken, processes


def wal_writes(connection: psycopg.Connection) -> int:
    """Return the number of WAL writes of all processes, also of those that have ended."""
    pgbench.wait_for_sessions(connection)
    (writes,) = connection.execute(
        WRITES_18 if connection.info.server_version >= 180000 else WRITES_17
    ).fetchone()
    return int(writes)


def run(
    cluster: Cluster,
    clients: int,
    warmup: float,
    seconds: float,
    seed: int,
    counted: Counted = NOTHING,
) -> dict[str, object]:
    """Measure one run, and return its sample.

    Repeat a run that was disturbed so much that pgbench ended too early.
    """
    for _ in range(ATTEMPTS):
        try:
            return _run(cluster, clients, warmup, seconds, seed, counted)
        except TooLate:
            continue
    raise BenchError(f"pgbench has ended too early {ATTEMPTS} times: this machine is too busy")


def _run(
    cluster: Cluster, clients: int, warmup: float, seconds: float, seed: int, counted: Counted
) -> dict[str, object]:
    options = [
        *SCRIPT,
        "-c",
        str(clients),
        "-j",
        str(min(2, clients)),
        "-T",
        str(math.ceil(warmup + seconds + SLACK)),
    ]
    options.append(f"--random-seed={seed}")
    with cluster.connect(DATABASE) as connection:
        postmaster = cluster.postmaster()
        writes = wal_writes(connection)
        with pgbench.Background(cluster, DATABASE, [], {}, options, work() / "wal") as load:
            time.sleep(warmup)
            before, processes = snapshot(connection, postmaster, counted)
            begin = time.time()
            time.sleep(seconds)
            after, later = snapshot(connection, postmaster, counted)
            end = time.time()
            late = load.has_ended()
        if late:
            raise TooLate
        writes = wal_writes(connection) - writes
    whole = load.log()
    log = whole.window(begin, end)
    commits = len(log.ended)
    if commits == 0:
        raise BenchError(f"no transaction of {clients} clients finished in {end - begin:.0f} s")
    sample: dict[str, object] = {
        "clients": clients,
        "seconds": end - begin,
        "commits": commits,
        "tps": commits / (end - begin),
        "latency_ms": dict(
            zip(("p50", "p99"), map(float, numpy.percentile(log.latency * 1000, [50, 99])))
        ),
        # Backends report their writes late, at their end at the latest.  So this figure is of the
        # whole run.
        "wal_writes_per_commit": writes / len(whole.ended),
        **counters.difference(before, after),
    }
    if processes is not None and later is not None:
        sample["process_write_bytes"] = sum(
            later[number] - processes.get(number, 0) for number in later
        )
    return sample
