"""The saved results that the report shows, and their promises."""

import json
import math
import re
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import words
from bench.lib import bars
from bench.lib.result import FORMAT

ENVIRONMENT = ("date", "command", "revision", "cpu", "memory", "kernel", "seed", "server")


class Unusable(Exception):
    """A file is left out of the report; the message is the reason."""


@dataclass(frozen=True)
class Promise:
    """A bar of a result, with texts for the report."""

    claim: str
    metric: str
    measured: str
    limit: str
    verdict: str
    limits: tuple[float, ...]


def read_result(path: Path) -> dict[str, Any]:
    """Return the content of a file, with texts for the report.  Raise Unusable if that fails."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unusable(f"could not be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Unusable(f"is not a result of bench/run: {error}") from error
    if not isinstance(result, dict) or not isinstance(result.get("study"), str):
        raise Unusable("is not a result of bench/run: it names no study")
    # The first files had no format number.
    if (number := result.get("format", 1)) != FORMAT:
        raise Unusable(
            f"has format {number}, which is not that of this version ({FORMAT}): run the study again"
        )
    _require(result)
    moment = _moment(result["environment"]["date"])
    study, stem = result["study"], path.stem
    return {
        **result,
        "title": study if stem == study else f"{study} ({stem})",
        "words": words.study(study, stem),
        "anchor": re.sub(r"[^\w-]", "-", stem),
        "moment": f"{moment:%Y-%m-%d %H:%M} UTC",
        "day": f"{moment:%Y-%m-%d}",
        "command": _command(str(result["environment"]["command"])),
        "machine": machine(result["environment"]),
        "limits": limits
        if (limits := result["environment"].get("limits", "none")) != "none"
        else "",
        "promises": [_promise(result, bar) for bar in result["bars"]],
    }


def _require(result: dict[str, Any]) -> None:
    """Raise Unusable if a file is incomplete.

    Another version wrote such a file, or somebody has edited it.
    """

    def number(value: object) -> bool:
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        )

    def rows(value: Any) -> bool:
        return all(
            isinstance(row, list) and all(isinstance(cell, str) for cell in row) for row in value
        )

    def table(value: Any) -> bool:
        return all(
            (
                isinstance(value["title"], str),
                isinstance(value["columns"], list),
                rows([value["columns"], *value["rows"]]),
                all(len(row) == len(value["columns"]) for row in value["rows"]),
            )
        )

    def bar(value: Any) -> bool:
        return all(
            (
                isinstance(value["metric"], str),
                isinstance(value["claim"], str),
                value["direction"] in (bars.AT_MOST, bars.AT_LEAST, bars.BETWEEN),
                len(value["limit"]) == (2 if value["direction"] == bars.BETWEEN else 1),
                all(map(number, value["limit"])),
                isinstance(value["goal"], bool),
                value["value"] is None or number(value["value"]),
                value["interval"] is None
                or (len(value["interval"]) == 2 and all(map(number, value["interval"]))),
                value["kept"] is None
                if value["value"] is None
                else isinstance(value["kept"], bool),
            )
        )

    checks = {
        "quick": lambda value: isinstance(value, bool),
        "environment": lambda value: all(name in value for name in ENVIRONMENT),
        "metrics": lambda value: all(map(number, value.values())),
        "intervals": lambda value: all(
            number(entry["low"]) and number(entry["high"]) for entry in value.values()
        ),
        "bars": lambda value: all(map(bar, value)),
        "tables": lambda value: all(map(table, value)),
        "samples": lambda value: all(isinstance(sample, dict) for sample in value),
    }
    for name, check in checks.items():
        if name not in result:
            raise Unusable(f'is incomplete: it has no "{name}"')
        try:
            sound = check(result[name])
        except (KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise Unusable(f'is incomplete: "{name}" is not what this version writes')


def _moment(date: object) -> datetime:
    try:
        return datetime.fromisoformat(str(date)).astimezone(UTC)
    except ValueError as error:
        raise Unusable(f"is incomplete: {error}") from error


def _command(command: str) -> str:
    """Return the command without --json, because the place of the results does not change them."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if "--json" in words:
        place = words.index("--json")
        del words[place : place + 2]
    return shlex.join(words)


def machine(environment: dict[str, Any]) -> str:
    server = re.sub(r" on .*", "", str(environment["server"]))
    # Older results do not have these entries.
    processor = f" ({environment['processor']})" if "processor" in environment else ""
    device = f", device {environment['device']}" if "device" in environment else ""
    return f"{environment['cpu']}{processor}, {environment['memory']}, kernel {environment['kernel']}, {server}{device}"


def _promise(result: dict[str, Any], bar: dict[str, Any]) -> Promise:
    limits = " to ".join(f"{limit:.3f}" for limit in bar["limit"])
    return Promise(
        words.claim(result, bar),
        bar["metric"],
        bars.NOT_MEASURED if bar["value"] is None else bars.shown(bar["value"], bar["interval"]),
        limits if bar["direction"] == bars.BETWEEN else f"{bar['direction']} {limits}",
        bars.verdict(bar),
        tuple(bar["limit"]),
    )


def measured(result: dict[str, Any], metric: str) -> str:
    interval = result["intervals"].get(metric)
    return bars.shown(
        result["metrics"][metric], (interval["low"], interval["high"]) if interval else None
    )


def promise_of(result: dict[str, Any], metric: str) -> Promise | None:
    """Return the first promise for the metric: others are goals."""
    return next((promise for promise in result["promises"] if promise.metric == metric), None)
