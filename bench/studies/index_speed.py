"""Time of the same work on indexes of both alignments and of the stock server, which take turns."""

from collections.abc import Callable
from contextlib import ExitStack

import psycopg

from bench.indexes.alignment import AUTO, MAX, STOCK, choose, verify
from bench.indexes.shapes import BY_NAME, Shape
from bench.lib.bars import Bar
from bench.lib.console import BenchError, progress
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.statistics import Ratio, paired_ratio, spread
from bench.lib.timing import Clock, Comparison, Test
from bench.tpcc.load import create_extensions

SETTINGS = {
    # The study measures only CPU time.  The tables of a shape stay in memory.
    "fsync": "off",
    # A checkpoint must not make the next INSERT write whole pages.
    "full_page_writes": "off",
    "shared_buffers": "768MB",
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "wal_init_zero": "off",
    "jit": "off",
}
SESSION = (
    "SET max_parallel_workers_per_gather = 0; SET max_parallel_maintenance_workers = 0; SET jit = off;"
    " SET maintenance_work_mem = '256MB'; SET work_mem = '64MB'; SET synchronize_seqscans = off;"
    # Let each lookup descend the index.
    " SET enable_mergejoin = off; SET enable_hashjoin = off; SET enable_memoize = off; SET enable_bitmapscan = off"
)
# Their alignments: 4, 4, 2 with posting lists, and 4 with tuples of many sizes
SHAPES = ("int4", "int4x3", "int2.duplicates", "text")
LOOKUPS = 100_000

BUILD = Test("build", "CREATE INDEX")
LOOKUP = Test("lookup", "lookups by random key")
INDEX_ONLY = Test("index_only", "index-only lookups")
SCAN = Test("scan", "index-only scan of all entries")
INSERT_RANDOM = Test("insert_random", "INSERT in random order")
INSERT_ASCENDING = Test("insert_ascending", "INSERT in ascending order")
TESTS = (BUILD, LOOKUP, INDEX_ONLY, SCAN, INSERT_RANDOM, INSERT_ASCENDING)

# At least 98 % of stock's speed, as a ratio of times
MOST = 1 / 0.98
# Each ratio is that of the first kind to the second.
PAIRS = {"auto_vs_max": (AUTO, MAX), "max_vs_stock": (MAX, STOCK), "auto_vs_stock": (AUTO, STOCK)}
TITLES = {
    "auto_vs_max": "auto against max",
    "max_vs_stock": "max against stock",
    "auto_vs_stock": "auto against stock",
}


class Clocks(Clock):
    """The clocks of several backends.  The first argument of an action names its backend."""

    def __init__(self, connections: dict[str, psycopg.Connection]) -> None:
        self.clocks = {name: Clock(connection) for name, connection in connections.items()}
        self.kind = next(iter(self.clocks.values())).kind

    def measure(self, action: Callable[..., object], *arguments: object) -> float:
        return self.clocks[str(arguments[0])].measure(action, *arguments)


class Study:
    def __init__(
        self,
        result: Result,
        rows: int,
        rounds: int,
        server: Server,
        stock: Server | None,
        database: str,
    ) -> None:
        self.result = result
        self.rows = rows
        self.rounds = rounds
        self.database = database
        self.servers = {AUTO: server, MAX: server} | ({STOCK: stock} if stock else {})
        self.connections: dict[str, psycopg.Connection] = {}
        self.pairs = {name: pair for name, pair in PAIRS.items() if set(pair) <= set(self.servers)}

    def run(self) -> list[Bar]:
        measured = {}
        with ExitStack() as stack, progress() as bars:
            for kind, server in self.servers.items():
                connection = stack.enter_context(server.connect(self.database))
                connection.execute(SESSION)
                create_extensions(connection, ("pageinspect",))
                choose(connection, kind)
                self.connections[kind] = connection
            clocks = Clocks(self.connections)
            task = bars.add_task(
                "indexes: measurements",
                total=len(SHAPES) * len(TESTS) * len(self.servers) * self.rounds,
            )
            for name in SHAPES:
                comparison = Comparison(
                    self.result,
                    clocks,
                    tuple(self.servers),
                    self.rounds,
                    lambda: bars.advance(task),
                    f"{name}.",
                )
                self.measure(BY_NAME[name], comparison)
                measured[name] = comparison
        self.result.environment |= {
            "time": f"{clocks.kind} time of the backend",
            "settings for times": SETTINGS,
        }
        return self.show(measured)

    def execute(self, kind: str, statements: str) -> None:
        self.connections[kind].execute(statements)

    def prepare(self, shape: Shape, kind: str) -> None:
        """Create the tables of a kind: looked_up with a filled index, target with an empty one."""
        connection = self.connections[kind]
        keys = ", ".join(shape.key_names)
        for table in (source(kind), ascending(kind), looked_up(kind), target(kind)):
            connection.execute(f"DROP TABLE IF EXISTS {table}; {shape.create_table(table)}")
        connection.execute(shape.fill(source(kind), self.rows, self.result.seed))
        connection.execute(
            f"INSERT INTO {ascending(kind)} SELECT * FROM {source(kind)} ORDER BY {keys};"
            f"INSERT INTO {looked_up(kind)} SELECT * FROM {source(kind)};"
            f"DROP TABLE IF EXISTS {probes(kind)};"
            # The rows are in random order.  Probe in another random order, so that the heap is read
            # in this other order.
            f"CREATE TABLE {probes(kind)} AS SELECT {keys} FROM {source(kind)} ORDER BY hashint4(v) LIMIT {LOOKUPS}"
        )
        for table in (looked_up(kind), target(kind)):
            connection.execute(shape.create_index(f"{table}_key", table))
        for table in (source(kind), ascending(kind), looked_up(kind), probes(kind)):
            connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}")

    def measure(self, shape: Shape, comparison: Comparison) -> None:
        for kind in self.servers:
            self.prepare(shape, kind)
            self.require_plans(shape, kind)

        def build(kind: str) -> None:
            self.execute(kind, shape.create_index(f"built_{kind}", source(kind)))

        def forget(kind: str) -> None:
            self.execute(kind, f"DROP INDEX IF EXISTS built_{kind}; CHECKPOINT")

        def empty(kind: str) -> None:
            # TRUNCATE builds the empty index anew, with the setting of this session.
            self.execute(kind, f"TRUNCATE {target(kind)}; CHECKPOINT")

        comparison.run(BUILD, build, forget)
        for kind in self.servers:
            verify(self.connections[kind], f"built_{kind}", kind)
            forget(kind)
        for test in (LOOKUP, INDEX_ONLY, SCAN):
            comparison.run(
                test, lambda kind, test=test: self.execute(kind, query(shape, test, kind))
            )
        for test, rows in ((INSERT_RANDOM, source), (INSERT_ASCENDING, ascending)):
            comparison.run(
                test,
                lambda kind, rows=rows: self.execute(
                    kind, f"INSERT INTO {target(kind)} SELECT * FROM {rows(kind)}"
                ),
                empty,
            )
        for kind in self.servers:
            for table in (looked_up(kind), target(kind)):
                verify(self.connections[kind], f"{table}_key", kind)

    def require_plans(self, shape: Shape, kind: str) -> None:
        for test, wanted in (
            (LOOKUP, "Index Scan"),
            (INDEX_ONLY, "Index Only Scan"),
            (SCAN, "Index Only Scan"),
        ):
            lines = [
                line
                for (line,) in self.connections[kind].execute("EXPLAIN " + query(shape, test, kind))
            ]
            if not any(wanted in line and looked_up(kind) in line for line in lines):
                raise BenchError(
                    f"{test.title} of {shape.title} is no {wanted}: {lines[-1].strip()}"
                )

    def show(self, measured: dict[str, Comparison]) -> list[Bar]:
        columns = ["", *self.servers, *(TITLES[pair] for pair in self.pairs)]
        self.result.table(
            "Medians in ms, and ratios of pairs with their interval",
            columns,
            [
                self.row(f"{BY_NAME[name].title}: {test.title}", comparison.times[test.name])[0]
                for name, comparison in measured.items()
                for test in TESTS
            ],
            "speed.keys",
        )
        rows, bars = [], []
        for test in TESTS:
            # Add up the times of all shapes, round by round.
            sums = {
                kind: [
                    sum(values)
                    for values in zip(*(one.times[test.name][kind] for one in measured.values()))
                ]
                for kind in self.servers
            }
            row, ratios = self.row(test.title, sums)
            rows.append([*row, *(f"{low:.1f} to {high:.1f}" for low, high in ranges(sums))])
            for pair, ratio in ratios.items():
                metric = f"{test.name}.{pair}"
                self.result.ratio(metric, ratio)
                bars.append(Bar(metric, f"time, {test.title}: {TITLES[pair]}", MOST))
        self.result.table(
            f"The keys above together, {self.rows:,} rows each, {self.rounds} rounds: medians in ms, ratios of pairs with"
            " their interval, and smallest to largest",
            [*columns, *(f"{kind}, range" for kind in self.servers)],
            rows,
            "speed",
        )
        return bars

    def row(
        self, title: str, times: dict[str, list[float]]
    ) -> tuple[list[object], dict[str, Ratio]]:
        ratios = {
            name: paired_ratio(times[first], times[second], self.result.seed)
            for name, (first, second) in self.pairs.items()
        }
        medians = [f"{1000 * spread(times[kind])[0]:.1f}" for kind in self.servers]
        return [title, *medians, *ratios.values()], ratios


def ranges(times: dict[str, list[float]]) -> list[tuple[float, float]]:
    """Return smallest and largest, in ms."""
    return [(1000 * low, 1000 * high) for _, low, high in map(spread, times.values())]


# Each kind of session has its own tables, so that no two kinds share a page.
def source(kind: str) -> str:
    return f"source_{kind}"


def ascending(kind: str) -> str:
    return f"ascending_{kind}"


def looked_up(kind: str) -> str:
    return f"looked_up_{kind}"


def target(kind: str) -> str:
    return f"target_{kind}"


def probes(kind: str) -> str:
    return f"probes_{kind}"


def query(shape: Shape, test: Test, kind: str) -> str:
    if test is SCAN:
        # ORDER BY excludes a scan of the table.
        return f"SELECT count(c0) FROM (SELECT c0 FROM {looked_up(kind)} ORDER BY {', '.join(shape.key_names)}) AS s"
    condition = " AND ".join(f"o.{name} = p.{name}" for name in shape.key_names)
    counted = "o.v" if test is LOOKUP else "*"
    return f"SELECT count({counted}) FROM {probes(kind)} AS p JOIN {looked_up(kind)} AS o ON {condition}"
