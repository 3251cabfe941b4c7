"""Time of compact_char24 against char(24) and varchar(24), one backend, CPU time where the kernel tells it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2
import psycopg

from bench.lib import counters, pgbench
from bench.lib.console import BenchError, progress
from bench.lib.paths import bindir, work
from bench.lib.result import Result
from bench.lib.server import Cluster, RunningServer, Server
from bench.lib.session import quietly, session
from bench.lib.statistics import interleave, paired_ratio, spread
from bench.tpcc.load import create_extensions

DATABASE = "bench_types_speed"
EXTENSION = "compact_char24"
TYPES = (("compact", "compact_char24"), ("char", "char(24)"), ("varchar", "varchar(24)"))
SETTINGS = {
    "shared_buffers": "512MB",
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "256MB",
}

# Highest ratio to char(24) that the project accepts.
FILTER_BAR = 1 / 1.6
OTHER_BAR = 1.05


@dataclass(frozen=True)
class Query:
    """One statement on speed_TYPE, joined_TYPE or target_TYPE, whose backend's time counts."""

    name: str
    title: str
    statement: str
    before: str = ""
    bar: float | None = None


QUERIES = (
    Query(
        "filter_late",
        "filter on the tenth string",
        "SELECT count(*) FROM speed_{} WHERE s10 = '{late}'",
        bar=FILTER_BAR,
    ),
    Query("sum_late", "sum of the last integer", "SELECT sum(z) FROM speed_{}"),
    Query(
        "insert",
        "INSERT from a table of text",
        "INSERT INTO target_{} SELECT * FROM source",
        before="TRUNCATE target_{}",
        bar=OTHER_BAR,
    ),
    Query(
        "sort",
        "sort by the first string",
        "SELECT count(*) FROM (SELECT s1 FROM speed_{} ORDER BY s1 OFFSET 0) AS sorted",
        bar=OTHER_BAR,
    ),
    Query(
        "hash_join", "hash join on a string", "SELECT count(*) FROM speed_{} JOIN joined_{} ON s = s1", bar=OTHER_BAR
    ),
)


class Clock:
    """Time of a connection's backend: on a CPU if /proc tells, else as it passes."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.process = connection.info.backend_pid
        # The server may be on another host, or hidden.
        self.kind = "CPU" if counters.backend_cpu(self.process) is not None else "elapsed"

    def now(self) -> float:
        return counters.backend_cpu(self.process) or 0.0 if self.kind == "CPU" else time.perf_counter()

    def measure(self, action: Callable[..., object], *arguments: object) -> float:
        begin = self.now()
        action(*arguments)
        return self.now() - begin


def copy_in(connection: psycopg.Connection, table: str, lines: bytes) -> None:
    block = 1 << 20
    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        for start in range(0, len(lines), block):
            copy.write(lines[start : start + block])


class Study:
    def __init__(self, server: Server, result: Result, rows: int, rounds: int, collation: str) -> None:
        self.server = server
        self.result = result
        self.rows = rows
        self.rounds = rounds
        self.collation = collation
        self.times: dict[str, dict[str, list[float]]] = {}
        self.titles = {query.name: query.title for query in QUERIES}
        self.bars = {query.name: query.bar for query in QUERIES}

    def record(self, test: str, kind: str, seconds: float, unit: str) -> None:
        self.times.setdefault(test, {}).setdefault(kind, []).append(seconds)
        self.result.samples.append({"test": test, "type": kind, "seconds": seconds, "unit": unit})

    def prepare(self, connection: psycopg.Connection) -> None:
        known = connection.execute("SELECT 1 FROM pg_collation WHERE collname = %s", [self.collation]).fetchone()
        if not known:
            raise BenchError(f'the server has no collation "{self.collation}"')
        create_extensions(connection, (EXTENSION,))
        template = (Path(__file__).parent / "sql" / "types_speed.sql").read_text(encoding="utf-8")
        connection.execute(
            jinja2.Template(template).render(
                rows=self.rows, seed=self.result.seed, types=TYPES, collation=self.collation
            )
        )
        connection.execute("VACUUM (FREEZE, ANALYZE)")
        connection.execute("CHECKPOINT")
        self.require_indexes(connection)

    @staticmethod
    def require_indexes(connection: psycopg.Connection) -> None:
        """A type whose constants are taken for those of another type cannot use its index."""
        for kind, type_name in TYPES:
            with connection.transaction(force_rollback=True):
                connection.execute("SET LOCAL enable_seqscan = off")
                plan = connection.execute(f"EXPLAIN SELECT v FROM lookup_{kind} WHERE k = '1'").fetchall()
            lines = [line for (line,) in plan]
            if not any("Index Cond" in line for line in lines):
                raise BenchError(f"a lookup by {type_name} does not use the index: {lines[-1].strip()}")

    def queries(self, connection: psycopg.Connection, advance: Callable[[], None]) -> None:
        clock = Clock(connection)
        (late,) = connection.execute("SELECT s10 FROM source WHERE a = 1").fetchone()
        connection.execute("SET enable_mergejoin = off; SET enable_nestloop = off")
        for query in QUERIES:
            for _, (kind, _) in interleave(TYPES, self.rounds):
                if query.before:
                    connection.execute(query.before.format(kind))
                statement = query.statement.replace("{late}", late).replace("{}", kind)
                seconds = clock.measure(connection.execute, statement)
                self.record(query.name, kind, seconds, clock.kind)
                advance()

    def copy(self, connection: psycopg.Connection, advance: Callable[[], None]) -> None:
        self.titles["copy"], self.bars["copy"] = "COPY FROM, text format", OTHER_BAR
        with connection.cursor().copy("COPY source TO STDOUT") as out:
            lines = b"".join(bytes(block) for block in out)
        clock = Clock(connection)
        for _, (kind, _) in interleave(TYPES, self.rounds):
            connection.execute(f"TRUNCATE target_{kind}")
            seconds = clock.measure(copy_in, connection, f"target_{kind}", lines)
            self.record("copy", kind, seconds, clock.kind)
            advance()

    def lookup(self, connection: psycopg.Connection, count: int, advance: Callable[[], None]) -> None:
        """By pgbench in prepared mode.  The time is what the postmaster has waited for when the backend is gone."""
        self.titles["lookup"], self.bars["lookup"] = "lookup by key", OTHER_BAR
        postmaster = self.server.postmaster()
        for number, (kind, _) in interleave(TYPES, self.rounds):
            script = work() / f"lookup_{kind}.sql"
            script.write_text(
                "\\set key 1000000000000000000 + random(1, :rows) * 7919\n"
                f"SELECT v FROM lookup_{kind} WHERE k = :key;\n",
                encoding="utf-8",
            )
            words = pgbench.command(
                self.server,
                DATABASE,
                [pgbench.Script("lookup", script, 1)],
                {"rows": self.rows},
                ["-c", "1", "-t", str(count), f"--random-seed={self.result.seed + number}"],
            )
            self.settle(connection, postmaster)
            begin = counters.cpu_seconds(postmaster)
            started = time.perf_counter()
            pgbench.run(words, self.server)
            elapsed = time.perf_counter() - started
            self.settle(connection, postmaster)
            spent = counters.cpu_seconds(postmaster) - begin
            if postmaster and spent > 0:
                self.record("lookup", kind, spent / count, "CPU")
            else:
                self.record("lookup", kind, elapsed / count, "elapsed")
            advance()

    @staticmethod
    def settle(connection: psycopg.Connection, postmaster: int) -> None:
        """Wait until pgbench's backend has gone and has been waited for."""
        while connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'").fetchone()[
            0
        ]:
            time.sleep(0.01)
        before = -1.0
        while (now := counters.cpu_seconds(postmaster)) != before:
            before = now
            time.sleep(0.02)

    def create_extension(self, advance: Callable[[], None]) -> None:
        """Elapsed time, each in a session of its own: alone, and with compact_types as well."""
        with self.server.connect(DATABASE) as connection:
            connection.execute(f"DROP EXTENSION {EXTENSION} CASCADE")
        taken: dict[str, list[float]] = {"create_extension": [], "create_extension_cascade": []}
        for _ in range(self.rounds):
            for test, times in taken.items():
                with self.server.connect(DATABASE) as connection:
                    connection.execute("DROP EXTENSION IF EXISTS compact_types CASCADE")
                    if test == "create_extension":
                        connection.execute("CREATE EXTENSION compact_types")
                with self.server.connect(DATABASE) as connection:
                    begin = time.perf_counter()
                    connection.execute(f"CREATE EXTENSION {EXTENSION} CASCADE")
                    seconds = time.perf_counter() - begin
                times.append(seconds)
                self.result.samples.append({"test": test, "type": "compact", "seconds": seconds, "unit": "elapsed"})
            advance()
        rows = []
        for test, title in (
            ("create_extension", f"CREATE EXTENSION {EXTENSION}"),
            ("create_extension_cascade", f"CREATE EXTENSION {EXTENSION} CASCADE, without compact_types before"),
        ):
            middle, low, high = (1000 * value for value in spread(taken[test]))
            self.result.metrics[f"{test}_ms"] = middle
            rows.append([title, f"{middle:.1f}", f"{low:.1f} to {high:.1f}"])
        self.result.table("Creating a type", ["", "median ms", "smallest to largest"], rows, "create")

    def compare(self) -> None:
        rows = []
        for test, by_type in self.times.items():
            ratios = {
                kind: paired_ratio(by_type["compact"], by_type[kind], self.result.seed) for kind in ("char", "varchar")
            }
            for name, ratio in ((test, ratios["char"]), (f"{test}.varchar", ratios["varchar"])):
                self.result.ratio(name, ratio)
            bar = self.bars[test]
            scale, digits = (1e6, 1) if test == "lookup" else (1e3, 1)
            rows.append(
                [
                    self.titles[test] + (" (µs)" if test == "lookup" else " (ms)"),
                    *(f"{spread(by_type[kind])[0] * scale:.{digits}f}" for kind, _ in TYPES),
                    ratios["char"],
                    ratios["varchar"],
                    "" if bar is None else f"{bar:.3f} " + ("met" if ratios["char"].median <= bar else "missed"),
                ]
            )
        self.result.table(
            f"Medians, collation {self.collation}, {self.rows:,} rows; ratios of pairs with their interval",
            ["", *(type_name for _, type_name in TYPES), "to char(24)", "to varchar(24)", "bar"],
            rows,
            "times",
        )


def run(rows: int, rounds: int, collation: str, seed: int, quick: bool, running: bool, target: Path | None) -> None:
    result = Result("types-speed", seed, quick)
    result.describe(rows=rows, rounds=rounds, collation=collation)
    with session() as stack:
        if running:
            server: Server = RunningServer()
        else:
            cluster = Cluster("bench-types-speed", bindir("dense"))
            cluster.remove()
            stack.callback(quietly, cluster.remove)
            cluster.start(SETTINGS)
            server = cluster
        server.create_database(DATABASE)
        stack.callback(quietly, server.drop_database, DATABASE)
        study = Study(server, result, rows, rounds, collation)
        with server.connect(DATABASE) as connection:
            # A server that runs already has settings of its own.
            connection.execute("SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '256MB'")
            clock = Clock(connection)
            result.describe_server(connection, time=f"{clock.kind} time of the backend")
            with progress() as bars:
                task = bars.add_task("make the tables", total=1)
                study.prepare(connection)
                bars.advance(task)
                measured = bars.add_task("measurements", total=rounds * len(TYPES) * (len(QUERIES) + 2))

                def advance() -> None:
                    bars.advance(measured)

                study.queries(connection, advance)
                study.copy(connection, advance)
                study.lookup(connection, 1000 if quick else 30_000, advance)
        study.compare()
        with progress() as bars:
            task = bars.add_task("CREATE EXTENSION", total=rounds)
            study.create_extension(lambda: bars.advance(task))
    result.save(target)
