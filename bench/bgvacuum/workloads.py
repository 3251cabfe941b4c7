"""What is done to which tables.

Rows of bench_rows have the numbers 2 and 3, 4 and 5, ...: of each pair one is
there.  A cycle of "mixed" deletes a uniformly random row, inserts the other of
its pair, so that the table has as many rows as ever and none is looked for in
vain, and updates a uniformly random row.  One of "uniform" updates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
from rich.progress import Progress

from bench.lib import pgbench
from bench.lib.console import BenchError
from bench.lib.server import Server

SQL = Path(__file__).parent / "sql"
TABLE = "bench_rows"

LOAD_SETTINGS = {
    "fsync": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "16GB",
    "jit": "off",
}


@dataclass(frozen=True)
class Workload:
    """Updates, inserts and deletes of uniformly random rows of one table, found by its primary key."""

    name: str
    title: str
    rows: int
    # Each of so many transactions as it has operations, all of which commit.
    cycles: int
    # Of the server while it is measured.
    settings: Mapping[str, str]
    # The file-level copy of whose data all workloads of one kind start from.
    database: str = "bench"
    tables: tuple[str, ...] = (TABLE,)
    # Cycles of one call: a round trip to the client takes longer than an operation.
    batch: int = 20

    def load(self, server: Server, seed: int, bars: Progress) -> None:
        task = bars.add_task(f"load {self.rows:,} rows", total=1)
        server.create_database(self.database)
        with server.connect(self.database) as connection:
            connection.execute(f"CREATE TABLE {TABLE} (id integer NOT NULL, counter integer NOT NULL, filler text NOT NULL)")
            connection.execute(
                f"INSERT INTO {TABLE} SELECT 2 * k, 0, repeat('x', 73) FROM generate_series(1, {self.rows}) AS k"
            )
            connection.execute(f"ALTER TABLE {TABLE} ADD CONSTRAINT {TABLE}_pkey PRIMARY KEY (id)")
            connection.execute((SQL / "procedures.sql").read_text(encoding="utf-8"))
            connection.execute("VACUUM (FREEZE, ANALYZE)")
            connection.execute("CHECKPOINT")
        bars.advance(task)

    def scripts(self, _directory: Path) -> list[pgbench.Script]:
        return [pgbench.Script(self.name, SQL / f"{self.name}.sql", 1)]

    def variables(self, _seed: int) -> dict[str, object]:
        return {"rows": self.rows, "cycles": self.batch}

    def check(self, connection: psycopg.Connection, cycles: int, title: str) -> None:
        """That no row is lost and none is there twice, by the table and by its key, and that no update is lost."""
        for what in ("seqscan", "indexscan"):
            connection.execute(f"SET enable_{what} = off")
            connection.execute("SET enable_bitmapscan = off")
            rows, updates = connection.execute(
                f"SELECT count(*), sum(counter) FROM {TABLE} WHERE id >= 0"
            ).fetchone()
            connection.execute("RESET ALL")
            if rows != self.rows:
                raise BenchError(f"{title}: the table has {rows} rows, not {self.rows}")
            if self.name == "uniform" and updates != cycles:
                raise BenchError(f"{title}: {cycles - updates} of {cycles} updates are lost")
