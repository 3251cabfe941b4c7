"""Time of compact types against the types that they replace, in one backend.

It is CPU time if the kernel tells it.
"""

import time
from collections.abc import Callable
from pathlib import Path

import click
import jinja2
import psycopg

from bench import text_mix
from bench.lib.console import BenchError, progress
from bench.lib.options import common, running
from bench.lib.paths import bindir, work
from bench.lib.result import Result
from bench.lib.server import Cluster, RunningServer, Server
from bench.lib.session import quietly, session
from bench.lib.statistics import spread
from bench.lib.timing import Clock, Comparison, Test, copy_in, copy_out
from bench.studies import types_speed_scalars, types_speed_text
from bench.tpcc.load import create_extensions

DATABASE = "bench_types_speed"
EXTENSION = "compact_char24"
TYPES = {"compact": "compact_char24", "char": "char(24)", "varchar": "varchar(24)"}
SETTINGS = {
    # The study measures only CPU time.
    "fsync": "off",
    "shared_buffers": "512MB",
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "256MB",
}

# Highest ratio of the time of compact_char24 to that of char(24) that the project accepts.
FILTER_BAR = 1 / 1.6
OTHER_BAR = 1.05

QUERIES = (
    (
        Test("filter_late", "filter on the tenth string", FILTER_BAR),
        "SELECT count(*) FROM speed_{kind} WHERE s10 = '{late}'",
    ),
    (Test("sum_late", "sum of the last integer"), "SELECT sum(z) FROM speed_{kind}"),
    (
        Test("insert", "INSERT from a table of text", OTHER_BAR),
        "INSERT INTO target_{kind} SELECT * FROM source",
    ),
    (
        Test("sort", "sort by the first string", OTHER_BAR),
        "SELECT count(*) FROM (SELECT s1 FROM speed_{kind} ORDER BY s1 OFFSET 0) AS sorted",
    ),
    (
        Test("hash_join", "hash join on a string", OTHER_BAR),
        "SELECT count(*) FROM speed_{kind} JOIN joined_{kind} ON s = s1",
    ),
)
COPY = Test("copy", "COPY FROM, text format", OTHER_BAR)
LOOKUP = Test("lookup", "lookup by key", OTHER_BAR, microseconds=True)
TESTS = len(QUERIES) + 2


class FixedStrings:
    """compact_char24 against char(24) and varchar(24)."""

    def __init__(
        self, server: Server, result: Result, rows: int, rounds: int, collation: str
    ) -> None:
        self.server = server
        self.result = result
        self.rows = rows
        self.rounds = rounds
        self.collation = collation

    def prepare(self, connection: psycopg.Connection) -> None:
        known = connection.execute(
            "SELECT 1 FROM pg_collation WHERE collname = %s", [self.collation]
        ).fetchone()
        if not known:
            raise BenchError(f'the server has no collation "{self.collation}"')
        create_extensions(connection, (EXTENSION,))
        template = (Path(__file__).parent / "sql" / "types_speed.sql").read_text(encoding="utf-8")
        connection.execute(
            jinja2.Template(template).render(
                rows=self.rows, seed=self.result.seed, types=TYPES.items(), collation=self.collation
            )
        )
        connection.execute("VACUUM (FREEZE, ANALYZE)")
        connection.execute("CHECKPOINT")
        self.require_indexes(connection)

    @staticmethod
    def require_indexes(connection: psycopg.Connection) -> None:
        """Raise an error unless each type's lookup uses the index.

        A lookup does not use the index if the constant is taken for a value of another type.
        """
        for kind, type_name in TYPES.items():
            with connection.transaction(force_rollback=True):
                connection.execute("SET LOCAL enable_seqscan = off")
                plan = connection.execute(
                    f"EXPLAIN SELECT v FROM lookup_{kind} WHERE k = '1'"
                ).fetchall()
            lines = [line for (line,) in plan]
            if not any("Index Cond" in line for line in lines):
                raise BenchError(
                    f"a lookup by {type_name} does not use the index: {lines[-1].strip()}"
                )

    def measure(
        self, connection: psycopg.Connection, lookups: int, advance: Callable[[], None]
    ) -> None:
        comparison = Comparison(self.result, Clock(connection), tuple(TYPES), self.rounds, advance)
        (late,) = connection.execute("SELECT s10 FROM source WHERE a = 1").fetchone()
        connection.execute("SET enable_mergejoin = off; SET enable_nestloop = off")

        def empty(kind: str) -> None:
            connection.execute(f"TRUNCATE target_{kind}")

        for test, statement in QUERIES:
            comparison.run(
                test,
                lambda kind, text=statement: connection.execute(
                    text.replace("{late}", late).replace("{kind}", kind)
                ),
                empty if test.name == "insert" else None,
            )
        lines = copy_out(connection, "source")
        comparison.run(COPY, lambda kind: copy_in(connection, f"target_{kind}", lines), empty)
        comparison.lookup(
            LOOKUP, connection, self.server, lookup_script, lookups, {"rows": self.rows}
        )
        self.result.table(
            f"Medians, collation {self.collation}, {self.rows:,} rows; ratios of pairs with their interval",
            ["", *TYPES.values(), "to char(24)", "to varchar(24)", "limit"],
            comparison.rows(),
            "times",
        )

    def create_extension(self, advance: Callable[[], None]) -> None:
        """Measure the elapsed time of CREATE EXTENSION, alone and with compact_types.

        Each time is measured in a session of its own.
        """
        with self.server.connect(DATABASE) as connection:
            connection.execute("SET compact_types.guard_drop = off")
            connection.execute("DROP EXTENSION compact_types CASCADE")
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
                self.result.samples.append(
                    {"test": test, "type": "compact", "seconds": seconds, "unit": "elapsed"}
                )
            advance()
        rows = []
        for test, title in (
            ("create_extension", f"CREATE EXTENSION {EXTENSION}"),
            (
                "create_extension_cascade",
                f"CREATE EXTENSION {EXTENSION} CASCADE, without compact_types before",
            ),
        ):
            middle, low, high = (1000 * value for value in spread(taken[test]))
            self.result.metrics[f"{test}_ms"] = middle
            rows.append([title, f"{middle:.1f}", f"{low:.1f} to {high:.1f}"])
        self.result.table(
            "Time to create a type", ["", "median ms", "smallest to largest"], rows, "create"
        )


def lookup_script(kind: str) -> Path:
    script = work() / f"lookup_{kind}.sql"
    script.write_text(
        "\\set key 1000000000000000000 + random(1, :rows) * 7919\n"
        f"SELECT v FROM lookup_{kind} WHERE k = :key;\n",
        encoding="utf-8",
    )
    return script


def run(
    rows: int,
    rounds: int,
    collation: str,
    seed: int,
    quick: bool,
    running: bool,
    target: Path | None,
) -> None:
    result = Result("types-speed", seed, quick)
    result.describe(rows=rows, rounds=rounds, collation=collation)
    # Do this first: it fails if the mix cannot be made.
    mix = text_mix.state()
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
        lookups = 1000 if quick else 20_000
        with server.connect(DATABASE) as connection:
            # A server that runs already has settings of its own.
            connection.execute(
                "SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '256MB'"
            )
            clock = Clock(connection)
            result.describe_server(
                connection, time=f"{clock.kind} time of the backend", **{"text mix": mix}
            )
            fixed = FixedStrings(server, result, rows, rounds, collation)
            parts = (
                ("compact_charN", fixed.prepare, fixed.measure, TESTS * len(TYPES) * rounds),
                *(
                    (part.TITLE, study.prepare, study.measure, study.steps)
                    for part in (types_speed_text, types_speed_scalars)
                    for study in [part.Study(server, result, rows, rounds, collation)]
                ),
            )
            for title, prepare, measure, steps in parts:
                with progress() as bars:
                    task = bars.add_task(f"{title}: tables", total=1)
                    prepare(connection)
                    bars.advance(task)
                    task = bars.add_task(f"{title}: measurements", total=steps)
                    measure(connection, lookups, lambda task=task: bars.advance(task))
        with progress() as bars:
            task = bars.add_task("CREATE EXTENSION", total=rounds)
            fixed.create_extension(lambda: bars.advance(task))
    result.save(target)


@click.command("types-speed", short_help="Time of compact_char24 against char(24).")
@common
@running
@click.option("--rows", type=click.IntRange(100), help="Default: 100000, or 10000 with --quick.")
@click.option(
    "--rounds", type=click.IntRange(1), help="Repeats of each test; default: 21, or 3 with --quick."
)
@click.option(
    "--collation",
    default="C",
    show_default=True,
    metavar="NAME",
    help="Collation of all strings: a name in pg_collation.",
)
def command(
    target: Path | None,
    quick: bool,
    seed: int,
    running: bool,
    rows: int | None,
    rounds: int | None,
    collation: str,
) -> None:
    """Time of compact_char24 against char(24) and varchar(24).

    The tests are filter, insert, COPY, sort, join, and lookup.
    """
    run(
        rows or (10_000 if quick else 100_000),
        rounds or (3 if quick else 21),
        collation,
        seed,
        quick,
        running,
        target,
    )
