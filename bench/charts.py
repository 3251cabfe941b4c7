"""Charts of the report, as SVG.  The page sets their colours and their width."""

import html
import io
import itertools
import math
import os
import re
import statistics
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import words
from bench.lib.paths import work
from bench.studies.tpcc import CURVE, killed, notpm, reads

OWN, OTHER, MISSED = "#336791", "#888888", "#b3261e"
# CSS variables for the colours of a chart.  The page has a light and a dark set of them.  The
# colours from #1f77b4 on are matplotlib's default ones for lines.
COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--page)",
    OWN: "var(--own)",
    OTHER: "var(--other)",
    MISSED: "var(--missed)",
    "#1f77b4": "var(--series-1)",
    "#ff7f0e": "var(--series-2)",
    "#2ca02c": "var(--series-3)",
    "#d62728": "var(--series-4)",
    "#9467bd": "var(--series-5)",
    "#8c564b": "var(--series-6)",
}
MARKERS = "os^Dv*"

# A panel is as wide as the screen of a telephone.  There its text is 12 pixels high.
WIDTH, TEXT, MARGIN = 350, 12, 16


# The most panels side by side, and the least names in each of them
COLUMNS, ROWS = 4, 5

_numbers = itertools.count()


@dataclass(frozen=True)
class Panel:
    title: str
    svg: str


@dataclass(frozen=True)
class Chart:
    """Panels, side by side where the page has room.  The reader has to open a folded chart."""

    title: str
    panels: Sequence[Panel]
    folded: bool = False
    # The panels are parts of one drawing, without titles of their own.
    parts: bool = False

    @property
    def columns(self) -> int:
        """Return how many columns of the page the chart takes."""
        return min(COLUMNS, len(self.panels))


def prepare_matplotlib() -> None:
    os.environ.setdefault("MPLCONFIGDIR", str(work() / "matplotlib"))
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {
            "svg.fonttype": "none",
            "font.size": TEXT,
            "axes.titlesize": TEXT,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "legend.fontsize": TEXT,
        }
    )


def _figure(height: float, left: float = MARGIN, bottom: float = 22, top: float = 6):
    """Return an empty panel of the given height, and its axes.  Lengths are in points."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    figure = plt.figure(figsize=(WIDTH / 72, height / 72))
    inside = (
        left / WIDTH,
        bottom / height,
        (WIDTH - left - 2 * MARGIN) / WIDTH,
        (height - bottom - top) / height,
    )
    axes = figure.add_axes(inside)
    # Keep the tick labels short, so that they do not stick out at the left.
    for axis, places in ((axes.xaxis, 6), (axes.yaxis, 7)):
        axis.set_major_locator(MaxNLocator(places, steps=(1, 2, 5, 10)))
        axis.set_major_formatter(
            lambda value, _place: f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value:g}"
        )
    return figure, axes


def panel(figure, title: str) -> Panel:
    """Return a figure as SVG for a page with any number of panels.

    Its colours become variables of the page.  Its size, its style sheet and the ids of its groups
    are removed, and the other ids are unique.
    """
    import matplotlib
    import matplotlib.pyplot as plt

    text = io.StringIO()
    # Derive ids from a number: the same results give the same page, and no two panels share an id.
    with matplotlib.rc_context({"svg.hashsalt": str(next(_numbers))}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing, transparent=True)
    plt.close(figure)
    svg = text.getvalue()[text.getvalue().index("<svg") :].strip()
    svg = re.sub(
        r"<defs>\s*<style.*?</style>\s*</defs>|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL
    )
    svg = re.sub(r'(<g) id="[^"]*"', r"\1", svg)
    svg = re.sub(
        r'^<svg[^>]*? viewBox="([^"]*)"[^>]*>',
        rf'<svg viewBox="\1" role="img" aria-label="{html.escape(title)}">',
        svg,
    )
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"#[0-9a-f]{6}\b(?=[;\"])", lambda found: COLOURS.get(found[0], found[0]), svg)
    return Panel(title, re.sub(r"\s*\n\s*", "\n", svg.replace("xlink:href", "href")))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


# Letters in a line of a panel.  Points of such a line, and of the drawing below it.
LETTERS = 46
LINE, DRAWING = 16, 20


def _rows(names: Sequence[str], labels: Sequence[str]):
    """Return a panel with some lines for each name, its axes, and the middle of each drawing.

    The first lines have the name at the left and its label at the right.  The drawing is below
    them.  The unit of the y axis is a point.
    """
    figure_rows = []
    below = 0
    for name, label in zip(names, labels):
        text = textwrap.wrap(name, LETTERS - len(label) - 2) or [""]
        figure_rows.append((below, "\n".join(text), label))
        below += LINE * len(text) + DRAWING
    figure, axes = _figure(28 + below)
    middles = []
    for top, text, label in figure_rows:
        for place, align, said in ((0, "left", text), (1, "right", label)):
            axes.text(place, top, said, ha=align, va="top", transform=axes.get_yaxis_transform())
        middles.append(top + LINE * (text.count("\n") + 1) + 8)
    axes.set_ylim(below, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return figure, axes, middles


# Metrics without a chart.  Metrics with a unit are no ratios.  For groups of dozens of metrics, the
# tables are enough.
NOT_DRAWN = re.compile(
    r"_(ms|ns|gbs|ns_byte)\b|^numeric-money\.|^bytes_(images|write)\.|\.inserted$|\.bgwriter_share\b|bytes_per_record\b|^mix\.(?!mean$)|^plain\.|^threshold|^train\."
)

MORE_IS_BETTER = re.compile(r"\btp(mc|s)\b")


@dataclass(frozen=True)
class Limit:
    """The promised limits of a metric, as numbers, and whether the metric meets them."""

    values: tuple[float, ...]
    met: bool


def _ratios(
    result: Mapping[str, Any],
    names: Iterable[str],
    limits: Mapping[str, Limit],
    title: str,
    folded: bool,
) -> list[Chart]:
    """Draw each ratio as a bar with its interval, a line at 1, and marks at its promised limits."""
    values = {name: result["metrics"][name] for name in names}
    if not values:
        return []
    # All panels have the same scale.
    ends = [
        end
        for name, value in values.items()
        for end in (
            value,
            result["intervals"].get(name, {}).get("high", value),
            *(limits[name].values if name in limits else ()),
        )
    ]
    scale = min(0, *ends), max(1.1, 1.05 * max(ends))
    count = min(COLUMNS, math.ceil(len(values) / ROWS))
    rows = math.ceil(len(values) / count)
    chosen = list(values)
    panels = [
        _ratio_panel(
            result,
            {name: values[name] for name in chosen[begin : begin + rows]},
            limits,
            scale,
            f"{result['study']}: {title}" + (f", part {begin // rows + 1}" if count > 1 else ""),
        )
        for begin in range(0, len(chosen), rows)
    ]
    return [Chart(title, panels, folded, parts=True)]


def _ratio_panel(
    result: Mapping[str, Any],
    values: Mapping[str, float],
    limits: Mapping[str, Limit],
    scale: tuple[float, float],
    title: str,
) -> Panel:
    names = [words.metric(result, name) for name in values]
    figure, axes, middles = _rows(names, [f"{value:.3f}" for value in values.values()])
    for middle, (name, value) in zip(middles, values.items()):
        limit = limits.get(name)
        good = limit.met if limit else (value > 1) == bool(MORE_IS_BETTER.search(name))
        axes.barh(middle, value, color=OWN if good else MISSED if limit else OTHER, height=11)
        if name in result["intervals"]:
            interval = result["intervals"][name]
            axes.plot(
                [interval["low"], interval["high"]], [middle] * 2, color="black", linewidth=1.5
            )
        for place in limit.values if limit else ():
            axes.plot([place, place], [middle - 7, middle + 7], color="black", linewidth=3)
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set_xlim(*scale)
    return panel(figure, title)


def ratio_charts(result: Mapping[str, Any], limits: Mapping[str, Limit]) -> list[Chart]:
    drawn = [name for name in result["metrics"] if not NOT_DRAWN.search(name)]
    promised = [name for name in drawn if name in limits]
    others = [name for name in drawn if name not in limits]
    marks = "ratios with a promise (1 is stock, or what the name says); thick marks: promised limits; lines: intervals"
    rest = f"{len(others)} {'other ' if promised else ''}ratios; lines: intervals"
    return _ratios(result, promised, limits, marks, False) + _ratios(
        result, others, limits, rest, len(others) > 12
    )


def _bars(
    title: str,
    names: Sequence[str],
    values: Mapping[str, float],
    own: Callable[[str], bool],
    missing: str,
) -> Panel:
    """Draw a bar with its value for each name.  Write `missing` for a name without a value."""
    figure, axes = _figure(28 + 18 * len(names), left=7.4 * max(map(len, names)) + MARGIN)
    numbers = [values.get(name, 0) for name in names]
    axes.barh(
        range(len(names)),
        numbers,
        color=[OWN if own(name) else OTHER for name in names],
        height=0.7,
    )
    for place, name in enumerate(names):
        axes.text(
            values.get(name, 0),
            place,
            f" {values[name]:.3g}" if name in values else f" {missing}",
            va="center",
        )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max(*numbers, 0) * 1.3 or 1)
    axes.locator_params(axis="x", nbins=4)
    return panel(figure, title)


def _dots(title: str, groups: Mapping[str, Sequence[float]], digits: int) -> Panel:
    """Draw each run as a dot, and a line from the smallest to the largest.  Write the median."""
    medians = {name: statistics.median(values) for name, values in groups.items()}
    figure, axes, middles = _rows(
        list(groups), [f"{value:,.{digits}f}" for value in medians.values()]
    )
    for middle, values in zip(middles, groups.values()):
        axes.plot([min(values), max(values)], [middle] * 2, color="black", linewidth=1.5)
        axes.plot(values, [middle] * len(values), "o", color=OWN, alpha=0.8)
    axes.set_xlim(0, max(map(max, groups.values())) * 1.05 or 1)
    return panel(figure, title)


def _lines(title: str, series: Mapping[str, Mapping[float, Sequence[float]]], below: str) -> Panel:
    """Draw a line of medians for each name, over a band from its smallest to its largest run."""
    figure, axes = _figure(
        240 + 16 * len(series), left=52, bottom=44, top=16 * len(series) + MARGIN
    )
    for number, (name, points) in enumerate(series.items()):
        places = sorted(points)
        medians = [statistics.median(points[place]) for place in places]
        (line,) = axes.plot(
            places, medians, MARKERS[number % len(MARKERS)] + "-", markersize=5, label=name
        )
        low, high = [min(points[place]) for place in places], [
            max(points[place]) for place in places
        ]
        axes.fill_between(places, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    axes.set_xlabel(below)
    figure.legend(loc="upper left", ncols=1, borderpad=0, labelspacing=0.2)
    return panel(figure, title)


BY_STAGE = (
    ("New-Orders a minute", notpm, 0),
    ("device reads per New-Order", reads, 2),
    ("WAL, kB per New-Order", lambda sample: sample["per_new_order"]["wal_bytes"] / 1000, 1),
    (
        "decline: last third of the run to its first",
        lambda sample: sample["last_third_to_first"] or 0.0,
        2,
    ),
)


# The settings with a chart over the run, and its title
SERIES = {"": "New-Orders a minute over the run", CURVE: "New-Orders a minute over a long run"}


def tpcc_charts(result: Mapping[str, Any]) -> list[Chart]:
    """Draw the stages side by side, in a chart for each memory setting.

    Draw the course of the runs, and the sweep over several memory sizes, as lines.
    """
    by_setting: dict[str, dict[str, list[dict]]] = {}
    sweep: dict[str, dict[float, list[float]]] = {}
    over: dict[str, dict[str, dict[float, list[float]]]] = {}
    for sample in result["samples"]:
        if killed(sample):
            continue
        for part in sample.get("series", ()) if sample["setting"] in SERIES else ():
            pace = part["new_orders"] / (part["end"] - part["begin"]) * 60
            place = round((part["begin"] + part["end"]) / 120, 1)
            over.setdefault(sample["setting"], {}).setdefault(
                words.stage(sample["stage"]), {}
            ).setdefault(place, []).append(pace)
        if sample["setting"] == CURVE:
            continue
        if sample["setting"] == f"memory{sample['memory']}":
            sweep.setdefault(words.stage(sample["stage"]), {}).setdefault(
                sample["memory"], []
            ).append(notpm(sample))
        else:
            by_setting.setdefault(sample["setting"], {}).setdefault(sample["stage"], []).append(
                sample
            )
    charts = []
    for stages in by_setting.values():
        runs = [sample for samples in stages.values() for sample in samples]
        sizes = {sample["shared_buffers"] for sample in runs}
        buffers = sizes.pop() if len(sizes) == 1 else "at its best"
        memory = f"{runs[0]['memory']} MB, shared_buffers {buffers}"
        panels = [
            _dots(
                f"{title} ({memory})",
                {
                    words.stage(stage): [pick(sample) for sample in samples]
                    for stage, samples in stages.items()
                },
                digits,
            )
            for title, pick, digits in BY_STAGE
        ]
        charts.append(
            Chart(
                f"stages at {memory}; dots: runs; lines: smallest to largest; numbers: medians",
                panels,
            )
        )
    if over:
        panels = [
            _lines(SERIES[setting], stages, "minutes since the load began")
            for setting, stages in over.items()
        ]
        charts.append(
            Chart(
                "New-Orders a minute over the run; lines: medians; bands: smallest to largest run",
                panels,
            )
        )
    if sweep:
        lines = _lines(
            "New-Orders a minute by memory, MB", sweep, "MB for the server and its page cache"
        )
        charts.append(
            Chart(
                "New-Orders a minute by memory, two thirds of it shared_buffers; lines: medians; bands: smallest to largest run",
                [lines],
            )
        )
    return charts


def _toast_numbers(samples: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return medians by panel, quantity and variant: stored to raw bytes, microseconds a value."""
    numbers: dict[str, dict[str, dict[str, list[float]]]] = {}
    for sample in samples:
        if sample["test"] == "size":
            what, value = "stored / raw bytes", (sample["heap"] + sample["toast"]) / sample["raw"]
        elif "seconds" in sample:
            what = "INSERT, µs" if sample["test"] == "insert" else "read, µs"
            value = sample["seconds"] * 1e6 / sample["rows"] / sample["passes"]
        else:
            continue
        numbers.setdefault(sample["panel"], {}).setdefault(what, {}).setdefault(
            sample["type"], []
        ).append(value)
    return {
        name: {
            what: {variant: statistics.median(values) for variant, values in drawn[what].items()}
            for what in ("stored / raw bytes", "INSERT, µs", "read, µs")
            if what in drawn
        }
        for name, drawn in numbers.items()
    }


def toast_charts(result: Mapping[str, Any]) -> list[Chart]:
    """Draw, for each kind or size of values, a bar for each way to store them.

    A way that raises an error has no bar.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for sample in result["samples"]:
        if "panel" in sample:
            groups.setdefault(sample["group"], []).append(sample)
    charts = []
    for group, samples in groups.items():
        variants = list(dict.fromkeys(sample["type"] for sample in samples))
        panels = [
            _bars(
                f"{group + ', ' if group else ''}{name}: {what}",
                variants,
                values,
                lambda variant: variant.startswith(("policy", "own", "core")),
                "error",
            )
            for name, drawn in _toast_numbers(samples).items()
            for what, values in drawn.items()
        ]
        charts.append(
            Chart(
                f"{group + ' values: ' if group else ''}size, INSERT and read by storage method; medians",
                panels,
            )
        )
    return charts


def slices_charts(result: Mapping[str, Any]) -> list[Chart]:
    """Draw growth and speed over the run, with a line for each variant."""
    # Samples of the DROP study, and of runs that switch background vacuum, have no slices.
    samples = [sample for sample in result["samples"] if "tps_by_slice" in sample]
    panels = []
    for workload in dict.fromkeys(sample["workload"] for sample in samples):
        for title, name in (
            ("growth, pages", "growth_pages_by_slice"),
            ("operations a second", "tps_by_slice"),
        ):
            series: dict[str, dict[float, list[float]]] = {}
            for sample in samples:
                if sample["workload"] == workload:
                    for number, value in enumerate(sample[name], start=1):
                        series.setdefault(words.variant(sample["variant"]), {}).setdefault(
                            number, []
                        ).append(value)
            panels.append(_lines(f"{workload}: {title}", series, "eighth of the run"))
    return (
        [
            Chart(
                "growth and speed over the run; lines: medians; bands: smallest to largest run",
                panels,
            )
        ]
        if panels
        else []
    )


def statements_charts(result: Mapping[str, Any]) -> list[Chart]:
    """Draw the time of each statement: a bar for each variant, medians of the runs."""
    times: dict[str, dict[str, list[float]]] = {}
    for sample in result["samples"]:
        if "seconds" in sample:
            times.setdefault(sample["test"], {}).setdefault(sample["type"], []).append(
                sample["seconds"] * 1e6
            )
    panels = []
    for statement, variants in times.items():
        medians = {
            words.variant(name): statistics.median(values) for name, values in variants.items()
        }
        panels.append(
            _bars(
                f"{statement.replace('.', ', ')}, µs",
                list(medians),
                medians,
                lambda name: name.endswith(", rewrite on"),
                "none",
            )
        )
    return [Chart("time of each statement by variant; medians", panels)] if panels else []


def fillfactor_charts(result: Mapping[str, Any]) -> list[Chart]:
    """Draw the share of HOT updates over the run, and the order of a clustered table by updates."""
    hot: dict[str, dict[float, list[float]]] = {}
    order: dict[str, dict[float, list[float]]] = {}
    runs = [sample for sample in result["samples"] if sample["test"] == "hot"]
    for sample in runs:
        if sample["length"] == runs[0]["length"]:
            points = hot.setdefault(
                _cut(f"fillfactor {sample['fillfactor']}, {sample['title']}", 44), {}
            )
            for number, share in enumerate(sample["hot_by_slice"], start=1):
                points.setdefault(number, []).append(share)
    for sample in result["samples"]:
        if sample["test"] == "correlation":
            points = order.setdefault(f"fillfactor {sample['fillfactor']}", {})
            for updates, correlation in zip(sample["updates"], sample["correlation"]):
                points.setdefault(updates, []).append(correlation)
    drawn = (
        ("share of updates that are HOT", hot, "eighth of the run"),
        ("correlation of the key", order, "updates"),
    )
    panels = [_lines(title, series, below) for title, series, below in drawn if series]
    return (
        [Chart("HOT updates over the run, and correlation of the key of a clustered table", panels)]
        if panels
        else []
    )


def charts(result: Mapping[str, Any], limits: Mapping[str, Limit]) -> list[Chart]:
    drawn = ratio_charts(result, limits)
    if result["study"] == "tpcc":
        drawn = tpcc_charts(result) + drawn
    if result["study"] == "bgvacuum":
        drawn += slices_charts(result)
    if result["study"] == "vertical-partition":
        drawn += statements_charts(result)
    if result["study"] == "fillfactor":
        drawn += fillfactor_charts(result)
    if result["study"].startswith("toast-"):
        drawn += toast_charts(result)
    return drawn
