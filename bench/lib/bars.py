"""Bars: the limits that the project promises for its metrics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.lib.result import Result


@dataclass(frozen=True)
class Bar:
    """A promise for a metric: its title, and the highest and the lowest ratio."""

    metric: str
    title: str
    most: float = math.inf
    # The bar is met if the interval reaches it.
    within: bool = False
    least: float = -math.inf
    # The bar is a goal, not a promise.
    goal: bool = False

    def met(self, result: Result) -> bool:
        low = high = result.metrics[self.metric]
        if self.within and self.metric in result.intervals:
            interval = result.intervals[self.metric]
            low, high = float(interval["low"]), float(interval["high"])  # type: ignore[arg-type]
        return low <= self.most and high >= self.least

    def limits(self) -> str:
        if self.least == -math.inf:
            return f"{self.most:.3f}"
        if self.most == math.inf:
            return f"at least {self.least:.3f}"
        return f"{self.least:.3f} to {self.most:.3f}"

    def verdict(self, result: Result) -> str:
        if self.met(result):
            return "met"
        return "missed (a goal)" if self.goal else "missed"

    def row(self, result: Result) -> list[object]:
        value = f"{result.metrics[self.metric]:.3f}"
        if self.metric in result.intervals:
            interval = result.intervals[self.metric]
            value += f" ({interval['low']:.3f} to {interval['high']:.3f})"
        return [self.title, self.metric, value, self.limits(), self.verdict(result)]


def show_bars(result: Result, bars: Sequence[Bar]) -> None:
    upper = all(bar.least == -math.inf for bar in bars)
    result.table(
        "What the project promises",
        ["", "ratio", "measured", "at most" if upper else "bar", ""],
        [bar.row(result) for bar in bars if bar.metric in result.metrics],
        "bars",
    )
