"""One measured run of a fixed number of transactions.

The run gives growth, reads, writes, WAL and prunes, and the time of each slice.
"""

import time
from bisect import bisect_left
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy
import psycopg

from bench.bgvacuum.variants import Variant
from bench.bgvacuum.workloads import Workload
from bench.lib import counters, pgbench
from bench.lib.paths import work
from bench.lib.server import Cluster, fetch_dicts
from bench.lib.session import quietly
from bench.tpcc.load import LOAD_SETTINGS

SLICES = 8
# Checkpoints in a run, in addition to the one before it
CHECKPOINTS = 3
BLOCK = 8192

SIZES = """
SELECT name, pg_relation_size(name::regclass), pg_indexes_size(name::regclass) FROM unnest(%s::text[]) AS name
"""
TABLES = """
SELECT s.relname, s.n_tup_ins, s.n_tup_upd, s.n_tup_del, s.n_tup_hot_upd, s.n_tup_newpage_upd, s.n_dead_tup,
       s.autovacuum_count, s.autoanalyze_count,
       io.heap_blks_read, io.heap_blks_hit, coalesce(io.idx_blks_read, 0) AS idx_blks_read
FROM pg_stat_user_tables AS s JOIN pg_statio_user_tables AS io USING (relid)
WHERE s.relname = ANY(%s)
"""
IO = """
SELECT replace(backend_type, ' ', '_') || '.' || context AS name,
       coalesce(reads, 0) AS reads, coalesce(writes, 0) AS writes, coalesce(extends, 0) AS extends
FROM pg_stat_io WHERE object = 'relation'
"""
WAL = "SELECT wal_records, wal_fpi, wal_bytes::float8 AS wal_bytes FROM pg_stat_wal"
BGWRITER = "SELECT buffers_clean, maxwritten_clean FROM pg_stat_bgwriter"
CHECKPOINTER = "SELECT num_timed + num_requested AS checkpoints FROM pg_stat_checkpointer"


class Databases:
    """Data directories of the workloads, for all variants: background vacuum changes no format."""

    def __init__(self, prefix: str, variant: Variant, seed: int, stack: ExitStack) -> None:
        self.prefix = prefix
        self.variant = variant
        self.seed = seed
        self.stack = stack
        self.loaded: dict[str, Cluster] = {}

    def load(self, workload: Workload) -> Cluster:
        """Return a stopped instance with the database of the workload.  Load it only once."""
        if workload.database not in self.loaded:
            cluster = self.variant.cluster(f"{self.prefix}-{workload.database}")
            quietly(cluster.remove)
            self.stack.callback(quietly, cluster.remove)
            cluster.start(LOAD_SETTINGS)
            workload.load(cluster, self.seed)
            cluster.stop()
            self.loaded[workload.database] = cluster
        return self.loaded[workload.database]


def has_view(connection: psycopg.Connection) -> bool:
    return connection.execute("SELECT to_regclass('pg_stat_bgvacuum') IS NOT NULL").fetchone()[0]


def snapshot(
    connection: psycopg.Connection, workload: Workload, cluster: Cluster
) -> dict[str, float]:
    """Return all counters as one flat object, so that two of them can be subtracted."""
    taken: dict[str, float] = {}
    for row in fetch_dicts(connection, TABLES, list(workload.tables)):
        name = row.pop("relname")
        for column, value in row.items():
            taken[f"{name}.{column}"] = value
            taken[column] = taken.get(column, 0) + value
    for row in fetch_dicts(connection, IO):
        for column in ("reads", "writes", "extends"):
            if row[column]:
                taken[f"{row['name']}.{column}"] = row[column]
    taken |= fetch_dicts(connection, WAL)[0]
    taken |= fetch_dicts(connection, BGWRITER)[0]
    taken |= fetch_dicts(connection, CHECKPOINTER)[0]
    if has_view(connection):
        row = fetch_dicts(connection, "SELECT * FROM pg_stat_bgvacuum")[0]
        taken |= {
            f"bgvacuum.{name}": float(value) for name, value in row.items() if name != "stats_reset"
        }
    taken["cpu_seconds"] = counters.cpu_seconds(cluster.postmaster())
    found = connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'"
    ).fetchone()
    taken["bgwriter_cpu_seconds"] = (counters.backend_cpu(found[0]) if found else None) or 0.0
    return taken


@dataclass
class Sizes:
    """The bytes of the tables at several moments."""

    moments: list[float]
    heaps: list[dict[str, int]]
    indexes: list[int]

    def take(self, connection: psycopg.Connection, tables: tuple[str, ...]) -> None:
        rows = connection.execute(SIZES, [list(tables)]).fetchall()
        self.moments.append(time.time())
        self.heaps.append({name: heap for name, heap, _ in rows})
        self.indexes.append(sum(indexes for _, _, indexes in rows))

    def at(self, moment: float) -> int:
        """Return the bytes of all heaps at a moment.

        Take the first sizes that were measured then or later, which include all that was written
        until then.
        """
        place = min(bisect_left(self.moments, moment), len(self.moments) - 1)
        return sum(self.heaps[place].values())


def settle(connection: psycopg.Connection) -> None:
    """Wait until all processes have reported their counters.

    Backends report when they end at the latest, and the background writer reports once a round.
    """
    pgbench.wait_for_sessions(connection)
    time.sleep(0.5)


def slices(log: pgbench.Log, batch: int) -> list[tuple[float, float]]:
    """Divide the calls into slices of equal numbers.

    Return the end of each slice, and its cycles a second.
    """
    ended = numpy.sort(log.ended)
    begin = float((log.ended - log.latency).min())
    found = []
    for part in numpy.array_split(ended, SLICES):
        found.append((float(part[-1]), batch * len(part) / (float(part[-1]) - begin)))
        begin = float(part[-1])
    return found


def third(log: pgbench.Log, last: bool) -> float:
    """Return the calls a second in the first or the last third of the calls."""
    ended = numpy.sort(log.ended)
    count = len(ended) // 3
    if last:
        return count / float(ended[-1] - ended[-1 - count])
    return count / float(ended[count - 1] - (log.ended - log.latency).min())


def run(
    cluster: Cluster, workload: Workload, clients: int, rate: float | None, seed: int
) -> dict[str, Any]:
    """Run the workload once, and return a sample."""
    directory = work() / "bgvacuum"
    each = max(1, workload.cycles // workload.batch // clients)
    options = [*pgbench.client_options(clients, seed), "-t", str(each)]
    rate = rate or workload.rate
    if rate:
        options.append(f"--rate={rate / workload.batch}")
    scripts = workload.write_scripts(directory / "scripts")
    variables = {
        **workload.variables(seed),
        "call": 0,
        "checkpoint_every": each // (CHECKPOINTS + 1) + 1,
    }
    sizes = Sizes([], [], [])
    with cluster.connect(workload.database) as connection:
        sizes.take(connection, workload.tables)
        before = snapshot(connection, workload, cluster)
        with pgbench.Background(
            cluster, workload.database, scripts, variables, options, directory
        ) as load:
            while not load.has_ended():
                time.sleep(0.2)
                sizes.take(connection, workload.tables)
        settle(connection)
        after = snapshot(connection, workload, cluster)
        sizes.take(connection, workload.tables)
        inserted = workload.inserted_bytes(connection)
        found = workload.after(connection)
    return summarize(load.log(), workload.batch, sizes, inserted, before, after) | found


def summarize(
    log: pgbench.Log,
    batch: int,
    sizes: Sizes,
    inserted: float,
    before: dict[str, float],
    after: dict[str, float],
) -> dict[str, Any]:
    parts = slices(log, batch)
    begin = float((log.ended - log.latency).min())
    start = sum(sizes.heaps[0].values())
    return {
        "cycles": batch * len(log.ended),
        "seconds": parts[-1][0] - begin,
        "tps": batch * len(log.ended) / (parts[-1][0] - begin),
        "tps_by_slice": [tps for _, tps in parts],
        "last_third_to_first": third(log, True) / third(log, False),
        "heap_before": sizes.heaps[0],
        "heap_after": sizes.heaps[-1],
        # Vacuums of the table that was updated most
        "autovacuums": _cycles(before, after),
        "inserted_pages": inserted / BLOCK,
        # Growth without the inserted rows, which come evenly over the run
        "growth_pages": (sum(sizes.heaps[-1].values()) - start - inserted) / BLOCK,
        "growth_pages_by_slice": [
            (sizes.at(moment) - start - inserted * (number + 1) / SLICES) / BLOCK
            for number, (moment, _) in enumerate(parts)
        ],
        "index_growth_pages": (sizes.indexes[-1] - sizes.indexes[0]) // BLOCK,
        # Counters that did not exist yet when the run began are missing in before.
        "counters": {name: value - before.get(name, 0) for name, value in after.items()},
    }


def _cycles(before: dict[str, float], after: dict[str, float]) -> int:
    """Return the number of vacuums of the table that was updated most, or of the only table."""
    updates = {name: value for name, value in after.items() if name.endswith(".n_tup_upd")}
    name = max(updates, key=lambda name: updates[name]).replace("n_tup_upd", "autovacuum_count")
    return int(after[name] - before[name])
