"""One data directory, on which the servers of all variants run in turn."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg

from bench.lib import cgroup, pgbench
from bench.lib.paths import bindir
from bench.lib.server import Cluster
from bench.lib.session import quietly
from bench.wal.variants import OFF, Variant, verify

DATABASE = "postgres"
SEGMENT = 16 << 20

# Keep room for new row versions on each page.  Otherwise the first run would write more WAL than
# the next.
FILLFACTOR = 80

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "wal_level": "replica",
    "wal_sync_method": "fdatasync",
    "full_page_writes": "off",
    "shared_buffers": "256MB",
    "max_connections": "60",
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    # Keep as many recycled segments as a run needs.
    "min_wal_size": "512MB",
    "bgwriter_lru_maxpages": "0",
    "autovacuum": "off",
    "jit": "off",
}
LOAD_SETTINGS = SETTINGS | {"fsync": "off", "maintenance_work_mem": "256MB"}

# Read the table through its index: pages that a sequential scan of a large table reads do not stay
# in shared_buffers.
WARM = "SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT sum(abalance) FROM pgbench_accounts WHERE aid > 0"


class Instance:
    def __init__(self, stack: ExitStack, name: str, initdb_arguments: Sequence[str] = ()) -> None:
        self.name = name
        self.initdb_arguments = initdb_arguments
        self.cluster = self.of(OFF)
        self.cluster.remove()
        stack.callback(quietly, self.cluster.remove)

    def of(self, variant: Variant) -> Cluster:
        return Cluster(self.name, bindir(variant.binary))

    @property
    def wal(self) -> Path:
        return Path(os.path.realpath(self.cluster.data / "pg_wal"))

    def load(self, scale: int, segments: int, settings: Mapping[str, str]) -> None:
        """Create pgbench's tables, and WAL segments for the runs."""
        self.cluster.start(LOAD_SETTINGS | settings, initdb_arguments=self.initdb_arguments)
        pgbench.initialize(self.cluster, DATABASE, scale, FILLFACTOR)
        with self.cluster.connect(DATABASE) as connection:
            preallocate(connection, segments)
        self.cluster.stop()
        self.evict()

    def evict(self) -> None:
        cgroup.evict(self.cluster.data)
        cgroup.evict(self.wal)

    def start(
        self,
        variant: Variant,
        settings: Mapping[str, str],
        prefix: tuple[str, ...] = (),
        warm: bool = True,
    ) -> Cluster:
        """Start the server of a variant.

        Evict the WAL from the page cache first.  If warm is true, read pgbench_accounts into
        shared_buffers.
        """
        cgroup.evict(self.wal)
        cluster = self.of(variant)
        cluster.start(SETTINGS | settings | variant.settings, prefix, self.initdb_arguments)
        verify(cluster, variant)
        if warm:
            with cluster.connect(DATABASE) as connection:
                connection.execute(WARM)
        return cluster

    def stop(self, cluster: Cluster, variant: Variant) -> None:
        """Stop the server, after verifying the variant again.

        A server may have given up direct I/O since its start.
        """
        verify(cluster, variant)
        cluster.stop()


def preallocate(connection: psycopg.Connection, segments: int) -> None:
    for _ in range(segments):
        connection.execute("SELECT pg_logical_emit_message(false, 'bench', 'x')")
        connection.execute("SELECT pg_switch_wal()")
    connection.execute("CHECKPOINT")
