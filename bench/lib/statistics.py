"""Interleaving, and ratios of paired samples with an interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy

T = TypeVar("T")


def interleave(variants: Sequence[T], rounds: int) -> Iterator[tuple[int, T]]:
    """Yield round and variant in the order A B, B A, A B, ...

    A drift of the machine then affects all variants alike.  With three or more variants, the order
    is A B C, B C A, C A B, C B A, B A C, A C B, ...  Then no variant follows itself.  Otherwise
    some variants would find their own data in the caches, and others never would.
    """
    count = len(variants)
    for number in range(rounds):
        backward = number % 2 if count < 3 else number // count % 2
        order = list(reversed(variants)) if backward else list(variants)
        first = 0 if count < 3 else number % count
        for variant in order[first:] + order[:first]:
            yield number, variant


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios of pairs, with a 95 % bootstrap interval.

    With fewer than six pairs, the interval is the range.
    """

    median: float
    low: float
    high: float
    pairs: int
    interval: str

    def __str__(self) -> str:
        return f"{self.median:.3f} ({self.low:.3f} to {self.high:.3f})"


def paired_ratio(values: Sequence[float], baseline: Sequence[float], seed: int) -> Ratio:
    ratios = numpy.array(values, dtype=float) / numpy.array(baseline, dtype=float)
    if len(ratios) < 6:
        return Ratio(
            float(numpy.median(ratios)),
            float(ratios.min()),
            float(ratios.max()),
            len(ratios),
            "range",
        )
    generator = numpy.random.default_rng(seed)
    medians = numpy.median(generator.choice(ratios, size=(2000, len(ratios))), axis=1)
    low, high = numpy.percentile(medians, [2.5, 97.5])
    return Ratio(
        float(numpy.median(ratios)), float(low), float(high), len(ratios), "bootstrap 95 %"
    )


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return median, smallest and largest."""
    return float(numpy.median(values)), float(min(values)), float(max(values))


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return median, lower and upper quartile."""
    low, middle, high = numpy.percentile(values, [25, 50, 75])
    return float(middle), float(low), float(high)
