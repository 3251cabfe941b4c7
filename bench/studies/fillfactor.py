"""Fillfactor: which updates are HOT and why, cost of the others, and order of a clustered table."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy
import psycopg

from bench.fillfactor import pages, table
from bench.fillfactor.table import MODES, TABLE, Mode, one
from bench.lib.console import progress
from bench.lib.options import common, fill_in
from bench.lib.paths import bindir
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.lib.statistics import spread
from bench.lib.timing import Clock, Comparison, Test
from bench.tpcc.load import create_extensions

CLUSTER = "bench-fillfactor"
DATABASE = "bench_fillfactor"
SETTINGS = {
    # The study measures only CPU time and bytes.  All data stays in memory.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "256MB",
    # Only the updates themselves prune pages.
    "autovacuum": "off",
    # The logical replication launcher looks for subscriptions at times.  Its snapshot holds back
    # pruning in every database.
    "max_logical_replication_workers": "0",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    "jit": "off",
    # Find rows by the key, also in the small table of a smoke run.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}
EACH = MODES[0]
# Lengths of tuples: text of 1,024 bytes beside ten indexed columns, and text of 1,000 bytes beside
# a key
LENGTH = table.FIXED + 1024
CLUSTERED_LENGTH = 24 + 4 + 4 + 1000
LENGTHS = (504, 1016, 1024, CLUSTERED_LENGTH, LENGTH)
COMPARED = (100, 80)
CLUSTERED = (100, 90, 89, 88)
SLICES = 8
STEPS = 10
TIME = Test("time.80", "UPDATE, all of them")


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    exact: bool
    rows: int
    updates: int
    rounds: int


def by_slice(hot: Sequence[bool]) -> list[float]:
    return [float(numpy.mean(part)) for part in numpy.array_split(hot, min(SLICES, len(hot)))]


KINDS = {
    "untouched": "first update of a loaded page",
    "stayed": "updated page, no row has moved away",
    "left": "page from which a row has moved away",
    "new": "page added for moved rows, no row has moved away",
}


def fates(moves: Sequence[tuple[int, int]], loaded: int) -> dict[str, int]:
    """Count the updates by kind of page, and by whether the row stays on the page or moves."""
    counted = {f"{kind}.{fate}": 0 for kind in KINDS for fate in ("hot", "moved")}
    updated: set[int] = set()
    left: set[int] = set()
    for old, new in moves:
        kind = (
            "left"
            if old in left
            else "new"
            if old >= loaded
            else "stayed"
            if old in updated
            else "untouched"
        )
        counted[f"{kind}.{'hot' if old == new else 'moved'}"] += 1
        updated.add(old)
        if old != new:
            left.add(old)
    return counted


class Study:
    def __init__(
        self, options: Options, result: Result, server: Cluster, connection: psycopg.Connection
    ) -> None:
        self.options = options
        self.result = result
        self.server = server
        self.connection = connection
        generator = numpy.random.default_rng(options.seed)
        self.updated = generator.integers(1, options.rows + 1, options.updates).tolist()

    def steps(self) -> int:
        times = 0 if self.options.exact else len(COMPARED) * self.options.rounds
        return len(COMPARED) * len(MODES) + 2 * len(LENGTHS) - 1 + len(CLUSTERED) + times

    def measure(self, advance) -> None:
        for fillfactor in COMPARED:
            for mode in MODES:
                self.count(LENGTH, fillfactor, mode)
                advance()
        for length in LENGTHS:
            if length != LENGTH:
                self.count(length, 100, EACH)
                advance()
            self.find_threshold(length)
            advance()
        for fillfactor in CLUSTERED:
            self.correlate(fillfactor)
            advance()
        if not self.options.exact:
            self.time(advance)

    def create(self, length: int, fillfactor: int) -> None:
        table.create(self.connection, self.options.rows, length, fillfactor)

    def count(self, length: int, fillfactor: int, mode: Mode) -> None:
        self.create(length, fillfactor)
        sample = table.measure(self.server, self.connection, mode, self.updated)
        moves = sample.pop("moves")
        hot = [old == new for old, new in moves]
        computed = pages.computed(self.options.rows, length, fillfactor, mode.prunes, self.updated)
        self.result.samples.append(
            {
                "test": "hot",
                "length": length,
                "fillfactor": fillfactor,
                "mode": mode.name,
                "title": mode.title,
                "hot": sum(hot),
                "hot_by_slice": by_slice(hot),
                "as_computed": sum(here == there for here, there in zip(hot, computed)),
                "fates": fates(moves, sample["before"]["pages"]),
                **sample,
            }
        )

    def find_threshold(self, length: int) -> None:
        """Find the highest fillfactor at which a full page takes a new version of one of its rows.

        Measure it on the server.
        """
        rows = 3 * pages.rows_of_page(length, 100)
        for fillfactor in range(100, 9, -1):
            self.connection.execute(
                table.CREATE.format(rows=rows, length=length, fillfactor=fillfactor)
            )
            free = one(
                self.connection,
                f"SELECT upper - lower FROM page_header(get_raw_page('{TABLE}', 0))",
            )
            held = one(
                self.connection, f"SELECT count(*) FROM {TABLE} WHERE (ctid::text::point)[0] = 0"
            )
            page = one(
                self.connection,
                f"UPDATE {TABLE} SET counter = 1 WHERE ctid = '(0,1)' RETURNING (ctid::text::point)[0]::integer",
            )
            self.result.samples.append(
                {
                    "test": "threshold",
                    "length": length,
                    "fillfactor": fillfactor,
                    "rows": held,
                    "free": free,
                    "stays": page == 0,
                }
            )
            if page == 0:
                break

    def correlate(self, fillfactor: int) -> None:
        self.create(CLUSTERED_LENGTH, fillfactor)
        # Sample all rows, so that the correlation is exact.
        target = max(100, -(-self.options.rows // 300))
        self.connection.execute(f"ALTER TABLE {TABLE} ALTER id SET STATISTICS {target}")
        done, correlations, sizes = (
            [0],
            [self.correlation()],
            [table.sizes(self.connection)["pages"]],
        )
        for part in numpy.array_split(self.updated, STEPS):
            table.update(self.connection, part.tolist())
            done.append(done[-1] + len(part))
            correlations.append(self.correlation())
            sizes.append(table.sizes(self.connection)["pages"])
        self.result.samples.append(
            {
                "test": "correlation",
                "fillfactor": fillfactor,
                "updates": done,
                "correlation": correlations,
                "pages": sizes,
            }
        )

    def correlation(self) -> float:
        self.connection.execute(f"ANALYZE {TABLE} (id)")
        return one(
            self.connection,
            f"SELECT correlation FROM pg_stats WHERE tablename = '{TABLE}' AND attname = 'id'",
        )

    def time(self, advance) -> None:
        clock = Clock(self.connection)
        self.comparison = Comparison(
            self.result,
            clock,
            [str(fillfactor) for fillfactor in reversed(COMPARED)],
            self.options.rounds,
            advance,
        )
        self.comparison.run(
            TIME,
            lambda _: table.update(self.connection, self.updated),
            lambda kind: self.create(LENGTH, int(kind)),
        )

    def of_test(self, test: str) -> list[dict[str, Any]]:
        return [sample for sample in self.result.samples if sample["test"] == test]

    def sample(self, fillfactor: int, mode: Mode = EACH, length: int = LENGTH) -> dict[str, Any]:
        return next(
            sample
            for sample in self.of_test("hot")
            if (sample["length"], sample["fillfactor"], sample["mode"])
            == (length, fillfactor, mode.name)
        )

    def show(self) -> None:
        self.show_hot()
        self.show_fates()
        self.show_costs()
        self.show_threshold()
        self.show_correlation()

    def show_hot(self) -> None:
        rows = []
        for fillfactor in COMPARED:
            for mode in MODES:
                sample = self.sample(fillfactor, mode)
                suffix = "" if mode is EACH else f".{mode.name}"
                self.result.metrics[f"hot.{fillfactor}{suffix}"] = sample["hot"] / sample["updates"]
                rows.append(
                    [
                        f"fillfactor {fillfactor}, {mode.title}",
                        *(f"{share:.3f}" for share in sample["hot_by_slice"]),
                        f"{sample['hot'] / sample['updates']:.3f}",
                        f"{sample['as_computed']:,} of {sample['updates']:,}",
                        f"{sample['before']['index_pages']:,} to {sample['after']['index_pages']:,}",
                    ]
                )
        self.result.table(
            f"Share of HOT updates by eighths of the run: {self.options.updates:,} updates of random rows, in a table of"
            f" {self.options.rows:,} rows of {LENGTH:,} bytes with ten indexes; as computed: updates that the rules of"
            " free space and pruning predict correctly",
            ["", *map(str, range(1, len(rows[0]) - 3)), "all", "as computed", "pages of indexes"],
            rows,
            "hot",
        )

    def show_fates(self) -> None:
        runs = [(fillfactor, mode) for fillfactor in COMPARED for mode in MODES]
        rows = []
        for kind, title in KINDS.items():
            for fate, verb in (("hot", "HOT"), ("moved", "row moves")):
                counted = [self.sample(*each)["fates"][f"{kind}.{fate}"] for each in runs]
                rows.append([f"{title}: {verb}", *(f"{count:,}" for count in counted)])
        self.result.table(
            "Updates by the history of the page of the row",
            ["", *(f"{fillfactor}, {mode.title}" for fillfactor, mode in runs)],
            rows,
            "fates",
        )

    def show_costs(self) -> None:
        full, spare = (self.sample(fillfactor) for fillfactor in COMPARED)
        updates = self.options.updates
        rows: list[list[object]] = []
        if not self.options.exact:
            times = self.comparison.times[TIME.name]
            ratio = self.comparison.ratio(TIME, "100")
            medians = [
                "{:.1f} ({:.1f} to {:.1f})".format(
                    *(1e6 * value / updates for value in spread(times[str(fillfactor)]))
                )
                for fillfactor in COMPARED
            ]
            if ratio:
                self.result.ratio(TIME.name, ratio)
            rows.append(
                [
                    f"{self.comparison.clock.kind} time, µs: median (smallest to largest)",
                    *medians,
                    ratio or "",
                ]
            )
        wal = [sum(sample["wal"].values()) for sample in (full, spare)]
        self.result.metrics["wal.80"] = wal[1] / wal[0]
        rows.append(
            ["WAL bytes", *(f"{size / updates:.1f}" for size in wal), f"{wal[1] / wal[0]:.3f}"]
        )
        titles = {
            "Heap": "WAL bytes of the rows",
            "Btree": "WAL bytes of the indexes",
            "Heap2": "WAL bytes of pruning",
        }
        for name, title in titles.items():
            rows.append(
                [
                    title,
                    *(f"{sample['wal'].get(name, 0) / updates:.1f}" for sample in (full, spare)),
                    "",
                ]
            )
        for name, title in (
            ("index_pages", "pages of the indexes"),
            ("pages", "pages of the table"),
        ):
            cells = [
                f"{sample['before'][name]:,} to {sample['after'][name]:,}"
                for sample in (full, spare)
            ]
            rows.append([f"{title}, before and after", *cells, ""])
        for sample in (full, spare):
            grown = sample["after"]["index_pages"] / sample["before"]["index_pages"]
            self.result.metrics[f"index_growth.{sample['fillfactor']}"] = grown
        self.result.table(
            "Cost of one update in its own transaction; ratio: fillfactor 80 to fillfactor 100",
            ["", "fillfactor 100", "fillfactor 80", "ratio"],
            rows,
            "costs",
        )

    def show_threshold(self) -> None:
        rows = []
        for length in LENGTHS:
            full, *tried, found = [
                sample for sample in self.of_test("threshold") if sample["length"] == length
            ]
            last = (tried or [full])[-1]
            expected = pages.threshold(length)
            if length == CLUSTERED_LENGTH:
                self.result.metrics["threshold"] = found["fillfactor"]
                self.result.metrics["threshold.computed"] = expected
            sample = self.sample(100, EACH, length)
            rows.append(
                [
                    f"{length:,}",
                    full["rows"],
                    full["free"],
                    pages.left_over(length),
                    f"{last['fillfactor']}: {pages.kept_free(last['fillfactor'])}",
                    f"{expected}: {pages.kept_free(expected)}",
                    found["fillfactor"],
                    found["rows"],
                    found["free"],
                    f"{sample['hot'] / sample['updates']:.3f}",
                ]
            )
        self.result.table(
            "Threshold: the highest fillfactor that leaves room on a page for a new version of a row, by the length of"
            " the tuple (its line pointer takes 4 bytes more).  At the threshold, loading keeps more bytes free on a page"
            " than a full page has left over",
            [
                "tuple bytes",
                "rows of a page at 100",
                "free bytes",
                "free bytes, computed",
                "last fillfactor without room: bytes kept free",
                "computed threshold: bytes kept free",
                "measured threshold",
                "rows of a page",
                "free bytes",
                "share of HOT updates at 100",
            ],
            rows,
            "threshold",
        )

    def show_correlation(self) -> None:
        samples = self.of_test("correlation")
        done = [f"{count:,}" for count in samples[0]["updates"]]
        for title, name, digits in (
            (
                f"Correlation of a clustered key with the order of rows of {CLUSTERED_LENGTH:,} bytes, by number of updates",
                "correlation",
                "{:.4f}",
            ),
            ("Pages of the same table, by number of updates", "pages", "{:,}"),
        ):
            rows = [
                [
                    f"fillfactor {sample['fillfactor']}",
                    *(digits.format(value) for value in sample[name]),
                ]
                for sample in samples
            ]
            self.result.table(title, ["", *done], rows, name)
        sizes = {sample["fillfactor"]: sample["pages"] for sample in samples}
        for sample in samples:
            self.result.metrics[f"correlation.{sample['fillfactor']}"] = sample["correlation"][-1]
        self.result.metrics["pages.88"] = sizes[88][0] / sizes[100][0]
        self.result.metrics["pages.88.updated"] = sizes[88][-1] / sizes[100][-1]


def run(options: Options, target: Path | None) -> None:
    result = Result("fillfactor", options.seed, options.quick)
    result.describe(
        rows=options.rows,
        updates=options.updates,
        rounds=options.rounds,
        exact=options.exact,
        tuples=f"{LENGTH} bytes, of the clustered table {CLUSTERED_LENGTH}",
    )
    result.environment["settings of all"] = SETTINGS
    with session() as stack:
        measure(options, result, stack)
    result.save(target)


def measure(options: Options, result: Result, stack: ExitStack) -> None:
    cluster = Cluster(CLUSTER, bindir("dense"))
    quietly(cluster.remove)
    stack.callback(quietly, cluster.remove)
    cluster.start(SETTINGS)
    cluster.create_database(DATABASE)
    with cluster.connect(DATABASE) as connection, progress() as bars:
        create_extensions(connection, ("pageinspect", "pg_walinspect"))
        connection.execute(table.PROCEDURE)
        result.describe_server(connection)
        study = Study(options, result, cluster, connection)
        task = bars.add_task("updates: runs", total=study.steps())
        study.measure(lambda: bars.advance(task))
    study.show()


@click.command("fillfactor", short_help="HOT updates, their cost, and clustering, by fillfactor.")
@common
@click.option(
    "--rows",
    type=click.IntRange(100, 3_000_000),
    help="Rows of the table; default: 10000, or 1000 with --quick.",
)
@click.option(
    "--updates",
    type=click.IntRange(10),
    help="Updates of a run; default: 2000, or 200 with --quick.",
)
@click.option(
    "--rounds", type=click.IntRange(1), help="Timed runs; default: 21, or 1 with --quick."
)
@click.option(
    "--exact",
    is_flag=True,
    help="Counts, bytes and pages only, which do not depend on the machine; no times.",
)
def command(target: Path | None, quick: bool, **options) -> None:
    """Fillfactor 100 and less: share of HOT updates and its causes, time, WAL, and pages.

    The study also measures the correlation of a clustered key.
    """
    fill_in(options, quick, rows=(10_000, 1_000), updates=(2_000, 200), rounds=(21, 1))
    run(Options(quick=quick, **options), target)
