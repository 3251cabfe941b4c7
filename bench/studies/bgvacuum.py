"""Background vacuum by bgwriter: growth, reads, writes, WAL and decline over several autovacuum cycles."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy

from bench.bgvacuum import figures, load
from bench.bgvacuum.variants import DEFAULT, EXTENSION, ON, STOCK, Variant, parse, parse_settings, require
from bench.bgvacuum.workloads import Workload
from bench.bgvacuum.workloads import workloads as all_workloads
from bench.lib.bars import show_bars
from bench.lib.console import console
from bench.lib.result import Result
from bench.lib.server import Cluster, has_stock
from bench.lib.session import quietly, session
from bench.lib.statistics import interleave, paired_ratio, spread
from bench.tpcc.load import LOAD_SETTINGS

RUNNING = "bench-bgvacuum-run"
# Of stock; half of nothing is not worth a ratio.
LEAST_DECLINE = 0.02

# All that is not said here is at its default, in particular bgwriter's own settings.
SETTINGS = {
    "synchronous_commit": "off",
    "checkpoint_timeout": "30s",
    "max_wal_size": "16GB",
    "autovacuum_naptime": "1s",
    # As much faster than usual as the load is: a vacuum is to take a small part of the time between two of them.
    "autovacuum_vacuum_cost_delay": "0",
    "max_connections": "60",
    "jit": "off",
    # Found by the key, whatever the planner thinks of a table that grows.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    workloads: Sequence[Workload]
    variants: Sequence[Variant]
    pairs: int
    clients: int
    shared_buffers: str
    settings: Mapping[str, str]
    rate: float | None

    def variants_of(self, workload: Workload) -> Sequence[Variant]:
        """Of the usual ones, "off" is compared with the release where a run is short."""
        if self.variants is DEFAULT and workload.name != "uniform":
            return (STOCK, ON)
        return self.variants

    def pairs_of(self, workload: Workload) -> int:
        """TPC-C has a study of its own."""
        return (self.pairs + 1) // 2 if workload.name == "tpcc" else self.pairs


def choose(
    quick: bool,
    workloads: Sequence[str],
    variants: Sequence[str],
    settings: Sequence[str],
    pairs: int | None,
    cycles: int | None,
    batch: int,
    rows: int | None,
    warehouses: int | None,
    shared_buffers: str | None,
    **options,
) -> Options:
    chosen = [workload for workload in all_workloads(quick, rows, warehouses, batch) if not workloads or workload.name in workloads]
    if cycles:
        chosen = [replace(workload, cycles=cycles) for workload in chosen]
    return Options(
        quick=quick,
        workloads=chosen,
        variants=parse(variants) or (DEFAULT if has_stock() else DEFAULT[1:]),
        settings=parse_settings(settings),
        pairs=pairs or (1 if quick else 5),
        shared_buffers=shared_buffers or ("1MB" if quick else "32MB"),
        **options,
    )


class Study:
    def __init__(self, options: Options, stack: ExitStack, result: Result) -> None:
        self.options = options
        self.stack = stack
        self.result = result
        self.loaded: dict[str, Cluster] = {}

    def load(self, workload: Workload) -> Cluster:
        """One data directory for all variants: background vacuum changes no format."""
        if workload.database not in self.loaded:
            cluster = self.options.variants[0].cluster(f"bench-bgvacuum-{workload.database}")
            quietly(cluster.remove)
            self.stack.callback(quietly, cluster.remove)
            cluster.start(LOAD_SETTINGS)
            workload.load(cluster, self.options.seed)
            cluster.stop()
            self.loaded[workload.database] = cluster
        return self.loaded[workload.database]

    def measure(self, workload: Workload, number: int, variant: Variant) -> None:
        options = self.options
        self.load(workload).copy_to(RUNNING)
        cluster = variant.cluster(RUNNING)
        with ExitStack() as stack:
            stack.callback(quietly, cluster.remove)
            settings = {**SETTINGS, "shared_buffers": options.shared_buffers, **workload.settings}
            cluster.start({**settings, **options.settings, **variant.settings})
            with cluster.connect(workload.database) as connection:
                if "server" not in self.result.environment:
                    self.result.describe_server(connection)
                statistics_of_bgvacuum(connection)
            sample = load.run(cluster, workload, options.clients, options.rate, options.seed + number)
            with cluster.connect(workload.database) as connection:
                begin = time.monotonic()
                workload.check(connection, sample["cycles"], f"{variant.title}, {workload.name}")
                sample["check_seconds"] = time.monotonic() - begin
        self.result.samples.append(
            {"workload": workload.name, "variant": variant.name, "round": number, **sample}
        )
        console.print(f"{workload.name}, run {number + 1}, {variant.name}:\n    {figures.line(sample)}", soft_wrap=True)

    def values(self, workload: Workload, variant: Variant, pick: Callable[[dict[str, Any]], float]) -> list[float]:
        """In the order of the rounds."""
        return [
            pick(sample)
            for sample in sorted(self.result.samples, key=lambda sample: sample["round"])  # type: ignore[arg-type,return-value]
            if (sample["workload"], sample["variant"]) == (workload.name, variant.name)
        ]

    def of(self, workload: Workload) -> Sequence[Variant]:
        return self.options.variants_of(workload)

    def metric(self, workload: Workload, name: str, variant: Variant) -> str:
        """What is promised is so of the variant "on"; others have their name in that of the metric."""
        return f"{workload.name}.{name}" + ("" if variant.name == ON.name else f".{variant.name}")

    def show(self, workload: Workload) -> None:
        variants = self.of(workload)
        rows = []
        for figure in figures.FIGURES:
            values = [self.values(workload, variant, figure.pick) for variant in variants]
            cells = [middle_and_range(each, figure.digits) for each in values]
            ratios = []
            for variant, each in zip(variants[1:], values[1:]):
                name = self.metric(workload, figure.metric, variant)
                if figure.alone:
                    self.result.metrics[name] = spread(each)[0]
                elif figure.metric and min(values[0]) > 0:
                    ratio = paired_ratio(each, values[0], self.options.seed)
                    self.result.ratio(name, ratio)
                    ratios.append(str(ratio))
                    continue
                ratios.append("")
            rows.append([figure.title, *cells, *ratios])
        self.result.table(
            f"{workload.title}, {workload.cycles:,} times: median (smallest to largest); ratios with their interval",
            ["", *(variant.title for variant in variants), *(f"{variant.title}: ratio" for variant in variants[1:])],
            rows,
            workload.name,
        )
        self.show_slices(workload, variants)
        self.show_statistics(workload, variants)

    def show_slices(self, workload: Workload, variants: Sequence[Variant]) -> None:
        rows = []
        for title, name in (("pages of growth until", "growth_pages_by_slice"), ("operations a second in", "tps_by_slice")):
            for variant in variants:
                medians = numpy.median(self.values(workload, variant, lambda sample: sample[name]), axis=0)
                rows.append([f"{title}, {variant.title}", *(f"{value:,.0f}" for value in medians)])
        self.result.table(
            f"{workload.title}, by eighths of the run, medians",
            ["", *map(str, range(1, load.SLICES + 1))],
            rows,
            f"{workload.name}_slices",
        )

    def show_statistics(self, workload: Workload, variants: Sequence[Variant]) -> None:
        """pg_stat_bgvacuum, of the variants that have it."""
        prefix = f"{EXTENSION}."
        found: dict[str, dict[str, float]] = {}
        for variant in variants:
            counters = self.values(workload, variant, lambda sample: sample["counters"])
            for name in counters[0]:
                if name.startswith(prefix):
                    middle = float(numpy.median([counted.get(name, 0) for counted in counters]))
                    found.setdefault(name.removeprefix(prefix), {})[variant.name] = middle
        if found:
            having = [variant for variant in variants if any(variant.name in values for values in found.values())]
            self.result.table(
                f"{workload.title}: pg_stat_bgvacuum, medians",
                ["", *(variant.title for variant in having)],
                [[name, *(f"{values.get(variant.name, 0):,.0f}" for variant in having)] for name, values in found.items()],
                f"{workload.name}_statistics",
            )

    def pooled(self, variant: Variant) -> tuple[list[float], list[float]]:
        """Of all pairs of all workloads that the variant took part in: operations a second, and those of the first."""
        pairs: list[tuple[float, float]] = []
        for workload in self.options.workloads:
            variants = self.of(workload)
            if variant in variants[1:]:
                both = [self.values(workload, each, lambda sample: sample["tps"]) for each in (variant, variants[0])]
                pairs += zip(*both)
        return tuple(map(list, zip(*pairs)))  # type: ignore[return-value]

    def finish(self) -> None:
        for variant in self.options.variants[1:]:
            name = "tps" if variant.name == ON.name else f"tps.{variant.name}"
            both = self.pooled(variant)
            if both:
                self.result.ratio(name, paired_ratio(*both, self.options.seed))
        self.decline()
        show_bars(self.result, figures.BARS)

    def decline(self) -> None:
        """By how much less the last third of a run is slower than its first; nothing where stock's is not."""
        first: list[float] = []
        on: list[float] = []
        for workload in self.options.workloads:
            baseline, *others = self.of(workload)
            for variant in others:
                if variant.name == ON.name:
                    first += self.values(workload, baseline, figures.decline)
                    on += self.values(workload, variant, figures.decline)
        if on and float(numpy.median(first)) > LEAST_DECLINE:
            self.result.metrics["decline"] = float(numpy.median(on) / numpy.median(first))


def middle_and_range(values: Sequence[float], digits: int) -> str:
    middle, low, high = (f"{value:,.{digits}f}" for value in spread(values))
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def statistics_of_bgvacuum(connection) -> None:
    """The view, where the server has it."""
    query = "SELECT 1 FROM pg_available_extensions WHERE name = %s"
    if connection.execute(query, [EXTENSION]).fetchone():
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")


def run(options: Options, target: Path | None) -> None:
    require(options.variants)
    result = Result("bgvacuum", options.seed, options.quick)
    result.describe(
        workloads=", ".join(f"{workload.name} x {workload.cycles:,}" for workload in options.workloads),
        variants=", ".join(variant.name for variant in options.variants),
        pairs=options.pairs,
        clients=options.clients,
        rate=options.rate or "unlimited",
        shared_buffers=options.shared_buffers,
    )
    result.environment["settings of all"] = {**SETTINGS, **options.settings}
    result.environment["settings of workloads"] = {workload.name: workload.settings for workload in options.workloads}
    result.environment["settings of variants"] = {variant.name: variant.settings for variant in options.variants}
    with session() as stack:
        study = Study(options, stack, result)
        running = options.variants[0].cluster(RUNNING)
        quietly(running.remove)
        stack.callback(quietly, running.remove)
        for workload in options.workloads:
            for number, variant in interleave(options.variants_of(workload), options.pairs_of(workload)):
                study.measure(workload, number, variant)
            study.show(workload)
        study.finish()
    result.save(target)
