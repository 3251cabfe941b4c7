"""The workloads: their tables, and the operations on them.

The rows of bench_rows have the numbers 2 and 3, 4 and 5, and so on.  Of each such pair, one row
exists.  A cycle of "mixed" deletes a uniformly random row and inserts the other row of its pair.
So the number of rows stays the same, and no lookup is in vain.  The cycle also updates a uniformly
random row.  A cycle of "uniform" updates a uniformly random row.  "indexed" does the same, but the
updated column is indexed, so that no update is HOT.  A cycle of "groups" updates ten rows at once
that are neighbours at first, as are the lines of an order.  Together, they leave more room than one
of these rows would fill.

"insert_only" adds rows to an empty table.  "append_only" adds rows, too, without vacuums, until the
table is four times as large as shared buffers.  Then it finds out how much work is left for a
vacuum that freezes, and for index-only scans.
"""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import psycopg

from bench.lib import pgbench
from bench.lib.console import BenchError, progress
from bench.lib.server import Server
from bench.tpcc import check
from bench.tpcc.load import FULL, LITE, TABLES, load
from bench.tpcc.sizes import TableSize, table_sizes
from bench.tpcc.stages import stages
from bench.tpcc.workload import Load, script_variables, write_scripts

SQL = Path(__file__).parent / "sql"
DIRTIED = re.compile(r"buffer usage: \d+ hits, \d+ misses, (\d+) dirtied")


@dataclass
class Workload(ABC):
    name: str
    title: str
    # Number of cycles of operations; a run ends when all of them are done
    cycles: int
    # Settings of the server while it is measured
    settings: Mapping[str, str]

    # Workloads with the same database start from copies of the same files.
    database: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]
    # Number of cycles in one call
    batch: int = 1
    # Highest number of cycles a second, for a run that would otherwise end before the background
    # writer notices it
    rate: float | None = field(default=None, kw_only=True)

    @abstractmethod
    def load(self, server: Server, seed: int) -> None:
        ...

    @abstractmethod
    def scripts(self, directory: Path) -> list[pgbench.Script]:
        ...

    @abstractmethod
    def variables(self, seed: int) -> dict[str, object]:
        ...

    def write_scripts(self, directory: Path) -> list[pgbench.Script]:
        """Write the scripts, with checkpoints by one of the clients."""
        directory.mkdir(parents=True, exist_ok=True)
        checkpoint = (SQL / "checkpoint.sql").read_text(encoding="utf-8")
        written = []
        for script in self.scripts(directory):
            path = directory / f"{script.name}.sql"
            path.write_text(checkpoint + script.path.read_text(encoding="utf-8"), encoding="utf-8")
            written.append(replace(script, path=path))
        return written

    @abstractmethod
    def check(self, connection: psycopg.Connection, cycles: int, title: str) -> None:
        """Raise an error if the rows are not those that the run must have left."""

    def inserted_bytes(self, connection: psycopg.Connection) -> float:
        """Return the bytes of the rows that were added to the tables, which no vacuum can save."""
        return 0.0

    def after(self, connection: psycopg.Connection) -> dict[str, float]:
        """Examine the tables after a run, and return figures for its sample."""
        return {}


def _both_scans(connection: psycopg.Connection) -> Iterator[str]:
    """Force a scan of the table, and then of its key.

    Yield the setting that is on, for a message.
    """
    for scan, other in (
        ("enable_seqscan", "enable_indexscan"),
        ("enable_indexscan", "enable_seqscan"),
    ):
        connection.execute(f"SET {scan} = on; SET {other} = off; SET enable_bitmapscan = off")
        yield scan


@dataclass
class Rows(Workload):
    """Uniformly random rows of one table, found by its primary key."""

    rows: int = 0
    # Number of updates in a cycle; None if rows, with their counts of updates, are also deleted
    updates: int | None = None
    database = "bench"
    tables = ("bench_rows",)

    def load(self, server: Server, seed: int) -> None:
        server.create_database(self.database)
        with progress() as bars, server.connect(self.database) as connection:
            task = bars.add_task("load: rows", total=self.rows)
            connection.execute(
                "CREATE TABLE bench_rows (id integer NOT NULL, counter integer NOT NULL, filler text NOT NULL)"
            )
            connection.execute(
                "INSERT INTO bench_rows SELECT 2 * k, 0, repeat('x', 73) FROM generate_series(1, %s) AS k",
                [self.rows],
            )
            connection.execute("ALTER TABLE bench_rows ADD PRIMARY KEY (id)")
            connection.execute((SQL / "procedures.sql").read_text(encoding="utf-8"))
            connection.execute("VACUUM (FREEZE, ANALYZE)")
            connection.execute("CHECKPOINT")
            bars.advance(task, self.rows)

    def scripts(self, directory: Path) -> list[pgbench.Script]:
        return [pgbench.Script(self.name, SQL / f"{self.name}.sql", 1)]

    def variables(self, seed: int) -> dict[str, object]:
        return {"rows": self.rows, "cycles": self.batch}

    def check(self, connection: psycopg.Connection, cycles: int, title: str) -> None:
        """Raise an error if a row is lost or there twice, or if an update is lost.

        Read the rows by a scan of the table, and by its key.
        """
        for scan in _both_scans(connection):
            counting = "SELECT count(*), sum(counter) FROM bench_rows WHERE id >= 0"
            rows, updates = connection.execute(counting).fetchone()
            if rows != self.rows:
                raise BenchError(f"{title}: the table has {rows} rows, not {self.rows} ({scan})")
            if self.updates and updates != self.updates * cycles:
                raise BenchError(
                    f"{title}: {updates} updates are there, not {self.updates * cycles} ({scan})"
                )


@dataclass
class IndexedRows(Rows):
    """The same table, with an index on the updated column."""

    database = "bench_indexed"

    def load(self, server: Server, seed: int) -> None:
        super().load(server, seed)
        with server.connect(self.database) as connection:
            connection.execute("CREATE INDEX ON bench_rows (counter)")
            connection.execute("CHECKPOINT")

    def scripts(self, directory: Path) -> list[pgbench.Script]:
        return [pgbench.Script(self.name, SQL / "uniform.sql", 1)]


@dataclass
class Inserts(Workload):
    """Rows that are inserted, each in a transaction of its own, and that stay."""

    database = "bench_log"
    tables = ("bench_log",)

    def load(self, server: Server, seed: int) -> None:
        server.create_database(self.database)
        with server.connect(self.database) as connection:
            connection.execute(
                "CREATE TABLE bench_log (id bigserial, counter integer NOT NULL, filler text NOT NULL)"
            )
            connection.execute("ALTER TABLE bench_log ADD PRIMARY KEY (id)")
            connection.execute((SQL / "insert.sql").read_text(encoding="utf-8"))
            connection.execute("CREATE EXTENSION pg_visibility")
            connection.execute("CHECKPOINT")

    def scripts(self, directory: Path) -> list[pgbench.Script]:
        return [pgbench.Script(self.name, SQL / f"{self.name}.sql", 1)]

    def variables(self, seed: int) -> dict[str, object]:
        return {"cycles": self.batch}

    def check(self, connection: psycopg.Connection, cycles: int, title: str) -> None:
        for scan in _both_scans(connection):
            rows = connection.execute("SELECT count(*) FROM bench_log WHERE id >= 0").fetchone()[0]
            if rows != cycles:
                raise BenchError(f"{title}: the table has {rows} rows, not {cycles} ({scan})")

    def inserted_bytes(self, connection: psycopg.Connection) -> float:
        """Return the size of the table, because all of its rows are added."""
        return connection.execute("SELECT pg_relation_size('bench_log')").fetchone()[0]


@dataclass
class AppendOnly(Inserts):
    """Inserts without vacuums, and then the work that is left for later.

    This is the work of a vacuum that freezes, and of index-only scans.
    """

    # Seconds to wait after the run, until the pages that are still in shared buffers are set
    # all-visible
    seconds: float = 5.0

    def scripts(self, directory: Path) -> list[pgbench.Script]:
        return [pgbench.Script(self.name, SQL / "insert_only.sql", 1)]

    def after(self, connection: psycopg.Connection) -> dict[str, float]:
        time.sleep(self.seconds)
        share = "SELECT all_frozen / greatest(pg_relation_size('bench_log') / 8192, 1)::float8"
        frozen = connection.execute(
            f"{share} FROM pg_visibility_map_summary('bench_log')"
        ).fetchone()[0]
        wrong = "SELECT count(*) FROM (SELECT pg_check_visible('bench_log') UNION ALL SELECT pg_check_frozen('bench_log')) AS wrong"
        if connection.execute(wrong).fetchone()[0]:
            raise BenchError(
                "bench_log: rows are not visible, or not frozen, that the visibility map says are"
            )
        # After a checkpoint, all pages are clean.  So the pages that VACUUM dirties are the pages
        # that it writes.
        connection.execute("CHECKPOINT")
        heap_fetches = self._heap_fetches(connection)
        written = self._pages_dirtied(connection)
        return {"frozen": float(frozen), "heap_fetches": heap_fetches, "freeze_writes": written}

    def _heap_fetches(self, connection: psycopg.Connection) -> float:
        connection.execute(
            "SET enable_seqscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0"
        )
        query = "EXPLAIN (ANALYZE, FORMAT json) SELECT count(id) FROM bench_log WHERE id > 0"
        plan = connection.execute(query).fetchone()[0][0]["Plan"]
        while "Heap Fetches" not in plan:
            if not plan.get("Plans"):
                raise BenchError("bench_log: the planner does not choose an index-only scan")
            plan = plan["Plans"][0]
        return float(plan["Heap Fetches"])

    def _pages_dirtied(self, connection: psycopg.Connection) -> float:
        """Run VACUUM (FREEZE).  Return the number of pages of all forks that it dirtied."""
        notices: list[str] = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        connection.execute("VACUUM (FREEZE, VERBOSE, INDEX_CLEANUP off) bench_log")
        found = [DIRTIED.search(notice) for notice in notices]
        if not any(found):
            raise BenchError("VACUUM (VERBOSE) does not report how many pages it dirtied")
        return float(next(match.group(1) for match in found if match))


@dataclass
class Tpcc(Workload):
    """The five transactions of TPC-C, with stock types."""

    warehouses: int = 1
    lite: bool = False
    loaded: dict[str, TableSize] = field(default_factory=dict)
    database = "tpcc"
    tables = TABLES

    def _load(self, seed: int) -> Load:
        return Load(self.warehouses, LITE if self.lite else FULL, 0, 0, 0, seed)

    def load(self, server: Server, seed: int) -> None:
        (stage,) = stages(("stock",))
        with progress() as bars:
            load(server, self.database, stage, self.warehouses, self._load(seed).scale, seed, bars)
        with server.connect(self.database) as connection:
            self.loaded = table_sizes(connection, tuples=False)

    def scripts(self, directory: Path) -> list[pgbench.Script]:
        return write_scripts(directory, think=False)

    def variables(self, seed: int) -> dict[str, object]:
        return script_variables(self._load(seed))

    def check(self, connection: psycopg.Connection, cycles: int, title: str) -> None:
        connection.execute("RESET ALL")
        check.check(connection, title)

    def inserted_bytes(self, connection: psycopg.Connection) -> float:
        sizes = table_sizes(connection, tuples=False)
        return sum(
            (sizes[name].rows - before.rows) * before.bytes_per_row
            for name, before in self.loaded.items()
        )


def workloads(
    quick: bool, rows: int | None, warehouses: int | None, batch: int
) -> tuple[Workload, ...]:
    """Return all workloads.

    Each makes more than three times as many dead rows as autovacuum waits for.
    """
    rows = rows or (20_000 if quick else 1_150_000)
    return (
        Rows(
            "mixed",
            "delete, insert and update of random rows",
            rows * 18 // 25,
            {"autovacuum_vacuum_scale_factor": "0.2"},
            batch,
            rows,
        ),
        Rows(
            "uniform",
            "updates of random rows",
            rows,
            {"autovacuum_vacuum_scale_factor": "0.03"},
            batch,
            rows,
            1,
        ),
        IndexedRows(
            "indexed",
            "updates of an indexed column of random rows",
            rows * 9 // 25,
            {"autovacuum_vacuum_scale_factor": "0.1"},
            batch,
            rows,
            1,
        ),
        Rows(
            "groups",
            "updates of ten neighbouring rows at once",
            rows * 9 // 250,
            {"autovacuum_vacuum_scale_factor": "0.1"},
            batch,
            rows,
            10,
        ),
        Inserts(
            "insert_only",
            "inserts, each in its own transaction",
            rows,
            {"autovacuum_vacuum_scale_factor": "0.2"},
            batch,
        ),
        AppendOnly(
            "append_only",
            "inserts without vacuums",
            rows,
            {"autovacuum": "off"},
            batch,
            rate=5_000 if quick else None,
            seconds=3.0 if quick else 5.0,
        ),
        Tpcc(
            "tpcc",
            "TPC-C",
            2_000 if quick else 40_000,
            {"autovacuum_vacuum_scale_factor": "0.04"},
            warehouses=warehouses or (1 if quick else 2),
            lite=quick,
        ),
    )
