"""Tables and metrics of all runs: the variants of a workload, compared with the first variant."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from bench.bgvacuum import figures, load
from bench.bgvacuum.variants import EAGER, EXTENSION, ON, Variant
from bench.bgvacuum.workloads import Workload
from bench.lib.bars import show_bars
from bench.lib.result import Result
from bench.lib.statistics import paired_ratio, spread

# Least decline of stock for which a ratio of declines has a meaning
LEAST_DECLINE = 0.02


def of_variant(name: str, variant: Variant) -> str:
    """Return the name of a variant's metric.

    The promises are for the variant "on".  The metrics of other variants end in the variant's name.
    """
    return name if variant.name == ON.name else f"{name}.{variant.name}"


def growth_by_slice(sample: dict[str, Any]) -> list[float]:
    return sample["growth_pages_by_slice"]


def tps_by_slice(sample: dict[str, Any]) -> list[float]:
    return sample["tps_by_slice"]


def middle_and_range(values: Sequence[float], digits: int) -> str:
    middle, low, high = (f"{value:,.{digits}f}" for value in spread(values))
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


class Summary:
    """The summary of all runs.

    compared has the variants of each workload, by its name.  The first variant is the one with
    which the others are compared.
    """

    def __init__(self, result: Result, compared: Mapping[str, Sequence[Variant]]) -> None:
        self.result = result
        self.compared = compared

    def values(
        self, workload: str, variant: Variant, pick: Callable[[dict[str, Any]], Any]
    ) -> list[Any]:
        """Return a value of each run, in the order of the rounds."""
        return [
            pick(sample)
            for sample in self.result.samples
            if (sample["workload"], sample["variant"]) == (workload, variant.name)
        ]

    def show(self, workload: Workload) -> None:
        variants = self.compared[workload.name]
        rows = []
        for figure in figures.FIGURES:
            if figure.workloads and workload.name not in figure.workloads:
                continue
            values = [self.values(workload.name, variant, figure.pick) for variant in variants]
            cells = [middle_and_range(each, figure.digits) for each in values]
            ratios = []
            for variant, each in zip(variants[1:], values[1:]):
                if variant.name == EAGER.name:
                    ratios.append("")
                    continue
                name = of_variant(f"{workload.name}.{figure.metric}", variant)
                if figure.alone:
                    self.result.metrics[name] = spread(each)[0]
                elif figure.metric and min(values[0]) > 0:
                    ratio = paired_ratio(each, values[0], self.result.seed)
                    self.result.ratio(name, ratio)
                    ratios.append(str(ratio))
                    continue
                ratios.append("")
            rows.append([figure.title, *cells, *ratios])
        self.result.table(
            f"{workload.title}, {workload.cycles:,} times: median (smallest to largest); ratios with their interval",
            [
                "",
                *(variant.title for variant in variants),
                *(f"{variant.title}: ratio" for variant in variants[1:]),
            ],
            rows,
            workload.name,
        )
        self.compare_eager(workload, variants)
        self.quality(workload, variants)
        self.show_slices(workload, variants)
        self.show_statistics(workload, variants)

    def compare_eager(self, workload: Workload, variants: Sequence[Variant]) -> None:
        """Add the ratio of the growth to that of a stock server that vacuums more often."""
        names = [variant.name for variant in variants]
        if EAGER.name in names and ON.name in names:
            on, eager = (
                self.values(workload.name, variant, figures.growth) for variant in (ON, EAGER)
            )
            if min(eager) > 0:
                self.result.ratio(
                    f"{workload.name}.growth.eager", paired_ratio(on, eager, self.result.seed)
                )

    def quality(self, workload: Workload, variants: Sequence[Variant]) -> None:
        """Add metrics of the variant "on".

        These are the bytes that a prune frees, the share of the offered pages that inserts use, and
        the loss of HOT updates.
        """
        baseline, *others = variants
        if ON.name not in [variant.name for variant in others]:
            return
        for name, pick in (
            ("bytes_per_record", figures.bytes_per_record),
            ("reused", figures.reused),
        ):
            found = [value for value in self.values(workload.name, ON, pick) if value is not None]
            if found:
                self.result.metrics[f"{workload.name}.{name}"] = spread(found)[0]
        if workload.name in figures.UPDATING:
            stock, on = (
                self.values(workload.name, variant, figures.hot_share) for variant in (baseline, ON)
            )
            lost = [before - after for before, after in zip(stock, on)]
            self.result.metrics[f"{workload.name}.hot_lost"] = spread(lost)[0]

    def show_slices(self, workload: Workload, variants: Sequence[Variant]) -> None:
        rows = []
        pages, speed = "growth in pages at the end", "operations a second"
        for title, pick in ((pages, growth_by_slice), (speed, tps_by_slice)):
            for variant in variants:
                medians = numpy.median(self.values(workload.name, variant, pick), axis=0)
                rows.append([f"{title}, {variant.title}", *(f"{value:,.0f}" for value in medians)])
        self.result.table(
            f"{workload.title}, by eighths of the run: medians",
            ["", *map(str, range(1, load.SLICES + 1))],
            rows,
            f"{workload.name}_slices",
        )

    def show_statistics(self, workload: Workload, variants: Sequence[Variant]) -> None:
        """Show pg_stat_bgvacuum of the variants that have it."""
        prefix = f"{EXTENSION}."
        found: dict[str, dict[str, float]] = {}
        for variant in variants:
            counters = self.values(workload.name, variant, lambda sample: sample["counters"])
            for name in counters[0]:
                if name.startswith(prefix):
                    middle = float(numpy.median([counted.get(name, 0) for counted in counters]))
                    found.setdefault(name.removeprefix(prefix), {})[variant.name] = middle
        if found:
            having = [
                variant
                for variant in variants
                if any(variant.name in values for values in found.values())
            ]
            self.result.table(
                f"{workload.title}: pg_stat_bgvacuum, medians",
                ["", *(variant.title for variant in having)],
                [
                    [name, *(f"{values.get(variant.name, 0):,.0f}" for variant in having)]
                    for name, values in found.items()
                ],
                f"{workload.name}_statistics",
            )

    def pooled(self, variant: Variant) -> tuple[list[float], list[float]]:
        """Return the operations a second of the variant, and of the first variant, of all pairs.

        The pairs are those of all workloads that the variant took part in.
        """
        pairs: list[tuple[float, float]] = []
        for workload, variants in self.compared.items():
            if variant in variants[1:] and variant.name != EAGER.name:
                both = [
                    self.values(workload, each, lambda sample: sample["tps"])
                    for each in (variant, variants[0])
                ]
                pairs += zip(*both)
        return tuple(map(list, zip(*pairs)))  # type: ignore[return-value]

    def finish(self) -> None:
        others = {
            variant.name: variant for variants in self.compared.values() for variant in variants[1:]
        }
        for variant in others.values():
            if variant.name == EAGER.name:
                continue
            self.result.ratio(
                of_variant("tps", variant), paired_ratio(*self.pooled(variant), self.result.seed)
            )
        self.decline()
        show_bars(self.result, figures.BARS)

    def decline(self) -> None:
        """Add the ratio of declines: that of the variant "on" to that of the first variant.

        A decline is the loss of speed from the first third of a run to the last.  Add nothing if
        the first variant has hardly any decline.
        """
        first: list[float] = []
        on: list[float] = []
        for workload, (baseline, *others) in self.compared.items():
            for variant in others:
                if variant.name == ON.name:
                    first += self.values(workload, baseline, figures.decline)
                    on += self.values(workload, variant, figures.decline)
        if on and float(numpy.median(first)) > LEAST_DECLINE:
            self.result.metrics["decline"] = float(numpy.median(on) / numpy.median(first))
