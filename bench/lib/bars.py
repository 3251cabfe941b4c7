"""What the project promises of its metrics."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.lib.result import Result


@dataclass(frozen=True)
class Bar:
    """What the project promises of a metric: in what words, and the highest ratio."""

    metric: str
    title: str
    most: float
    # For bars that are met when the interval reaches them.
    within: bool = False

    def met(self, result: Result) -> bool:
        value = result.metrics[self.metric]
        if self.within and self.metric in result.intervals:
            value = float(result.intervals[self.metric]["low"])  # type: ignore[arg-type]
        return value <= self.most

    def row(self, result: Result) -> list[object]:
        value = f"{result.metrics[self.metric]:.3f}"
        if self.metric in result.intervals:
            interval = result.intervals[self.metric]
            value += f" ({interval['low']:.3f} to {interval['high']:.3f})"
        return [self.title, self.metric, value, f"{self.most:.3f}", "met" if self.met(result) else "missed"]


def show_bars(result: Result, bars: Sequence[Bar]) -> None:
    result.table(
        "What the project promises",
        ["", "ratio", "measured", "at most", ""],
        [bar.row(result) for bar in bars if bar.metric in result.metrics],
        "bars",
    )
