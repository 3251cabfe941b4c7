"""TPC-C with little memory on one server: stock tables, and all features that pay, in turn."""

import math
import mmap
import os
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import psycopg
from rich.bar import Bar as TerminalBar
from rich.table import Table

from bench import picture
from bench.indexes.alignment import MAX
from bench.indexes.alignment import SETTING as ALIGNMENT
from bench.lib import cgroup, pagecache
from bench.lib.console import BenchError, console, note, progress
from bench.lib.device import block_device
from bench.lib.options import lite, major, seed
from bench.lib.paths import CLUSTERS, TOP, bindir, work, write_file
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.lib.statistics import Ratio, interleave, paired_ratio, spread
from bench.studies import tpcc
from bench.tpcc import check, workload
from bench.tpcc.load import LOAD_SETTINGS, TABLES, load
from bench.tpcc.sizes import INDEXES, DatabaseSize, database_size, megabytes, percent
from bench.tpcc.stages import ALL_OFF, CUSTOMER_SPLIT, Stage, stages
from bench.vertical.partition import cold, hot, stored
from bench.wal.variants import reason_of_fallback

NAME, RUNNING = "demo", "demo-run"
# The last step that makes this load faster.  The step after it is background vacuum.
LAST = CUSTOMER_SPLIT
DATABASES = {ALL_OFF.name: "tpcc_stock", LAST.name: "tpcc_dense"}
TITLES = {ALL_OFF.name: "stock tables", LAST.name: "pg_dense"}
# Seconds on a machine with two processors: to load a warehouse, and to copy, start and check the
# databases of a run
LOAD_SECONDS, RUN_SECONDS = 9, 25


@dataclass(frozen=True)
class Options(tpcc.Common):
    pairs: int
    seconds: float
    keep: bool

    def minutes(self) -> int:
        load_seconds = len(DATABASES) * self.warehouses * LOAD_SECONDS * (0.05 if self.lite else 1)
        one = self.warmup + self.seconds + RUN_SECONDS * (0.2 if self.lite else 1)
        return math.ceil((load_seconds + self.pairs * len(DATABASES) * one) / 60)


@dataclass(frozen=True)
class Limits:
    """What limits the memory of the server: a control group, direct I/O, or nothing."""

    group: bool
    direct: bool

    @property
    def settings(self) -> dict[str, str]:
        return dict(tpcc.DIRECT) if self.direct else {}

    def describe(self, options: Options) -> str:
        if self.group:
            return f"{options.memory} MB of memory, {options.iops} reads a second"
        return f"shared_buffers {options.shared_buffers}" + (
            ", direct I/O for tables" if self.direct else ", memory not limited"
        )


def scale_of(options: Options) -> str:
    return f"{options.warehouses} warehouse{'s' if options.warehouses > 1 else ''}"


def introduce(options: Options) -> None:
    minutes = options.minutes()
    console.print(
        f"pg_dense demo: TPC-C with little memory, takes about {minutes} minute{'s' if minutes > 1 else ''}\n",
        style="bold",
        markup=False,
    )
    rounds = "once" if options.pairs == 1 else f"{options.pairs} times"
    console.print(
        f"1. Load {scale_of(options)} into database {DATABASES[ALL_OFF.name]} with the tables of stock"
        f" PostgreSQL, and into database\n   {DATABASES[LAST.name]} with all features that pay in this load: WAL with"
        " direct I/O, compact types, aligned indexes,\n   and a split of the table customer.\n"
        f"2. Run the same {options.clients} clients on each of them in turn, {rounds}, for {options.seconds:g} s after"
        f" {options.warmup:g} s to warm up.  The server has\n   much less memory than the data needs.\n"
        "3. Compare bytes, WAL, reads and New-Orders a minute.\n\n"
        "Both databases are on one private server with the patches, in build/cluster.  The demo changes nothing\n"
        "outside build.",
        markup=False,
        soft_wrap=True,
    )


def limits(options: Options) -> Limits:
    """Find out how the memory can be limited.  If it cannot be limited, say what that means."""
    direct = _direct_io()
    instead = (
        "memory and reads a second are not limited.  Instead, the server reads tables with direct I/O, and keeps only"
        f" its shared_buffers of {options.shared_buffers} in memory.  Bytes and reads are as with a limit.  On a fast"
        " device, the gain in New-Orders a minute is smaller"
        if direct
        else "memory and reads a second are not limited.  All data stay in memory, so New-Orders a minute hardly"
        " differ.  Bytes of tables, indexes and WAL are as with a limit"
    )
    group = None
    if options.unlimited:
        note(f"--unlimited: {instead}")
    else:
        group = cgroup.create(options.memory, options.iops, CLUSTERS, instead)
        if group:
            group.remove()
    found = Limits(group is not None, group is None and direct)
    console.print(f"\nLimits of the server: {found.describe(options)}.\n", markup=False)
    return found


def _direct_io() -> bool:
    """Return true if files below build/cluster can be read with direct I/O."""
    path = work() / "direct"
    try:
        path.write_bytes(b"\0" * mmap.PAGESIZE)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            with mmap.mmap(-1, mmap.PAGESIZE) as page:
                return os.readv(handle, [page]) == mmap.PAGESIZE
        finally:
            os.close(handle)
    except OSError:
        return False
    finally:
        path.unlink(missing_ok=True)


class Demo:
    """The databases and the runs.

    The stack of session() cleans up after an error, because a second interrupt does not stop that.
    """

    def __init__(self, options: Options, stack: ExitStack) -> None:
        self.options = options
        self.stack = stack
        self.stages = stages(tuple(DATABASES))
        self.cluster = Cluster(NAME, bindir("dense"))
        self.sizes: dict[str, DatabaseSize] = {}
        self.samples: dict[str, list[dict[str, Any]]] = {name: [] for name in DATABASES}
        # Bytes of the parts of the split table, and of the indexes without alignment
        self.parts: dict[str, int] = {}
        self.unaligned = 0
        self.fallback: str | None = None
        self.version = ""

    def load_all(self) -> None:
        self.cluster.start(LOAD_SETTINGS)
        options = self.options
        with progress() as bars:
            for stage in self.stages:
                database = DATABASES[stage.name]
                load(
                    self.cluster,
                    database,
                    stage,
                    options.warehouses,
                    options.scale,
                    options.seed,
                    bars,
                )
        for stage in self.stages:
            with self.cluster.connect(DATABASES[stage.name]) as connection:
                self.sizes[stage.name] = database_size(connection)
        with self.cluster.connect(DATABASES[LAST.name]) as connection:
            (self.version,) = connection.execute("SHOW server_version").fetchone()
            for table in (hot("customer"), cold("customer")):
                (self.parts[table],) = connection.execute(
                    "SELECT pg_table_size(%s::regclass)", [table]
                ).fetchone()
            self.unaligned = unaligned_bytes(connection)
        self.cluster.stop()

    def measure(self, found: Limits, number: int, stage: Stage, title: str) -> None:
        options = self.options
        # run() removes a copy that is not complete
        running = self.cluster.copy_to(RUNNING)
        left = self.stack.enter_context(ExitStack())
        group = None
        if found.group:
            group = tpcc.limit(options, options.memory, running, left)
        else:
            cgroup.evict(running.data)
        left.callback(quietly, running.remove)
        settings = {**tpcc.BASE_SETTINGS, "shared_buffers": options.shared_buffers}
        running.start(
            settings | stage.settings | stage.measured | found.settings,
            group.join_prefix() if group else (),
        )
        plan = workload.Load(
            options.warehouses,
            options.scale,
            options.clients,
            options.warmup,
            options.seconds,
            options.seed,
        )
        whole = int(options.warmup + options.seconds)
        with progress() as bars:
            task = bars.add_task(title, total=whole)
            try:
                sample = workload.run(
                    running,
                    DATABASES[stage.name],
                    plan,
                    work() / "demo",
                    number,
                    lambda passed: bars.advance(task, passed),
                    block_device(CLUSTERS),
                    group,
                )
            except (BenchError, psycopg.Error) as error:
                if group and group.kills():
                    raise BenchError(
                        f"{options.memory} MB are too few: a process of the server was killed, see --memory"
                    ) from error
                raise
            bars.update(task, completed=whole)
        sample["wal_cached"] = pagecache.resident_below(running.data / "pg_wal")
        if stage.name == LAST.name:
            self.fallback = reason_of_fallback(Path(running.log))
        if group:
            group.lift()
        with running.connect(DATABASES[stage.name]) as connection, console.status(
            "checking the twelve consistency conditions"
        ):
            sample["conditions"] = check.check(connection, stage.title)
        self.samples[stage.name].append(sample)
        left.close()

    def measure_all(self, found: Limits) -> None:
        runs = list(interleave(self.stages, self.options.pairs))
        for count, (number, stage) in enumerate(runs, start=1):
            title = f"run {count} of {len(runs)}, {TITLES[stage.name]}: seconds"
            self.measure(found, number, stage, title)

    def values(self, stage: str, pick) -> list[float]:
        return [float(pick(sample)) for sample in self.samples[stage]]

    def ratio(self, pick) -> Ratio:
        return paired_ratio(
            self.values(LAST.name, pick), self.values(ALL_OFF.name, pick), self.options.seed
        )


def unaligned_bytes(connection: psycopg.Connection) -> int:
    """Return the bytes of all indexes if they are built without alignment by their keys."""
    tables = [part for parts in stored(connection, TABLES).values() for part in parts]
    total = 0
    for index, _, definition in connection.execute(INDEXES, [tables]).fetchall():
        with connection.transaction(force_rollback=True):
            connection.execute(f"SET LOCAL {ALIGNMENT} = {MAX}")
            name = index.rpartition(".")[2]
            connection.execute(
                definition.replace(f" INDEX {name} ON ", " INDEX demo_unaligned ON ", 1).partition(
                    " WITH ("
                )[0]
            )
            (size,) = connection.execute(
                "SELECT pg_total_relation_size('demo_unaligned'::regclass)"
            ).fetchone()
            total += size
    return total


def times(ratio: Ratio) -> str:
    text = f"{ratio.median:.2f} times"
    return text if ratio.pairs == 1 else f"{text} ({ratio.low:.2f} to {ratio.high:.2f})"


@dataclass(frozen=True)
class Row:
    """A line of the table: its name, both values as text and as numbers, and the change."""

    name: str
    texts: tuple[str, str]
    values: tuple[float, float]
    change: str

    def label(self, number: int) -> str:
        """Return the text at a bar: the median, and for the second bar the change, without ranges."""
        change = f"  {self.change}" if number else ""
        return re.sub(r" \([^()]*\)", "", self.texts[number] + change)


def size_rows(demo: Demo) -> list[Row]:
    before, after = (demo.sizes[name] for name in DATABASES)
    return [
        Row(title, (megabytes(old), megabytes(new)), (old, new), percent(new / old))
        for title, old, new in (
            ("database, freshly loaded", before.database, after.database),
            ("its tables", before.heap, after.heap),
            ("its indexes", before.indexes, after.indexes),
        )
    ]


def load_rows(demo: Demo) -> list[Row]:
    rows = []
    for title, pick, scale, digits, unit in (
        ("WAL per New-Order", tpcc.wal, 1000, 1, " kB"),
        ("reads per New-Order", tpcc.reads, 1, 2, ""),
        ("New-Orders a minute", tpcc.notpm, 1, 0, ""),
    ):
        texts, middles = [], []
        for name in DATABASES:
            middle, low, high = spread([value / scale for value in demo.values(name, pick)])
            middles.append(middle)
            several = (
                f" ({low:,.{digits}f} to {high:,.{digits}f})" if demo.options.pairs > 1 else ""
            )
            texts.append(f"{middle:,.{digits}f}{unit}{several}")
        if min(demo.values(ALL_OFF.name, pick)) <= 0:
            said = ""
        else:
            ratio = demo.ratio(pick)
            said = times(ratio) if pick is tpcc.notpm else percent(ratio.median)
        rows.append(Row(title, (texts[0], texts[1]), (middles[0], middles[1]), said))
    return rows


def show(demo: Demo, found: Limits, rows: list[Row]) -> None:
    options = demo.options
    several = ", medians (smallest to largest)" if options.pairs > 1 else ""
    table = Table(
        title=f"TPC-C, {scale_of(options)}, {found.describe(options)}{several}",
        title_justify="left",
    )
    for number, column in enumerate(("", *TITLES.values(), "change")):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(row.name, *row.texts, row.change)
    met = [demo.samples[name][-1]["conditions"] for name in DATABASES]
    table.add_row("consistency conditions met", *met, "")
    console.print(table)


def plot(rows: list[Row]) -> None:
    """Print two bars for each row, with a scale of its own, and the medians."""
    console.print()
    grid = Table.grid(padding=(0, 1))
    for _ in range(4):
        grid.add_column()
    for row in rows:
        most = max(row.values) or 1
        for number, (title, value) in enumerate(zip(TITLES.values(), row.values)):
            name = row.name if number == 0 else ""
            bar = TerminalBar(most, 0, value, width=30, color="white" if number == 0 else "cyan")
            grid.add_row(name, title, bar, row.label(number))
    console.print(grid)


def write_picture(demo: Demo, found: Limits, rows: list[Row]) -> Path:
    groups = [
        picture.Group(
            row.name,
            [
                picture.Bar(title, value, row.label(number), own=number == 1)
                for number, (title, value) in enumerate(zip(TITLES.values(), row.values))
            ],
        )
        for row in rows
    ]
    options = demo.options
    title = f"pg_dense demo: TPC-C, {scale_of(options)}, {found.describe(options)}"
    path = work() / "demo.svg"
    write_file(path, picture.svg(title, groups, f"PostgreSQL {demo.version}"))
    return path


def features(demo: Demo) -> list[tuple[str, str]]:
    """Return each feature with what it did in this run."""
    before, after = (demo.sizes[name] for name in DATABASES)
    old, new = (size.tables["order_line"].bytes_per_row for size in (before, after))
    cached = [max(demo.values(name, lambda sample: sample["wal_cached"])) for name in DATABASES]
    parts = demo.parts
    direct = (
        f"WAL was not written with direct I/O: {demo.fallback}."
        if demo.fallback
        else f"The page cache held {megabytes(cached[1])} of WAL files at the end of a run, and {megabytes(cached[0])}"
        " without it.  This memory is free for tables."
    )
    return [
        (
            "compact_types",
            f"A row of order_line takes {new:.1f} bytes instead of {old:.1f}.  All tables take {megabytes(after.heap)}"
            f" instead of {megabytes(before.heap)}.",
        ),
        (
            "index_align",
            f"All indexes take {megabytes(after.indexes)}.  Without alignment by their keys, they would take"
            f" {megabytes(demo.unaligned)}, and with stock types {megabytes(before.indexes)}.",
        ),
        (
            "vertical_partition",
            f"Updates of customer write to {hot('customer')}, {megabytes(parts[hot('customer')])}, which can stay in"
            f" memory.  The other {megabytes(parts[cold('customer')])} are in {cold('customer')}, which is rarely read.",
        ),
        ("wal_directio_patch", direct),
        (
            "not used",
            "bgvacuum_patch: it keeps tables small that are deleted from and inserted into, and does not make this"
            " load faster.  toast_policy: TPC-C has no large values.",
        ),
    ]


def show_features(demo: Demo) -> None:
    console.print("\nWhat each feature did", style="bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for name, text in features(demo):
        grid.add_row(f"  {name}", text)
    console.print(grid)


def kept(demo: Demo) -> None:
    """Say how to reach the instance that was left running, or how to get one."""
    cluster = demo.cluster
    if not demo.options.keep:
        console.print(
            "\nThe server is removed again.  To keep it and look around: make demo KEEP=1",
            markup=False,
        )
        return
    environment = cluster.environment
    # Other accounts cannot reach its socket.
    who = f' as root or "{cluster.data.owner()}"' if os.geteuid() == 0 else ""
    console.print(
        f"\nThe server is up, with databases {' and '.join(DATABASES.values())}, both freshly loaded.  Connect{who} by:\n"
        f"  {cluster.bindir}/psql -h {environment['PGHOST']} -p {environment['PGPORT']}"
        f" -U {environment['PGUSER']} {DATABASES[LAST.name]}\n"
        "Stop and delete it by:\n"
        f"  tools/cluster remove {cluster.name}",
        markup=False,
        soft_wrap=True,
    )


def farewell() -> None:
    console.print(
        "\nnow on your database: tools/advise DBNAME\n"
        "It writes nothing, and says what each feature would save.  To apply and to undo it from SQL:\n"
        "  make install PG_CONFIG=...        the pg_config of your server\n"
        "  =# CREATE EXTENSION pg_dense;\n"
        "  =# CREATE EXTENSION compact_types;        and toast_policy, vertical_partition\n"
        "  =# SELECT kind, proposal, bytes_now, bytes_after, percent FROM dense.report();\n"
        "  =# CALL dense.apply('compact_types public.orders');\n"
        "  =# CALL dense.undo();",
        markup=False,
        soft_wrap=True,
    )


def run(options: Options) -> None:
    introduce(options)
    with session() as stack:
        found = limits(options)
        demo = Demo(options, stack)
        tpcc.require_settings(demo.stages)
        undo = stack.enter_context(ExitStack())
        for cluster, where in (
            (demo.cluster, undo),
            (Cluster(RUNNING, bindir("dense")), stack),
        ):
            where.callback(quietly, cluster.remove)
            quietly(cluster.remove)
        demo.load_all()
        demo.measure_all(found)
        sizes, loads = size_rows(demo), load_rows(demo)
        console.print()
        show(demo, found, sizes + loads)
        plotted = [loads[-1], *loads[:-1], sizes[0], sizes[2]]
        plot(plotted)
        path = write_picture(demo, found, plotted)
        shown = path.relative_to(TOP) if path.is_relative_to(TOP) else path
        console.print(f"\nThe same plot as a picture: {shown}", soft_wrap=True, markup=False)
        show_features(demo)
        if options.keep:
            (last,) = stages((LAST.name,))
            demo.cluster.start(tpcc.BASE_SETTINGS | last.settings | last.measured)
            undo.pop_all()
    kept(demo)
    farewell()


@click.command("demo", short_help="TPC-C with little memory, stock tables and all features.")
@major
@click.option("--keep", is_flag=True, help="Leave the server running.")
@click.option("--unlimited", is_flag=True, help="Set no memory limit and no read throttle.")
@click.option("--shared-buffers", default="108MB", show_default=True, metavar="SIZE")
@click.option(
    "--iops",
    type=click.IntRange(1),
    default=1500,
    show_default=True,
    help="Limit for the reads of the server, per second.",
)
@click.option(
    "--memory",
    type=click.IntRange(64),
    default=200,
    show_default=True,
    metavar="MB",
    help="Limit for the server and its page cache.",
)
@click.option("--clients", type=click.IntRange(1), default=8, show_default=True)
@click.option("--warehouses", type=click.IntRange(1), default=4, show_default=True)
@click.option(
    "--pairs",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Runs of each database.",
)
@click.option(
    "--warmup", type=click.FloatRange(0), default=30, show_default=True, metavar="SECONDS"
)
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    default=60,
    show_default=True,
    help="Seconds to measure.",
)
@lite
@seed
def command(**options) -> None:
    """TPC-C with little memory: stock tables and all features that pay, in some minutes."""
    run(Options(quick=False, **options))
