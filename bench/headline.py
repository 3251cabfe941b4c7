"""The first figures of the report and of README.md: TPC-C with little memory, stage by stage."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import picture, words
from bench.tpcc.stages import WHOLE

STUDY = "tpcc"
# The ratio of throughput if each server has its best settings, and the file that has it
BEST = "tpmc.best_settings"
BEST_FILE = f"{STUDY}-best"
TEXT_COPY = re.compile(
    r"compact_text\.copy\.(?!tpcc$|text$|order_line$|stock$|customer$)\w+$", re.ASCII
)
COLD_READ = re.compile(r"plain\.\w+\.read\.(cold|both)\.\w+\.on$", re.ASCII)
COLD_UPDATE = re.compile(r"plain\.\w+\.update\.(cold|both)\.\w+\.on$", re.ASCII)


@dataclass(frozen=True)
class Stage:
    """A stage of the whole stack, with all stages before it, relative to stock."""

    title: str
    ratio: float
    low: float
    high: float
    # What the stage costs
    price: str = ""
    own: bool = True

    @property
    def value(self) -> str:
        return f"{self.ratio:.2f}"


@dataclass(frozen=True)
class Headline:
    """What the first screen says and draws.

    The stages come from one result, and the figures of the message from another one.
    """

    message: str
    stages: Sequence[Stage]
    # The result of the stages, and the minutes of a run that it measured
    result: Mapping[str, Any]
    minutes: str
    sizes: Sequence[tuple[str, float, str]]

    @property
    def most(self) -> float:
        return max(stage.high for stage in self.stages)

    def svg(self) -> str:
        """Return the picture for README.md."""
        bars = [
            picture.Bar(
                stage.title,
                stage.ratio,
                stage.value,
                stage.own,
                f"price: {stage.price}" if stage.price else "",
                stage.low if stage.low < stage.high else None,
                stage.high if stage.low < stage.high else None,
            )
            for stage in self.stages
        ]
        groups = [
            picture.Group(
                "New-Orders a minute, relative to stock; each stage adds to those above it", bars
            )
        ]
        if self.sizes:
            groups.append(
                picture.Group(
                    "Database, freshly loaded",
                    [
                        picture.Bar(title, value, label, own=place > 0)
                        for place, (title, value, label) in enumerate(self.sizes)
                    ],
                )
            )
        return picture.svg(self.message, groups, self.foot())

    def foot(self) -> str:
        environment = self.result["environment"]
        runs = f", {environment['warehouses']} warehouses" if "warehouses" in environment else ""
        return f"bench/run tpcc{runs}, PostgreSQL {_version(self.result)}, {self.minutes}, {self.result['day']}"


def _version(result: Mapping[str, Any]) -> str:
    found = re.search(r"PostgreSQL ([\d.]+)", str(result["environment"]["server"]))
    return found[1] if found else ""


def _minutes(result: Mapping[str, Any]) -> str:
    environment = result["environment"]
    if not {"warmup", "measured"} <= environment.keys():
        return "one window of the run"
    begin, end = (
        seconds / 60
        for seconds in (environment["warmup"], environment["warmup"] + environment["measured"])
    )
    return f"minutes {begin:g} to {end:g} of a run"


def _span(results: Sequence[Mapping[str, Any]], study: str, pattern: re.Pattern[str]) -> str:
    """Return the smallest and the largest of the metrics of a study's usual result, or nothing."""
    for result in results:
        if result["title"] == study:
            found = [value for name, value in result["metrics"].items() if pattern.match(name)]
            if found:
                return f"{min(found):.1f} to {max(found):.1f} times"
    return ""


def _prices(results: Sequence[Mapping[str, Any]], ratios: Mapping[str, float]) -> Mapping[str, str]:
    copy = _span(results, "types-speed", TEXT_COPY)
    read = _span(results, "vertical-partition", COLD_READ)
    write = _span(results, "vertical-partition", COLD_UPDATE)
    before, after = (
        ratios.get(name) for name in ("vertical-partition-customer", "background-vacuum-customer")
    )
    vacuum = (
        f"{100 * (1 - after / before):.0f} % of the throughput here" if before and after else ""
    )
    return {
        "off": "the server has to be built with the patches",
        "wal-direct": "WAL files have to be read from the device",
        "compact-types": f"COPY of text takes {copy} as long" if copy else "COPY of text is slower",
        "index-alignment": "a stock server needs a REINDEX of such indexes",
        "vertical-partition-customer": f"CPU time on cold columns: reads {read}, writes {write}"
        if read and write
        else "statements on cold columns are slower",
        "background-vacuum-customer": "14 bytes of memory for each shared buffer"
        + (f"; {vacuum}" if vacuum and after < before else ""),
        "analyze-few-blocks": "no background vacuum; statistics of fewer blocks",
    }


def _interval(result: Mapping[str, Any], metric: str) -> tuple[float, float]:
    value = result["metrics"][metric]
    interval = result["intervals"].get(metric, {"low": value, "high": value})
    return float(interval["low"]), float(interval["high"])


def _stages(result: Mapping[str, Any]) -> list[str]:
    return [step.name for step in WHOLE[1:] if f"tpmc.{step.name}" in result["metrics"]]


def _sizes(result: Mapping[str, Any]) -> list[tuple[str, float, str]]:
    """Return the bytes of the database of the first and the last stage, as the study shows them."""
    for table in result["tables"]:
        for row in table["rows"] if table["name"] == "totals" else ():
            if row[0] == "database" and "size.database" in result["metrics"]:
                saved = 100 * (1 - result["metrics"]["size.database"])
                last = f"{row[-1].partition(' (')[0]}, {saved:.0f} % smaller"
                return [
                    ("stock PostgreSQL", 1.0, row[1]),
                    ("all features", result["metrics"]["size.database"], last),
                ]
    return []


def find(results: Sequence[Mapping[str, Any]]) -> Headline | None:
    """Return the headline of these results, or None if they do not have TPC-C.

    The usual result may have fewer stages than another one, in which case the stages come from the
    other one, and the figure of the usual result is one more bar.  If there is a result of servers
    with their best settings, it gives the message and the last bar instead.
    """
    usual = next((result for result in results if result["title"] == STUDY), None)
    if usual is None or "tpmc.all" not in usual["metrics"]:
        return None
    major = usual["environment"].get("major")
    alike = [
        result
        for result in results
        if result["study"] == STUDY
        and result["environment"].get("major", major) == major
        and str(result["environment"].get("stages", "stock")).startswith("stock")
    ]
    # The usual result is the first of those with the same number of stages.
    source = max([usual, *alike], key=lambda result: len(_stages(result)))
    best = next(
        (
            result
            for result in alike
            if result["title"] == f"{STUDY} ({BEST_FILE})" and BEST in result["metrics"]
        ),
        None,
    )
    names = _stages(source)
    ratios = {name: source["metrics"][f"tpmc.{name}"] for name in names}
    prices = _prices(results, ratios)
    stages = [Stage(words.added("stock"), 1.0, 1.0, 1.0, own=False)]
    for name in names:
        stages.append(
            Stage(
                words.added(name),
                ratios[name],
                *_interval(source, f"tpmc.{name}"),
                price=prices.get(name, ""),
            )
        )
    if best is not None:
        last = str(best["environment"].get("stages", "")).rpartition(", ")[2]
        stages.append(
            Stage(
                f"best settings, {_minutes(best)}",
                best["metrics"][BEST],
                *_interval(best, BEST),
                price=prices.get(last, ""),
            )
        )
    elif source is not usual or not names:
        title = "all of it" if source is usual else f"all of it, {_minutes(usual)}"
        stages.append(Stage(title, usual["metrics"]["tpmc.all"], *_interval(usual, "tpmc.all")))
    return Headline(
        _message(best or usual), stages, source, _minutes(source), _sizes(best or usual)
    )


def _message(result: Mapping[str, Any]) -> str:
    environment, metrics = result["environment"], result["metrics"]
    limited = str(environment.get("limits", "none")) != "none" and "memory_limit" in environment
    memory = (
        f"the same {environment['memory_limit']} MB of memory" if limited else "the same memory"
    )
    smaller = (
        f", and its database is {100 * (1 - metrics['size.database']):.0f} % smaller"
        if metrics.get("size.database", 1) < 1
        else ""
    )
    if BEST in metrics:
        return f"With {memory} and the best settings of each, pg_dense completes {metrics[BEST]:.2f} times as many New-Orders a minute as stock PostgreSQL{smaller}."
    return f"With {memory}, TPC-C completes {metrics['tpmc.all']:.2f} times as many New-Orders a minute as on stock PostgreSQL{smaller}."
