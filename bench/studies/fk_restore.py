"""pg_restore with a foreign key before the rows (immediate, deferred) or after: time by step."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import psycopg

from bench.lib.console import progress
from bench.lib.options import common, fill_in
from bench.lib.paths import bindir, work
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.lib.statistics import Ratio, interleave, paired_ratio, spread
from bench.restore import inside, restores
from bench.restore.tables import ROWS_OF_ACCOUNT, SOURCE, TEXT, dump, load
from bench.tpcc.load import create_extensions

CLUSTER = "bench-fk-restore"
SETTINGS = {
    # Compare CPU time, not the device.
    "fsync": "off",
    "synchronous_commit": "off",
    "shared_buffers": "2GB",
    "maintenance_work_mem": "256MB",
    "autovacuum": "off",
    # Each run begins with a checkpoint, and no other checkpoint occurs.
    "checkpoint_timeout": "1h",
    "max_wal_size": "8GB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    rows: int
    rounds: int


def middle(values: list[float], digits: int = 2) -> str:
    return "{} ({} to {})".format(*(f"{value:.{digits}f}" for value in spread(values)))


class Study:
    def __init__(self, options: Options, result: Result, server: Cluster) -> None:
        self.options = options
        self.result = result
        self.server = server

    def steps(self) -> int:
        return self.options.rounds * len(restores.VARIANTS) + inside.steps(self.options.rounds)

    def measure(
        self, connection: psycopg.Connection, files: tuple[Path, Path], advance: Callable[[], None]
    ) -> None:
        for number, variant in interleave(restores.VARIANTS, self.options.rounds):
            sample = restores.measure(self.server, connection, variant, files, self.options.rows)
            self.result.samples.append(
                {"test": "restore", "variant": variant.name, "round": number, **sample}
            )
            advance()

    def look_inside(self, connection: psycopg.Connection, advance: Callable[[], None]) -> None:
        create_extensions(connection, ("pg_walinspect",))
        for number, kind in interleave(inside.KINDS, self.options.rounds):
            sample = inside.run(connection, kind)
            span = sample.pop("span")
            if number == 0:
                sample["locks"], sample["lock_bytes"] = inside.locks(connection, span)
            self.result.samples.append(
                {"test": "insert", "variant": kind.name, "round": number, **sample}
            )
            advance()
        for kind in inside.KINDS:
            self.result.samples.append(
                {"test": "explain", "variant": kind.name, **inside.explain(connection, kind)}
            )
            advance()

    def of(self, test: str, variant: str) -> list[dict[str, Any]]:
        return [
            each
            for each in self.result.samples
            if (each["test"], each["variant"]) == (test, variant)
        ]

    def values(self, test: str, variant: str, *names: str) -> list[float]:
        """Return the sums of the named values, in the order of the rounds."""
        return [sum(sample[name] for name in names) for sample in self.of(test, variant)]

    def ratio(self, metric: str, values: list[float], baseline: list[float]) -> Ratio | str:
        """Add a ratio as a metric and return it.

        Return an empty string if the kernel counted no time, as in a smoke run.
        """
        if min(baseline) <= 0:
            return ""
        ratio = paired_ratio(values, baseline, self.result.seed)
        self.result.ratio(metric, ratio)
        return ratio

    def show(self) -> None:
        self.show_restores()
        self.show_inside()

    def show_restores(self) -> None:
        rows = []
        for variant in restores.VARIANTS:
            ratios: list[object] = []
            times = []
            for name, suffix in (("seconds", ""), ("cpu_seconds", ".cpu")):
                values = self.values("restore", variant.name, name)
                baseline = self.values("restore", restores.NONE.name, name)
                times.append(middle(values))
                compared = variant is not restores.NONE
                ratios.append(
                    self.ratio(f"{variant.name}{suffix}", values, baseline) if compared else ""
                )
            first = self.of("restore", variant.name)[0]
            counts = [f"{first['lookups']:,}", f"{first['wal_bytes'] / 1e6:,.1f}"]
            rows.append([variant.title, times[0], ratios[0], times[1], ratios[1], *counts])
        both = (self.values("restore", name, "seconds") for name in ("deferred", "immediate"))
        self.ratio("deferred.to_immediate", *both)
        self.result.table(
            f"pg_restore of {self.options.rows:,} rows with {TEXT} bytes of text: elapsed time and CPU time of the server"
            " in seconds, median (smallest to largest); ratios to no foreign key with their interval; lookups in the"
            " referenced key; WAL",
            ["", "elapsed", "ratio", "CPU", "ratio", "lookups", "WAL, MB"],
            rows,
            "restores",
        )

    def show_inside(self) -> None:
        rows, columns = [], ["", *(kind.title for kind in inside.KINDS)]
        unit = self.of("insert", "none")[0]["unit"]

        def add(title: str, cell: Callable[[str], object]) -> None:
            rows.append([title, *(cell(kind.name) for kind in inside.KINDS)])

        for title, names in (
            ("INSERT", ("statement",)),
            ("COMMIT", ("commit",)),
            ("ALTER TABLE ... ADD FOREIGN KEY", ("follows",)),
            ("all", ("statement", "commit", "follows")),
        ):
            add(
                f"{title}, s of {unit}",
                lambda name, names=names: middle(self.values("insert", name, *names), 3),
            )
        together = ("statement", "commit", "follows")
        baseline = self.values("insert", inside.NONE.name, *together)
        add(
            "all, ratio",
            lambda name: ""
            if name == inside.NONE.name
            else self.ratio(f"insert.{name}", self.values("insert", name, *together), baseline),
        )
        explained = {kind.name: self.of("explain", kind.name)[0] for kind in inside.KINDS}
        first = {kind.name: self.of("insert", kind.name)[0] for kind in inside.KINDS}
        add(
            "EXPLAIN ANALYZE of INSERT: rows, s",
            lambda name: f"{explained[name]['rows_ms'] / 1e3:.3f}",
        )
        add(
            "EXPLAIN ANALYZE of INSERT: trigger calls, s",
            lambda name: f"{explained[name]['trigger_ms'] / 1e3:.3f}",
        )
        add("number of trigger calls", lambda name: f"{explained[name]['calls']:,}")
        for title, field in (
            ("lookups in the referenced key", "lookups"),
            ("blocks of the referenced key", "key_blocks"),
            ("blocks of the referenced table", "heap_blocks"),
            ("row locks in WAL", "locks"),
        ):
            add(title, lambda name, field=field: f"{first[name][field]:,}")
        for title, field in (
            ("WAL of the row locks, MB", "lock_bytes"),
            ("WAL, MB", "wal_bytes"),
            ("memory of queued trigger calls before COMMIT, MB", "queue_bytes"),
        ):
            add(title, lambda name, field=field: f"{first[name][field] / 1e6:,.2f}")
        immediate = explained["immediate"]
        self.result.metrics["trigger_share"] = immediate["trigger_ms"] / immediate["statement_ms"]
        self.result.table(
            "Parts of the time: INSERT of the same rows from a table in one transaction; median (smallest to largest)",
            columns,
            rows,
            "inside",
        )


def measure(options: Options, result: Result, stack: ExitStack) -> None:
    cluster = Cluster(CLUSTER, bindir("dense"))
    quietly(cluster.remove)
    stack.callback(quietly, cluster.remove)
    cluster.start(SETTINGS)
    directory = work() / "fk-restore"
    stack.callback(shutil.rmtree, directory, ignore_errors=True)
    study = Study(options, result, cluster)
    with cluster.connect() as connection, progress() as bars:
        result.describe_server(connection)
        task = bars.add_task("tables and dumps", total=1)
        load(cluster, options.rows, options.seed)
        files = dump(cluster, directory)
        bars.advance(task)
        task = bars.add_task("restores and inserts", total=study.steps())
        study.measure(connection, files, lambda: bars.advance(task))
        with cluster.connect(SOURCE) as source:
            study.look_inside(source, lambda: bars.advance(task))
    study.show()


def run(options: Options, target: Path | None) -> None:
    result = Result("fk-restore", options.seed, options.quick)
    result.describe(
        rows=options.rows, rows_of_a_referenced_one=ROWS_OF_ACCOUNT, rounds=options.rounds
    )
    result.environment["settings of all"] = SETTINGS
    with session() as stack:
        measure(options, result, stack)
    result.save(target)


@click.command(
    "fk-restore", short_help="pg_restore with a foreign key created before or after the rows."
)
@common
# If the referenced table is smaller, the lookups scan all of it.
@click.option(
    "--rows",
    type=click.IntRange(5_000),
    help="Rows that reference others; default: 1000000, or 5000 with --quick.",
)
@click.option(
    "--rounds", type=click.IntRange(1), help="Restores of each kind; default: 7, or 1 with --quick."
)
def command(target: Path | None, quick: bool, **options) -> None:
    """pg_restore with a foreign key created before the rows, or after them: time by step.

    Before the rows, the foreign key is immediate or deferred.
    """
    fill_in(options, quick, rows=(1_000_000, 5_000), rounds=(7, 1))
    run(Options(quick=quick, **options), target)
