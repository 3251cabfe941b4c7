"""DBT-2-style TPC-C, stage by stage: throughput, latency, I/O, WAL, CPU and size."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click
import numpy
import psycopg

from bench.lib import cgroup
from bench.lib.bars import Bar, show_bars
from bench.lib.console import BenchError, console, note, progress
from bench.lib.device import block_device
from bench.lib.options import common, fill_in, lite
from bench.lib.paths import CLUSTERS, bindir, work
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.lib.statistics import interleave, paired_ratio, spread
from bench.tpcc import check, series, table_reads, workload
from bench.tpcc.load import FULL, LITE, LOAD_SETTINGS, Scale, load
from bench.tpcc.resume import KEPT, SAME_LONG, Unfinished, described, earlier, minutes_of, stages_of
from bench.tpcc.sizes import DatabaseSize, database_size, row_size_rows, stage_rows
from bench.tpcc.stages import (
    BOTH_SPLIT,
    CUSTOMER_SPLIT,
    CUSTOMER_SPLIT_BACKGROUND,
    WHOLE,
    Stage,
    stages,
)
from bench.wal.variants import MODE, reason_of_fallback

DATABASE = "tpcc"
RUNNING = "bench-tpcc-run"
# The throughput of the split alone: its stage, and the stage to compare it with
SPLITS = {
    "tpmc.split.stock": ("split", "off"),
    "tpmc.split.compact": ("vertical-partition", "index-alignment"),
    "tpmc.split-customer.stock": ("split-customer", "off"),
    "tpmc.split-customer.compact": ("vertical-partition-customer", "index-alignment"),
}
SPLIT_BARS = tuple(
    Bar(f"tpmc.{split}.{types}", f"throughput of the split {tables}, {title}", least=least)
    for split, tables in (("split", "by itself"), ("split-customer", "of customer alone"))
    for types, title, least in (
        ("stock", "stock types", 1.14),
        ("compact", "compact types and aligned indexes", 1.37),
    )
)
# Bars for the ratios of the last stage to the first, if these are the ends of the whole stack
WHOLE_BARS = (
    Bar("tpmc.all", "throughput", least=1.8),
    Bar("tpmc.all", "throughput, goal", least=2.33, goal=True),
    Bar("tpmc.sb128", "throughput at shared_buffers 128MB", least=1.45),
    Bar(
        "memory.equal",
        "memory that reaches stock's throughput at 700 MB, to 700 MB",
        0.6,
        goal=True,
    ),
    Bar("reads.all", "device reads per New-Order", 0.55),
    Bar("wal_bytes", "WAL per New-Order", 0.35),
    Bar("written_bytes", "device bytes written per New-Order", 0.40),
    Bar("size.database", "size of the database", 0.88),
    Bar("size.indexes", "size of the indexes", 0.78),
    Bar("size.order_line", "bytes a row of order_line", 0.80),
    Bar("size.orders", "bytes a row of orders", 0.70),
    # Bars for the last stage with both splits
    Bar(f"tpmc.{BOTH_SPLIT[-1].name}", "throughput, with stock split as well", least=1.8),
    Bar(
        f"reads.{BOTH_SPLIT[-1].name}", "device reads per New-Order, with stock split as well", 0.55
    ),
    Bar(f"wal_bytes.{BOTH_SPLIT[-1].name}", "WAL per New-Order, with stock split as well", 0.35),
    Bar(
        f"written_bytes.{BOTH_SPLIT[-1].name}",
        "device bytes written per New-Order, with stock split as well",
        0.40,
    ),
)
# Bars for background vacuum, if the first stage is without it and the last stage is with it
BACKGROUND_BARS = (
    Bar("tpmc.all", "throughput, with background vacuum to without", least=0.99),
    Bar("reads.all", "device reads per New-Order, with background vacuum to without", 1.01),
    Bar("wal_bytes", "WAL per New-Order, with background vacuum to without", 1.01),
    Bar(
        "written_bytes",
        "device bytes written per New-Order, with background vacuum to without",
        1.01,
    ),
)
# Bars for the ends of the stack if each has its best shared_buffers
BEST_BARS = (
    Bar("tpmc.best_settings", "throughput, each with its best shared_buffers", least=2.5),
    Bar(
        "tpmc.best_settings",
        "throughput, each with its best shared_buffers, goal",
        least=3.5,
        goal=True,
    ),
    Bar("reads.best_settings", "device reads per New-Order, the same", 0.42),
)
SWEEP_MEMORY = (250, 400, 550, 700)
# Sizes of shared_buffers in MB, of which each end of the stack chooses its best, and the name of the
# runs with the best
BUFFERS = (128, 200, 270, 300, 320)
BEST = "best"
# The longest warmup and measured time, in seconds, of the runs that only find the best size
CHOICE_WINDOW = (120, 180)
# The name of the long run of the first and the last stage, and the number of rows of its tables
CURVE = "curve"
CURVE_ROWS = 6
MAINTAINED = (
    ("autovacuum", "vacuums by autovacuum"),
    ("autoanalyze", "analyzes by autovacuum"),
    ("checkpoints", "checkpoints"),
)
BASE_SETTINGS = {
    "checkpoint_timeout": "60s",
    "max_wal_size": "16GB",
    "jit": "off",
    "max_connections": "100",
    # No memory limit counts huge pages.
    "huge_pages": "off",
}

# With this setting, the kernel keeps no copy of data files in the page cache.
DIRECT = {"debug_io_direct": "data"}


@dataclass(frozen=True)
class Common:
    """The options of all studies of TPC-C under a memory limit."""

    quick: bool
    seed: int
    lite: bool
    warehouses: int
    clients: int
    warmup: float
    memory: int
    iops: int
    unlimited: bool
    shared_buffers: str

    @property
    def scale(self) -> Scale:
        return LITE if self.lite else FULL


@dataclass(frozen=True)
class Options(Common):
    pairs: int
    seconds: float
    sweep: bool
    sweep_pairs: int | None
    best: bool
    best_only: bool
    curve: float
    pairs_of: tuple[str, ...]
    stage_names: tuple[str, ...]
    variants: tuple[str, ...]
    think: bool
    fresh: bool
    extend: Path | None
    curve_of: Path | None
    direct: bool


@dataclass(frozen=True)
class Setting:
    """The memory and the window of a series of runs.

    The name tells its samples and metrics from those of other settings.  The setting BEST has the
    shared_buffers that were best for the stage in the settings of BUFFERS.
    """

    name: str
    memory: int
    shared_buffers: str
    pairs: int
    warmup: float
    seconds: float


def settings(options: Options) -> list[Setting]:
    window = options.warmup, options.seconds
    chosen = []
    if not options.best_only:
        chosen.append(Setting("", options.memory, options.shared_buffers, options.pairs, *window))
    if options.curve:
        chosen.append(
            Setting(CURVE, options.memory, options.shared_buffers, 1, 0, options.curve * 60)
        )
    if options.sweep:
        pairs = options.sweep_pairs or options.pairs
        chosen.append(Setting("sb128", options.memory, "128MB", pairs, *window))
        chosen += [
            Setting(f"memory{memory}", memory, f"{memory * 2 // 3}MB", pairs, *window)
            for memory in SWEEP_MEMORY
        ]
    if options.best:
        pairs = options.sweep_pairs or 1
        warmup, seconds = map(min, window, CHOICE_WINDOW)
        chosen += [
            Setting(buffers_name(size), options.memory, f"{size}MB", pairs, warmup, seconds)
            for size in BUFFERS
        ]
        chosen.append(Setting(BEST, options.memory, BEST, options.pairs, *window))
    return chosen


def buffers_name(size: int) -> str:
    return f"buffers{size}"


class Study:
    def __init__(self, options: Options, stack: ExitStack, result: Result) -> None:
        self.options = options
        self.stack = stack
        self.result = result
        self.scale = options.scale
        self.stages = stages(options.stage_names, options.variants)
        if unknown := set(options.pairs_of) - {stage.name for stage in self.stages}:
            raise BenchError(
                f'--pairs-of names "{min(unknown)}", which is none of the stages that are run'
            )
        self.loaded: dict[str, Cluster] = {}
        self.sizes: dict[str, DatabaseSize] = {}
        self.described = False
        # Server and limits of the runs that are taken over
        self.earlier_server: tuple[str, str] | None = None
        key = asdict(options) | {"extend": str(options.extend), "curve_of": str(options.curve_of)}
        key |= {name: result.environment[name] for name in ("revision", "major")}
        del key["fresh"]
        self.unfinished = Unfinished(work() / "tpcc" / "unfinished.json", key)

    def resume(self) -> None:
        """Take over the runs of the same study if it was interrupted, or of the one to extend."""
        if self.options.fresh:
            self.unfinished.remove()
        samples, environment = self.unfinished.read()
        if samples:
            self.result.environment |= environment | {
                "resumed": f"after {len(samples)} runs, begun {environment['date']}"
            }
            self.described = True
        elif self.options.extend:
            samples, environment = self.earlier(self.options.extend)
            self.result.environment["extended"] = described(environment, len(samples))
            note(self.result.environment["extended"])
        self.result.samples += samples
        if self.options.curve_of:
            self.take_over_long_runs(self.options.curve_of)

    def take_over_long_runs(self, path: Path) -> None:
        """Take over the long runs of a file.

        Long runs are measured from their beginning, so the window of the other runs may differ.
        """
        samples, environment = earlier(path, self.result, SAME_LONG)
        there = [sample for sample in samples if sample["setting"] == CURVE]
        if sorted(sample["stage"] for sample in there) != sorted(
            stage.name for stage in self.ends()
        ):
            raise BenchError(
                f'"{path}" has no long run of {" or of ".join(stage.name for stage in self.ends())}'
            )
        self.require_server(path, environment)
        self.result.environment["long runs"] = described(environment, len(there))
        note(self.result.environment["long runs"])
        done = self.done()
        self.result.samples += [sample for sample in there if run_of(sample) not in done]

    def require_server(self, path: Path, environment: Mapping[str, object]) -> None:
        """Raise an error unless the file has the server and limits of the first file taken over."""
        theirs = str(environment["server"]), str(environment.get("limits", "none"))
        if self.earlier_server not in (None, theirs):
            raise BenchError(f'"{path}" has another server or other limits: {"; ".join(theirs)}')
        self.earlier_server = theirs
        # Copy the description: if no run is missing, no server is started that could give it.
        self.result.environment |= {
            name: environment[name] for name in KEPT[1:] if name in environment
        }

    def earlier(self, path: Path) -> tuple[list[dict], dict[str, object]]:
        samples, environment = earlier(path, self.result)
        wanted = {run_of(sample) for sample in samples} - {
            (setting.name, number, stage.name) for setting, number, stage in self.planned()
        }
        if wanted:
            raise BenchError(
                f'"{path}" has {len(wanted)} runs that this command would leave out, see --pairs and --sweep'
            )
        self.require_server(path, environment)
        return samples, environment

    def planned(self) -> Iterator[tuple[Setting, int, Stage]]:
        for setting in settings(self.options):
            chosen = self.stages_under(setting)
            repeated = [stage for stage in chosen if stage.name in self.options.pairs_of] or chosen
            if repeated != chosen:
                yield from ((setting, 0, stage) for stage in chosen)
            for number, stage in interleave(repeated, setting.pairs):
                if repeated == chosen or number > 0:
                    yield setting, number, stage

    @property
    def main(self) -> str:
        """The name of the setting whose runs are shown in detail."""
        return BEST if self.options.best_only else ""

    def stages_under(self, setting: Setting) -> list[Stage]:
        """Return all stages; in the sweep and the long run only the first and the last one."""
        return self.ends() if setting.name else self.stages

    def ends(self) -> list[Stage]:
        """Return the first and the last stage, or the only one."""
        return [self.stages[0], self.stages[-1]][: len(self.stages)]

    def measure_all(self) -> None:
        for setting, number, stage in self.planned():
            while (setting.name, number, stage.name) not in self.done():
                self.measure(setting, number, stage)
                self.unfinished.write(self.result.samples, self.result.environment)

    def done(self) -> set[tuple[str, int, str]]:
        """Return the runs that need not be made.

        A run with the best shared_buffers counts only if no server was killed with this size.
        Otherwise it is made again, with the next best size.
        """
        return {
            run_of(sample)
            for sample in self.result.samples
            if sample["setting"] != BEST
            or sample["shared_buffers"] not in self.too_large(sample["stage"])
        }

    def load_all(self) -> None:
        require_settings(self.stages)
        for stage in self.stages:
            cluster = start_loaded(f"bench-tpcc-{stage.name}", stage, self.options, self.stack)
            with cluster.connect(DATABASE) as connection:
                self.sizes[stage.name] = database_size(connection)
                check.check(connection, f"freshly loaded {stage.title}")
            cluster.stop()
            self.loaded[stage.name] = cluster

    def measure(self, setting: Setting, number: int, stage: Stage) -> None:
        shared_buffers = setting.shared_buffers
        if setting.name == BEST:
            shared_buffers = self.best_buffers(stage)
        cluster = self.loaded[stage.name].copy_to(RUNNING)
        with ExitStack() as stack:
            group = limit(self.options, setting.memory, cluster, stack)
            stack.callback(quietly, cluster.remove)
            configuration = {**BASE_SETTINGS, "shared_buffers": shared_buffers}
            configuration |= {
                **stage.settings,
                **stage.measured,
                **(DIRECT if self.options.direct else {}),
            }
            cluster.start(configuration, group.join_prefix() if group else ())
            self.describe(cluster, group)
            where = {
                "setting": setting.name,
                "memory": setting.memory,
                "shared_buffers": shared_buffers,
                "limited": group is not None,
                "stage": stage.name,
                "round": number,
            }
            try:
                sample = where | self.run_once(cluster, setting, number, stage, group)
            except (BenchError, psycopg.Error) as error:
                if not group or not group.kills():
                    raise
                self.record_killed(setting, where, f"{stage.title}, run {number + 1}", error)
                return
            sample["wal_fallback"] = wal_fallback(cluster, stage)
            if group:
                cgroup.require_own_cache(cluster.data, group)
                sample["memory_peak"] = group.memory_peak()
                group.lift()
            with cluster.connect(DATABASE) as connection, console.status(
                "checking the twelve consistency conditions"
            ):
                begin = time.monotonic()
                sample["conditions_met"] = check.check(
                    connection, f"{stage.title}, run {number + 1}"
                )
                sample["check_seconds"] = time.monotonic() - begin
            self.result.samples.append(sample)

    def best_buffers(self, stage: Stage) -> str:
        """Return the shared_buffers with which the stage had the highest throughput."""
        too_large = self.too_large(stage.name)
        reached = {
            f"{size}MB": float(numpy.median(values))
            for size in BUFFERS
            if f"{size}MB" not in too_large
            and (values := self.values(buffers_name(size), stage.name, notpm))
        }
        if not reached:
            raise BenchError(f"{stage.title}: no run with another size of shared_buffers ended")
        return max(reached, key=reached.__getitem__)

    def too_large(self, stage: str) -> set[str]:
        """Return the shared_buffers with which a server of the stage was killed."""
        return {
            sample["shared_buffers"]
            for name in (BEST, *map(buffers_name, BUFFERS))
            for sample in self.runs(name, stage)
            if killed(sample)
        }

    def describe(self, cluster: Cluster, group: cgroup.ControlGroup | None) -> None:
        """Record the server and its limits, once for all runs."""
        if self.described:
            return
        with cluster.connect(DATABASE) as connection:
            self.result.describe_server(connection, limits=limits_of(group))
        described = self.result.environment
        if self.earlier_server not in (None, (described["server"], described["limits"])):
            raise BenchError(
                "the result to extend has another server or other limits: "
                + "; ".join(self.earlier_server)
            )
        self.described = True

    def record_killed(
        self, setting: Setting, where: dict[str, object], title: str, error: Exception
    ) -> None:
        """Record a run whose server was killed for want of memory.

        In the sweep and the long run, that is a finding.  In the main runs, raise an error.
        """
        reason = f"{setting.memory} MB are too few for shared_buffers {where['shared_buffers']}: a process of the server was killed"
        if not setting.name:
            raise BenchError(f"{reason}, see --memory and --shared-buffers") from error
        note(f"{title}: {reason}")
        self.result.samples.append(where | {"killed": True})

    def run_once(
        self,
        cluster: Cluster,
        setting: Setting,
        number: int,
        stage: Stage,
        group: cgroup.ControlGroup | None,
    ) -> dict[str, object]:
        options = self.options
        plan = workload.Load(
            options.warehouses,
            self.scale,
            options.clients,
            setting.warmup,
            setting.seconds,
            options.seed,
            options.think,
        )
        whole = int(setting.warmup + setting.seconds)
        title = f"run {number + 1} of {setting.pairs}, {stage.title}" + (
            f", {setting.name}" if setting.name else ""
        )
        with progress() as bars:
            task = bars.add_task(title + ": seconds", total=whole)
            sample = workload.run(
                cluster,
                DATABASE,
                plan,
                work() / "tpcc",
                number,
                lambda passed: bars.advance(task, passed),
                block_device(CLUSTERS),
                group,
            )
            bars.update(task, completed=whole)
        return sample

    def runs(self, setting: str, stage: str) -> list[dict]:
        return [
            sample
            for sample in self.result.samples
            if (sample["setting"], sample["stage"]) == (setting, stage)
        ]

    def samples(self, setting: str, stage: str) -> list[dict]:
        too_large = self.too_large(stage) if setting == BEST else ()
        return [
            sample
            for sample in self.runs(setting, stage)
            if not killed(sample) and sample["shared_buffers"] not in too_large
        ]

    def values(self, setting: str, stage: str, pick) -> list[float]:
        return [pick(sample) for sample in self.samples(setting, stage)]

    def ratio(
        self, name: str, setting: str, stage: str, pick, least: float = 0.0, baseline: str = ""
    ) -> None:
        """Add a metric: the stage to the first one, or to the baseline.

        Leave it out unless all values of the baseline are above the least.  A round in which either
        server was killed does not count.
        """
        base = {
            sample["round"]: pick(sample)
            for sample in self.samples(setting, baseline or self.stages[0].name)
        }
        values = {sample["round"]: pick(sample) for sample in self.samples(setting, stage)}
        rounds = sorted(base.keys() & values.keys())
        if not rounds or min(base.values()) <= least:
            return
        self.result.ratio(
            name,
            paired_ratio(
                [values[number] for number in rounds],
                [base[number] for number in rounds],
                self.options.seed,
            ),
        )

    def size_metrics(self) -> None:
        before, after = self.sizes[self.stages[0].name], self.sizes[self.stages[-1].name]
        metrics = self.result.metrics
        metrics["size.database"] = after.database / before.database
        metrics["size.heap"] = after.heap / before.heap
        metrics["size.indexes"] = after.indexes / before.indexes
        for stage in self.stages[1:]:
            metrics[f"size.indexes.{stage.name}"] = self.sizes[stage.name].indexes / before.indexes
        for name in ("order_line", "orders"):
            metrics[f"size.{name}"] = (
                after.tables[name].bytes_per_row / before.tables[name].bytes_per_row
            )

    def speed_metrics(self) -> None:
        for stage in self.stages[1:]:
            for name, pick in (
                ("tpmc", notpm),
                ("reads", reads),
                ("wal_bytes", wal),
                ("written_bytes", written),
            ):
                self.ratio(f"{name}.{stage.name}", "", stage.name, pick, least=0.01)

        names = {stage.name for stage in self.stages}
        for name, (after, before) in SPLITS.items():
            if {after, before} <= names:
                self.ratio(name, "", after, notpm, baseline=before)
        last = self.stages[-1].name
        self.ratio("tpmc.all", "", last, notpm)
        self.ratio("reads.all", "", last, reads, least=0.01)
        self.ratio("wal_bytes", "", last, wal)
        self.ratio("written_bytes", "", last, written)
        self.ratio("cpu", "", last, lambda sample: sample["per_new_order"]["cpu_seconds"])
        self.ratio(
            "growth", "", last, lambda sample: sample["growth_by_update"] / sample["new_orders"]
        )
        if self.options.curve:
            self.ratio("tpmc.curve", CURVE, last, notpm)
        if self.options.sweep:
            self.sweep_metrics(last)
        if self.options.best:
            self.ratio("tpmc.best_settings", BEST, last, notpm)
            self.ratio("reads.best_settings", BEST, last, reads, least=0.01)

    def sweep_metrics(self, last: str) -> None:
        metrics = self.result.metrics
        self.ratio("tpmc.sb128", "sb128", last, notpm)
        names = [f"memory{memory}" for memory in SWEEP_MEMORY]
        for name in names:
            self.ratio(f"tpmc.{name}", name, last, notpm)
        compared = [metrics[f"tpmc.{name}"] for name in names if f"tpmc.{name}" in metrics]
        if compared:
            metrics["tpmc.best"] = max(compared)
        goal = self.values(names[-1], self.stages[0].name, notpm)
        reached = {
            memory: float(numpy.median(values))
            for memory, name in zip(SWEEP_MEMORY, names, strict=True)
            if (values := self.values(name, last, notpm))
        }
        if goal and reached:
            metrics["memory.equal"] = (
                equal_memory(reached, float(numpy.median(goal))) / SWEEP_MEMORY[-1]
            )

    def show(self) -> None:
        result = self.result
        first, last = self.stages[0], self.stages[-1]
        before, after = self.sizes[first.name], self.sizes[last.name]
        if first is not last:
            columns = [
                "table",
                "rows",
                first.title,
                last.title,
                "change",
                f"tuple, {first.title}",
                f"tuple, {last.title}",
            ]
            result.table(
                "Bytes a row on whole pages, freshly loaded",
                columns,
                row_size_rows(before, after),
                "rows",
            )
            others = [self.sizes[stage.name] for stage in self.stages[1:]]
            result.table(
                "Sizes",
                ["", *(stage.title for stage in self.stages)],
                stage_rows(before, others),
                "totals",
            )
        for setting in settings(self.options):
            if setting.name == CURVE:
                continue
            suffix = (
                f" ({setting.name}: {setting.memory} MB, shared_buffers {self.buffers_used(setting)})"
                if setting.name
                else ""
            )
            result.table(
                "Throughput and I/O: median (smallest to largest)" + suffix,
                ["", *(stage.title for stage in self.stages_under(setting))],
                self.speed_rows(setting),
                f"speed{setting.name}",
            )
        result.table(
            "Blocks read from the kernel per New-Order, heap + indexes, by table: medians",
            ["", *(stage.title for stage in self.stages)],
            table_reads.rows([self.samples(self.main, stage.name) for stage in self.stages]),
            "reads",
        )
        if self.options.curve:
            self.show_curve()
        if not self.options.think:
            result.table(
                "Latency in ms: p50 / p90 / p99, medians of the runs",
                ["", *(stage.title for stage in self.stages)],
                [
                    [
                        transaction.name,
                        *(self.latency(stage, transaction.name) for stage in self.stages),
                    ]
                    for transaction in workload.TRANSACTIONS
                ],
                "latency",
            )
        rows = [
            [name, f"{value:.3f}", interval_text(name, result.intervals.get(name))]
            for name, value in result.metrics.items()
        ]
        if rows:
            result.table(
                f"Ratios of {last.title} to {first.title}; a name that ends in a stage is of that stage",
                ["", "ratio", "interval"],
                rows,
                "ratios",
            )

        of_ends = {
            (WHOLE[0].name, WHOLE[-1].name): WHOLE_BARS,
            (CUSTOMER_SPLIT.name, CUSTOMER_SPLIT_BACKGROUND.name): BACKGROUND_BARS,
        }.get((first.name, last.name), ())
        bars = [bar for bar in of_ends + BEST_BARS + SPLIT_BARS if bar.metric in result.metrics]
        if bars:
            show_bars(result, bars)

    def buffers_used(self, setting: Setting) -> str:
        """Return the shared_buffers of a setting, or those that its stages chose."""
        if setting.name != BEST:
            return setting.shared_buffers
        chosen = (
            (stage.title, sample["shared_buffers"])
            for stage in self.ends()
            for sample in self.samples(BEST, stage.name)[:1]
        )
        return ", ".join(f"{size} ({title})" for title, size in chosen)

    def show_curve(self) -> None:
        """Show the long run, part by part: the reads of each New-Order, and their tables."""
        taken = {stage.title: self.samples(CURVE, stage.name) for stage in self.ends()}
        if not all(taken.values()):
            return
        minutes = self.options.curve / CURVE_ROWS
        parts = {
            title: series.by_time(samples[0]["series"], 60 * minutes)
            for title, samples in taken.items()
        }
        self.result.table(
            f"Long run, {self.options.curve:g} minutes, once for each stage: New-Orders a minute, blocks read per New-Order,"
            " vacuums and analyzes by autovacuum, growth of all heaps in MB",
            ["minutes", *parts, "ratio"],
            series.pace_rows(list(parts.values()), minutes),
            CURVE,
        )
        for title, of_stage in parts.items():
            tables = series.tables_read(of_stage)
            self.result.table(
                f"Long run, {title}: blocks read per New-Order by table, heap and indexes together",
                ["minutes", *tables],
                series.table_rows(of_stage, tables, minutes),
                f"{CURVE}_reads",
            )

    def speed_rows(self, setting: Setting) -> list[list[object]]:
        lines = (
            ("New-Orders a minute", notpm, 0),
            ("device reads per New-Order", reads, 2),
            ("blocks read per New-Order", lambda sample: sample["per_new_order"]["block_reads"], 2),
            (
                "blocks written per New-Order",
                lambda sample: sample["per_new_order"]["block_writes"],
                2,
            ),
            ("device kB written per New-Order", lambda sample: written(sample) / 1000, 1),
            ("WAL kB per New-Order", lambda sample: sample["per_new_order"]["wal_bytes"] / 1000, 1),
            (
                "full-page images per New-Order",
                lambda sample: sample["per_new_order"].get("wal_fpi"),
                2,
            ),
            (
                "CPU ms per New-Order",
                lambda sample: sample["per_new_order"]["cpu_seconds"] * 1000,
                2,
            ),
            (
                "New-Orders a minute, last third of the run to first third",
                lambda sample: sample["last_third_to_first"] or 0.0,
                2,
            ),
            ("growth by UPDATE, MB", lambda sample: sample["growth_by_update"] / 1e6, 1),
            ("seconds to check the twelve conditions", lambda sample: sample["check_seconds"], 1),
            (
                "HOT updates, %",
                lambda sample: 100 * sample["updates"]["hot_updates"] / sample["updates"]["updates"]
                if "updates" in sample
                else None,
                2,
            ),
            (
                "updates to another page per New-Order",
                lambda sample: sample["updates"]["newpage_updates"] / sample["new_orders"]
                if "updates" in sample
                else None,
                3,
            ),
            *(
                (
                    f"{title} in the measured window",
                    lambda sample, name=name: maintained(sample, name),
                    0,
                )
                for name, title in MAINTAINED
            ),
            ("failed transactions", lambda sample: float(sample["failed"]), 0),
        )
        rows = []
        for title, pick, digits in lines:
            cells = []
            for stage in self.stages_under(setting):
                # Runs that are taken over from an earlier revision do not have newer counters.
                values = [
                    value
                    for value in self.values(setting.name, stage.name, pick)
                    if value is not None
                ]
                middle, low, high = spread(values) if values else (0, 0, 0)
                cells.append(
                    f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"
                    if values
                    else ""
                )
            rows.append([title, *cells])
        lost = [
            sum(map(killed, self.runs(setting.name, stage.name)))
            for stage in self.stages_under(setting)
        ]
        return (
            [*rows, ["runs killed because memory ran out", *map(str, lost)]] if any(lost) else rows
        )

    def latency(self, stage: Stage, name: str) -> str:
        picked = [
            [sample["latency_ms"][name][point] for point in ("p50", "p90", "p99")]
            for sample in self.samples(self.main, stage.name)
            if name in sample["latency_ms"]
        ]
        return (
            " / ".join(f"{value:.1f}" for value in numpy.median(picked, axis=0))
            if picked
            else "none"
        )


def require_settings(chosen: Iterable[Stage]) -> None:
    for stage in chosen:
        server = Cluster(RUNNING, bindir(stage.binary))
        for name in stage.measured:
            if not server.has_setting(name):
                raise BenchError(
                    f'the server has no setting "{name}", which stage "{stage.name}" needs, run "make server"'
                )


def start_loaded(name: str, stage: Stage, options: Common, stack: ExitStack) -> Cluster:
    """Return a server with the stage's tables, which is removed at the end."""
    cluster = Cluster(name, bindir(stage.binary))
    cluster.remove()
    stack.callback(quietly, cluster.remove)
    cluster.start(LOAD_SETTINGS)
    with progress() as bars:
        load(cluster, DATABASE, stage, options.warehouses, options.scale, options.seed, bars)
    return cluster


def limit(
    options: Common, memory: int, cluster: Cluster, stack: ExitStack
) -> cgroup.ControlGroup | None:
    """Evict the server's files, and return a control group for it; None without limits."""
    if options.unlimited:
        return None
    cgroup.evict(cluster.data)
    group = cgroup.create(memory, options.iops, CLUSTERS)
    if group:
        stack.callback(group.remove)
    return group


def limits_of(group: cgroup.ControlGroup | None) -> str:
    """Return the limits, for the environment of a result."""
    return group.describe() if group else "none"


def wal_fallback(cluster: Cluster, stage: Stage) -> str | None:
    """Return why a stage that asks for direct I/O for WAL does not get it; None if all is right."""
    if stage.measured.get(MODE, "off") == "off":
        return None
    reason = reason_of_fallback(Path(cluster.log))
    if reason:
        cgroup.note(f'WAL is not written with direct I/O in stage "{stage.name}": {reason}')
    return reason


def run_of(sample: dict) -> tuple[str, int, str]:
    return sample["setting"], sample["round"], sample["stage"]


def killed(sample: Mapping[str, object]) -> bool:
    """Return true if the run's server was killed for want of memory: the run has no figures."""
    return bool(sample.get("killed"))


def maintained(sample: dict, kind: str) -> float | None:
    """Return how often something ran in the window; None if an older run did not count it."""
    if "maintenance" not in sample:
        return None
    count = sample["maintenance"][kind]
    return float(sum(count.values()) if isinstance(count, dict) else count)


def notpm(sample: dict) -> float:
    return sample["notpm"]


def reads(sample: dict) -> float:
    """Return the reads of the server's control group, or else of the whole disk.

    Without both, return the blocks that the server read.
    """
    counted = sample["per_new_order"]
    return counted.get("group_reads", counted.get("device_reads", counted["block_reads"]))


def wal(sample: dict) -> float:
    return sample["per_new_order"]["wal_bytes"]


def written(sample: dict) -> float:
    counted = sample["per_new_order"]
    return counted.get("device_write_bytes", counted["block_writes"] * 8192 + counted["wal_bytes"])


def interval_text(name: str, interval: dict[str, object] | None) -> str:
    if not interval:
        return "exact" if name.startswith("size.") else ""
    return f"{interval['low']:.3f} to {interval['high']:.3f} ({interval['interval']}, n = {interval['pairs']})"


def equal_memory(reached: Mapping[int, float], goal: float) -> float:
    """Return the memory that reaches the goal.

    Interpolate between the points of the sweep, and do not go beyond them.
    """
    points = list(reached.items())
    for number, (memory, value) in enumerate(points):
        if value >= goal:
            if number == 0:
                return float(memory)
            smaller, less = points[number - 1]
            return smaller + (goal - less) / (value - less) * (memory - smaller)
    return float(points[-1][0])


def run(options: Options, target: Path | None) -> None:
    result = Result("tpcc", options.seed, options.quick)
    if options.extend and not options.stage_names:
        options = replace(options, stage_names=stages_of(options.extend, result.study))
    if options.curve_of:
        options = replace(options, curve=minutes_of(options.curve_of, result.study))
    chosen = stages(options.stage_names, options.variants)
    result.describe(
        warehouses=options.warehouses,
        clients=options.clients,
        pairs=options.pairs,
        warmup=options.warmup,
        measured=options.seconds,
        memory_limit=options.memory,
        read_iops=options.iops,
        shared_buffers=BEST if options.best_only else options.shared_buffers,
        curve=options.curve,
        think=options.think,
        lite=options.lite,
        stages=", ".join(stage.name for stage in chosen),
        variants=", ".join(options.variants) or "none",
        direct=options.direct,
    )
    with session() as stack:
        study = Study(options, stack, result)
        stack.callback(quietly, lambda: Cluster(RUNNING, bindir("dense")).remove())
        quietly(Cluster(RUNNING, bindir("dense")).remove)
        study.resume()
        study.load_all()
        study.measure_all()
        if len(study.stages) > 1:
            study.size_metrics()
            study.speed_metrics()
        study.show()
    result.save(target)
    study.unfinished.remove()


def tpcc_server(command: Callable) -> Callable:
    """Add the options of the studies of TPC-C under a memory limit."""
    for option in (
        click.option("--shared-buffers", default="270MB", show_default=True, metavar="SIZE"),
        click.option("--unlimited", is_flag=True, help="Set no memory limit and no read throttle."),
        click.option(
            "--iops",
            type=click.IntRange(1),
            default=1500,
            show_default=True,
            help="Limit for the reads of the server, per second.",
        ),
        click.option(
            "--memory",
            type=click.IntRange(64),
            default=400,
            show_default=True,
            metavar="MB",
            help="Limit for the server and its page cache.",
        ),
        click.option("--clients", type=click.IntRange(1), default=8, show_default=True),
        click.option(
            "--warehouses", type=click.IntRange(1), help="Default: 10, or 2 with --quick."
        ),
        lite,
        common,
    ):
        command = option(command)
    return command


@click.command("tpcc", short_help="Throughput, latency, I/O and size of TPC-C.")
@tpcc_server
@click.option(
    "--pairs", type=click.IntRange(1), help="Runs of each stage; default: 3, or 1 with --quick."
)
@click.option(
    "--warmup", type=click.FloatRange(0), metavar="SECONDS", help="Default: 120, or 5 with --quick."
)
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    help="Seconds to measure; default: 180, or 20 with --quick.",
)
@click.option(
    "--sweep",
    is_flag=True,
    help="Also run with shared_buffers of 128MB, and with a memory limit of 250, 400, 550 and 700 MB, two thirds of it as shared_buffers.",
)
@click.option(
    "--sweep-pairs",
    type=click.IntRange(1),
    help="Runs of each stage in the sweep; default: as --pairs.",
)
@click.option(
    "--best",
    is_flag=True,
    help="Also compare the first and the last stage, each with its best shared_buffers of 128, 200, 270, 300 and 320 MB. The runs that find the best size have at most 120 seconds of warmup, and measure at most 180 seconds.",
)
@click.option(
    "--best-only",
    is_flag=True,
    help="As --best, but leave out the runs with --shared-buffers.",
)
@click.option(
    "--curve",
    type=click.FloatRange(0),
    default=0,
    metavar="MINUTES",
    help="Also make one run of this length of the first and of the last stage, measured from the beginning; default: none.",
)
@click.option(
    "--pairs-of",
    multiple=True,
    metavar="NAME",
    help="Stage that runs as often as --pairs says, while the others run once; default: all; repeatable.",
)
@click.option(
    "--stage",
    "stage_names",
    multiple=True,
    metavar="NAME",
    help="Compare only this stage; default: all, or those of the file with --extend; repeatable.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME",
    help="Change the schema of all stages: dbt2-key, sentinel, numeric-money, wide-customers; repeatable.",
)
@click.option(
    "--think", is_flag=True, help="Use the keying and think times of the TPC-C specification."
)
@click.option(
    "--direct",
    is_flag=True,
    help="Use direct I/O for tables and indexes too, so that they do not use the page cache.",
)
@click.option(
    "--fresh", is_flag=True, help="Also repeat the runs that an interrupted study has finished."
)
@click.option(
    "--extend",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take over the runs of this result, which must have the same options, and add missing pairs and the sweep.",
)
@click.option(
    "--curve-of",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take over the long runs of this result and its --curve; its window and its other stages may differ.",
)
def command(target: Path | None, quick: bool, **options) -> None:
    """Throughput, latency, I/O and size of DBT-2-style TPC-C, stage by stage."""
    options["best"] |= options["best_only"]
    fill_in(
        options, quick, warehouses=(10, 2), pairs=(3, 1), warmup=(120.0, 5.0), seconds=(180.0, 20.0)
    )
    run(Options(quick=quick, **options), target)
