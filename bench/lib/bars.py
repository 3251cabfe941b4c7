"""Bars: the limits that the project promises for its metrics."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.lib.result import Result

AT_MOST, AT_LEAST, BETWEEN = "at most", "at least", "between"
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Bar:
    """A promise for a metric: its title in the table, and the highest and the lowest ratio."""

    metric: str
    title: str
    most: float = math.inf
    # The bar is met if the interval reaches it.
    within: bool = False
    least: float = -math.inf
    # The bar is a goal, not a promise.
    goal: bool = False
    # The promise in full, if the title needs the row above it in the table.
    claim: str = ""

    def met(self, result: Result) -> bool:
        low = high = result.metrics[self.metric]
        if self.within and self.metric in result.intervals:
            interval = result.intervals[self.metric]
            low, high = float(interval["low"]), float(interval["high"])  # type: ignore[arg-type]
        # Comparing numbers of numpy gives booleans that json cannot write.
        return bool(low <= self.most and high >= self.least)

    def limits(self) -> str:
        if self.least == -math.inf:
            return f"{self.most:.3f}"
        if self.most == math.inf:
            return f"at least {self.least:.3f}"
        return f"{self.least:.3f} to {self.most:.3f}"

    def entry(self, result: Result) -> dict[str, Any]:
        """Return the bar as the result keeps it.

        Value and verdict are None if the metric was not measured.
        """
        there = self.metric in result.metrics
        interval = result.intervals.get(self.metric)
        direction = (
            AT_MOST if self.least == -math.inf else AT_LEAST if self.most == math.inf else BETWEEN
        )
        return {
            "metric": self.metric,
            "claim": self.claim or self.title,
            "direction": direction,
            "limit": [limit for limit in (self.least, self.most) if math.isfinite(limit)],
            "goal": self.goal,
            "value": result.metrics[self.metric] if there else None,
            "interval": [interval["low"], interval["high"]] if there and interval else None,
            "kept": self.met(result) if there else None,
        }


def shown(value: float, interval: Sequence[float] | None) -> str:
    return f"{value:.3f}" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")


def verdict(entry: Mapping[str, Any]) -> str:
    if entry["kept"] is None:
        return NOT_MEASURED
    if entry["kept"]:
        return "met"
    return "missed (a goal)" if entry["goal"] else "missed"


def show_bars(result: Result, bars: Sequence[Bar]) -> None:
    """Add the bars whose metrics were measured to the result, and show them."""
    upper = all(bar.least == -math.inf for bar in bars)
    # Without titles, the metrics name the rows.
    columns = ["promise"] if any(bar.title for bar in bars) else []
    rows = []
    for bar in bars:
        if bar.metric in result.metrics:
            entry = bar.entry(result)
            result.bars.append(entry)
            title = [bar.title] if columns else []
            rows.append(
                [
                    *title,
                    bar.metric,
                    shown(entry["value"], entry["interval"]),
                    bar.limits(),
                    verdict(entry),
                ]
            )
    columns += ["metric", "measured", "at most" if upper else "limit", "kept?"]
    result.table("What the project promises", columns, rows, "bars")
