"""Store the same values in several ways: exact sizes, and backend time of INSERT and of reading.

A read is "v < smallest value".  For it, the whole value must be detoasted and decoded, and then the
operator examines only the first byte, because the collation is C.  The usual functions are not
suitable.  octet_length(), and length() in a single-byte encoding, take the size from the TOAST
pointer.  length() in UTF8, a hash and md5 take longer than the detoasting that is to be measured.
substr() and starts_with() read a slice.  "=" compares sizes first.

An INSERT takes its values from a CTE that holds them in memory, detoasted and uncompressed, as they
come from a client.  So its time does not include reading another table.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field

import psycopg

from bench.lib.console import BenchError
from bench.lib.paths import bindir
from bench.lib.result import Result
from bench.lib.server import Cluster, RunningServer, Server
from bench.lib.session import quietly, session
from bench.lib.statistics import Ratio, interleave, paired_ratio, spread
from bench.lib.timing import Clock
from bench.toast.values import Values
from bench.toast.variants import CORE_CHUNKS, Variant, has_core_patch
from bench.tpcc.load import create_extensions

SETTINGS = {
    # The study measures only CPU time.  The tables of one cell stay in memory, and no others.
    "fsync": "off",
    "shared_buffers": "1GB",
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "min_wal_size": "2GB",
    "wal_init_zero": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "256MB",
}
DATABASE = "bench_toast"
# Settings that each session must set, because a server that runs already may have others
SESSION = (
    "SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '256MB';"
    " SET default_toast_compression = pglz; SET default_table_access_method = heap"
)

# Bytes of values in a table, so that the tables of all variants fit into shared_buffers
CELL_BYTES = 48 << 20
# Number of scans in one measurement
PASSES = 3
MEGABYTE = 1_000_000

SMALLEST = {"text": "v::text COLLATE \"C\" < ' '", "bytea": r"v::bytea < '\x'"}
# Checksum of all values, which does not depend on their order
CHECKSUM = "SELECT count(*), sum(('x' || left(md5(v::{type}), 15))::bit(60)::bigint) FROM {table}"


@dataclass(frozen=True)
class Size:
    """Bytes of the main forks: the table, its TOAST table, and the index of the TOAST table."""

    heap: int
    toast: int
    index: int
    # Bytes of the values: raw, and as they are stored
    raw: int
    stored: int

    @property
    def total(self) -> int:
        return self.heap + self.toast

    def __str__(self) -> str:
        return f"{self.total / MEGABYTE:.2f} MB"


@dataclass
class Cell:
    """One kind and size of values, and what was measured of it for each variant."""

    group: str
    panel: str
    values: Values
    rows: int
    variants: list[Variant]
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    sizes: dict[str, Size] = field(default_factory=dict)
    # SQLSTATE of variants that cannot store such values.
    errors: dict[str, str] = field(default_factory=dict)

    def ratio(self, test: str, variant: Variant, base: Variant, seed: int) -> Ratio:
        return paired_ratio(self.times[test][variant.name], self.times[test][base.name], seed)

    @staticmethod
    def passes(test: str) -> int:
        return PASSES if test == "read" else 1

    def microseconds(self, test: str, variant: Variant) -> float:
        """Return the microseconds for one value."""
        return spread(self.times[test][variant.name])[0] * 1e6 / self.rows / self.passes(test)

    def size_ratio(self, variant: Variant, base: Variant) -> float:
        return self.sizes[variant.name].total / self.sizes[base.name].total


def rows_of(values: Values, most: int) -> int:
    """Return the number of rows of a table.

    A table has whole copies of the values, up to this number of rows and up to CELL_BYTES.
    """
    wanted = min(most, int(CELL_BYTES / values.mean))
    return max(1, wanted // len(values.items)) * len(values.items)


@dataclass
class Bench:
    """One connection that measures one cell after the other."""

    connection: psycopg.Connection
    clock: Clock
    result: Result
    rounds: int
    # Advance a progress bar
    advance: Callable[[], None] = lambda: None

    def cell(
        self,
        group: str,
        panel: str,
        values: Values,
        rows: int,
        variants: Sequence[Variant],
        inspect: Callable[[Cell], None] = lambda cell: None,
    ) -> Cell:
        """Fill a table for each variant, measure its size, and read it.

        Drop the tables after the call of inspect().
        """
        cell = Cell(group, panel, values, rows_of(values, rows), list(variants))
        try:
            self.fill_source(values)
            for variant in variants:
                variant.create(self.connection, table(variant), values.type)
            self.insert(cell)
            self.weigh(cell)
            self.read(cell)
            inspect(cell)
        finally:
            with suppress(psycopg.OperationalError):
                names = ", ".join(["source", *(table(variant) for variant in variants)])
                self.connection.execute(f"DROP TABLE IF EXISTS {names}")
        return cell

    def fill_source(self, values: Values) -> None:
        self.connection.execute(f"CREATE TABLE source (id integer, v {values.type})")
        self.connection.execute("ALTER TABLE source ALTER v SET STORAGE EXTERNAL")
        with self.connection.cursor().copy("COPY source FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", values.type])
            for number, item in enumerate(values.items):
                copy.write_row((number, item))

    def sample(self, cell: Cell, test: str, variant: Variant, **more: object) -> None:
        self.result.samples.append(
            {
                "test": test,
                "group": cell.group,
                "panel": cell.panel,
                "type": variant.name,
                "rows": cell.rows,
                **more,
            }
        )

    def record(self, cell: Cell, test: str, variant: Variant, seconds: float) -> None:
        cell.times.setdefault(test, {}).setdefault(variant.name, []).append(seconds)
        self.sample(
            cell, test, variant, seconds=seconds, passes=cell.passes(test), unit=self.clock.kind
        )

    def insert(self, cell: Cell) -> None:
        """Measure INSERT.

        The first round does not count, because it is the first to touch the pages of
        shared_buffers.
        """
        copies = cell.rows // len(cell.values.items)
        empty = "''::" + cell.values.type
        for number, variant in interleave(cell.variants, self.rounds + 1):
            self.advance()
            if variant.name in cell.errors:
                continue
            self.connection.execute(f"TRUNCATE {table(variant)}")
            for name, value in variant.settings.items():
                self.connection.execute(f"SET {name} = {value}")
            statement = (
                f"WITH held AS MATERIALIZED (SELECT id, v || {empty} AS v FROM source)"
                f" INSERT INTO {table(variant)} SELECT held.id, held.v FROM generate_series(1, {copies}), held"
            )
            try:
                seconds = self.clock.measure(self.connection.execute, statement)
                if number > 0:
                    self.record(cell, "insert", variant, seconds)
            except psycopg.errors.ProgramLimitExceeded as error:
                # PLAIN raises this error for a value that does not fit on a page.
                cell.errors[variant.name] = error.sqlstate
                self.sample(
                    cell,
                    "insert",
                    variant,
                    error=error.sqlstate,
                    message=error.diag.message_primary,
                )
            # The value 0 switches each of these settings off.
            for name in variant.settings:
                self.connection.execute(f"SET {name} = 0")

    def weigh(self, cell: Cell) -> None:
        copies = cell.rows // len(cell.values.items)
        count, total = self.connection.execute(
            CHECKSUM.format(type=cell.values.type, table="source")
        ).fetchone()
        for variant in cell.variants:
            if variant.name in cell.errors:
                continue
            name = table(variant)
            # Set hint bits and the visibility map now, so that the next measurement does not
            # include this.
            self.connection.execute(f"VACUUM (FREEZE, ANALYZE) {name}")
            found = self.connection.execute(
                CHECKSUM.format(type=cell.values.type, table=name)
            ).fetchone()
            if found != (count * copies, total * copies):
                raise BenchError(f"{variant.title} changed values of {cell.values.title}")
            size = Size(
                *self.connection.execute(
                    "SELECT pg_relation_size(c.oid), coalesce(pg_relation_size(t.oid), 0),"
                    " coalesce(pg_relation_size(i.indexrelid), 0)"
                    " FROM pg_class AS c LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid"
                    " LEFT JOIN pg_index AS i ON i.indrelid = t.oid WHERE c.oid = %s::regclass",
                    [name],
                ).fetchone(),
                *self.connection.execute(
                    f"SELECT sum(octet_length(v::{cell.values.type})), sum(pg_column_size(v)) FROM {name}"
                ).fetchone(),
            )
            cell.sizes[variant.name] = size
            self.sample(cell, "size", variant, **asdict(size))

    def read(self, cell: Cell) -> None:
        condition = SMALLEST[cell.values.type]

        def scan(variant: Variant) -> None:
            for _ in range(PASSES):
                self.connection.execute(f"SELECT count(*) FROM {table(variant)} WHERE {condition}")

        for _, variant in interleave(cell.variants, self.rounds):
            self.advance()
            if variant.name not in cell.errors:
                self.record(cell, "read", variant, self.clock.measure(scan, variant))


def table(variant: Variant) -> str:
    return "stored_" + variant.name.replace(".", "_").replace("-", "_")


def steps(cells: int, variants: int, rounds: int) -> int:
    """Measurements, for a progress bar."""
    return cells * variants * (rounds * 2 + 1)


def worst(result: Result, metric: str, ratios: Sequence[Ratio]) -> None:
    result.ratio(metric, max(ratios, key=lambda ratio: ratio.median))


@contextmanager
def measuring(
    result: Result, study: str, running: bool, rounds: int
) -> Iterator[tuple[Server, Bench]]:
    """Yield a server and a Bench for a database with the extension.

    The server is a fresh private instance, or the server that runs already.
    """
    with session() as stack:
        if running:
            server: Server = RunningServer()
        else:
            cluster = Cluster(f"bench-{study}", bindir("dense"))
            cluster.remove()
            stack.callback(quietly, cluster.remove)
            cluster.start(SETTINGS)
            server = cluster
        server.create_database(DATABASE)
        stack.callback(quietly, server.drop_database, DATABASE)
        with server.connect(DATABASE) as connection:
            connection.execute(SESSION)
            create_extensions(connection, ("toast_policy",))
            if has_core_patch(connection):
                connection.execute(f"SET {CORE_CHUNKS} = 0")
            clock = Clock(connection)
            result.describe_server(connection, time=f"{clock.kind} time of the backend")
            yield server, Bench(connection, clock, result, rounds)
