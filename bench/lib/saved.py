"""The saved results that the report shows, and their promises."""

import json
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.lib.result import FORMAT

ENVIRONMENT = ("date", "command", "revision", "cpu", "memory", "kernel", "seed", "server")


class Unusable(Exception):
    """A file is left out of the report; the message is the reason."""


@dataclass(frozen=True)
class Promise:
    """A promise in a table of a result.  Limit and metric are empty if the table does not tell."""

    claim: str
    metric: str
    measured: str
    limit: str
    verdict: str

    def numbers(self) -> tuple[float, ...]:
        return tuple(map(float, re.findall(r"-?\d+\.\d+", self.limit)))


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
    # Files without a format number are older, and have this format.
    if result.get("format", FORMAT) != FORMAT:
        raise Unusable(f"has format {result['format']}, which is not that of this version ({FORMAT}): run the study again")
    _require(result)
    moment = _moment(result["environment"]["date"])
    study, stem = result["study"], path.stem
    return {
        **result,
        "title": study if stem == study else f"{study} ({stem})",
        "anchor": re.sub(r"[^\w-]", "-", stem),
        "moment": f"{moment:%Y-%m-%d %H:%M} UTC",
        "day": f"{moment:%Y-%m-%d}",
        "command": _command(str(result["environment"]["command"])),
        "machine": machine(result["environment"]),
        "limits": limits if (limits := result["environment"].get("limits", "none")) != "none" else "",
        "promises": promises(result["tables"]),
    }


def _require(result: dict[str, Any]) -> None:
    """Raise Unusable if a file is incomplete.

    Another version wrote such a file, or somebody has edited it.
    """

    def number(value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

    def rows(value: Any) -> bool:
        return all(isinstance(row, list) and all(isinstance(cell, str) for cell in row) for row in value)

    def table(value: Any) -> bool:
        return all(
            (
                isinstance(value["title"], str),
                isinstance(value["columns"], list),
                rows([value["columns"], *value["rows"]]),
                all(len(row) == len(value["columns"]) for row in value["rows"]),
            )
        )

    checks = {
        "quick": lambda value: isinstance(value, bool),
        "environment": lambda value: all(name in value for name in ENVIRONMENT),
        "metrics": lambda value: all(map(number, value.values())),
        "intervals": lambda value: all(number(entry["low"]) and number(entry["high"]) for entry in value.values()),
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


def promises(tables: Sequence[dict[str, Any]]) -> list[Promise]:
    """Return the promises in the tables of a result.

    They are in the table "bars", and in tables of times and conversions with a column "bar" or
    "bars".
    """
    found = []
    above = ""
    for table in tables:
        columns = table["columns"]
        for row in table["rows"]:
            cells = dict(zip(columns, row))
            if table.get("name") == "bars" and {"ratio", "measured"} <= set(columns):
                limit = row[columns.index("measured") + 1]
                if columns[0] != "":
                    claim = f"bytes, {row[0]}"
                elif row[0].startswith("the same"):
                    # Name the row above, which does not always stand above this one in the report.
                    claim = above + row[0].removeprefix("the same").replace(", ", "; ", 1)
                else:
                    claim = above = row[0]
                found.append(Promise(claim, cells["ratio"], cells["measured"], _limit(limit), row[-1]))
            elif cells.get("bar"):
                limit, _, verdict = cells["bar"].partition(" ")
                measured = next((cell for column, cell in cells.items() if column.startswith("to ")), "")
                claim = re.sub(r" \((ms|µs)\)$", "", row[0])
                found.append(Promise(f"time, {claim}", "", measured, _limit(limit), verdict))
            else:
                for what, verdict in re.findall(r"([\w/]+) (met|missed)", cells.get("bars", "")):
                    measured = next((f"{cells[name]} {name}" for name in columns if name.startswith(what)), "")
                    found.append(Promise(f"{columns[0]} {row[0]}: {what}", "", measured, "", verdict))
    return found


def _limit(text: str) -> str:
    return f"at most {text}" if re.fullmatch(r"[\d.]+", text) else text


def measured(result: dict[str, Any], metric: str) -> str:
    value = f"{result['metrics'][metric]:.3f}"
    if metric in result["intervals"]:
        interval = result["intervals"][metric]
        value += f" ({interval['low']:.3f} to {interval['high']:.3f})"
    return value


def promise_of(result: dict[str, Any], metric: str) -> Promise | None:
    """Return the first promise for the metric.

    A table of times does not name its metrics: compare the figure.
    """
    value = measured(result, metric)
    return next(
        (
            promise
            for promise in result["promises"]
            if promise.metric == metric or (not promise.metric and promise.measured == value)
        ),
        None,
    )
