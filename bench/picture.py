"""A picture of bars in an SVG file of its own, for documents and for the demo.

The picture has its own background, so that it is legible on a light and on a dark page.  The same
bars give the same bytes.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import jinja2

from bench.lib.paths import BENCH

# Lengths are in pixels.  All texts are in a font of the reader's machine, so leave room for a wide
# one: a letter takes up to LETTER pixels.
WIDTH, MARGIN, LETTER = 860, 16, 8.4
NAME = 290
ROW, BELOW, BAR, LINE = 26, 17, 16, 16


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    # The text at the end of the bar
    label: str
    own: bool = True
    # The text below the bar
    below: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Group:
    """Bars with a common scale."""

    title: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class _Text:
    x: int
    y: int
    text: str
    kind: str = ""


def _wrapped(text: str, pixels: float, letter: float = LETTER) -> list[str]:
    return textwrap.wrap(text, int(pixels / letter)) if text else []


def _places(bar: Bar, scale: float, top: int) -> dict[str, object]:
    left = MARGIN + NAME

    def along(value: float) -> float:
        return round(left + value * scale, 1)

    return {
        "own": bar.own,
        "x": left,
        "y": top + (ROW - BAR) // 2,
        "width": round(bar.value * scale, 1),
        "height": BAR,
        "low": None if bar.low is None else along(bar.low),
        "high": None if bar.high is None else along(bar.high),
        "middle": top + ROW // 2,
    }


def svg(title: str, groups: Sequence[Group], foot: str = "") -> str:
    """Return the picture as the text of an SVG file."""
    texts: list[_Text] = []
    bars: list[dict[str, object]] = []
    y = MARGIN
    for line in _wrapped(title, WIDTH - 2 * MARGIN, 1.2 * LETTER):
        y += 22
        texts.append(_Text(MARGIN, y, line, "title"))
    for group in groups:
        y += 30
        texts.append(_Text(MARGIN, y, group.title, "group"))
        y += 6
        most = max(max(bar.value, bar.high or 0) for bar in group.bars) or 1
        room = max(len(bar.label) for bar in group.bars) * LETTER + 8
        scale = (WIDTH - 2 * MARGIN - NAME - room) / most
        for bar in group.bars:
            place = _places(bar, scale, y)
            bars.append(place)
            texts.append(_Text(MARGIN, y + ROW - 8, bar.name))
            end = round(MARGIN + NAME + max(bar.value, bar.high or 0) * scale) + 8
            texts.append(_Text(end, y + ROW - 8, bar.label))
            y += ROW
            for line in _wrapped(bar.below, WIDTH - 2 * MARGIN - NAME, 0.8 * LETTER):
                texts.append(_Text(MARGIN + NAME, y + BELOW - 7, line, "small"))
                y += BELOW
    y += 10 if foot else 0
    for line in _wrapped(foot, WIDTH - 2 * MARGIN, 0.8 * LETTER):
        y += LINE
        texts.append(_Text(MARGIN, y, line, "small"))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(BENCH / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("bars.svg").render(
        title=title, width=WIDTH, height=y + MARGIN, texts=texts, bars=bars
    )
