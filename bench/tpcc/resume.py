"""Runs of a study that was interrupted, or of one that is extended, which need not be repeated."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.lib.console import BenchError, note
from bench.lib.result import Result
from bench.lib.saved import Unusable, read_result

# Of the environment, what is only known when a server runs, and when it all began
KEPT = ("date", "server", "settings", "limits")

# Of the environment, what long runs that are taken over must not differ in from the others
SAME_LONG = (
    *("cpu", "seed", "warehouses", "clients", "memory_limit", "read_iops", "shared_buffers"),
    *("think", "lite", "variants", "direct"),
)

# ... and the runs of a result that is extended from those that are added
SAME = (*SAME_LONG, "warmup", "measured", "stages")


class Unfinished:
    """A file with the samples so far; the key tells runs that belong together from others."""

    def __init__(self, path: Path, key: Mapping[str, object]) -> None:
        self.path = path
        self.key = json.loads(json.dumps(key))

    def read(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Samples and environment; nothing if there is no such file, or one of other runs, which is said."""
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            key, samples = content["key"], content["samples"]
            environment = {name: content["environment"][name] for name in KEPT}
        except FileNotFoundError:
            return [], {}
        except (OSError, ValueError, KeyError, TypeError):
            note(
                f'the runs of an interrupted study in "{self.path}" cannot be read, all runs are made anew'
            )
            return [], {}
        others = [name for name in self.key if key.get(name) != self.key[name]]
        if others:
            note(f"an interrupted study differs in {', '.join(others)}, all runs are made anew")
            return [], {}
        note(
            f"{len(samples)} runs of an interrupted study are there, and not repeated (see --fresh)"
        )
        return samples, environment

    def write(self, samples: Sequence[Mapping[str, Any]], environment: Mapping[str, Any]) -> None:
        content = {
            "key": self.key,
            "environment": {name: environment.get(name) for name in KEPT},
            "samples": samples,
        }
        new = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps(content, default=str), encoding="utf-8")
            new.replace(self.path)
        except OSError as error:
            raise BenchError(f'could not write "{self.path}": {error.strerror}') from error

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _comparable(value: object) -> object:
    """Of a list in a string, the order makes no difference."""
    return sorted(value.split(", ")) if isinstance(value, str) else value


def _result(path: Path, study: str) -> dict[str, Any]:
    try:
        result = read_result(path)
    except Unusable as error:
        raise BenchError(f'"{path}" {error}') from error
    if result["study"] != study:
        raise BenchError(f'"{path}" is a result of {result["study"]}, not of {study}')
    return result


def stages_of(path: Path, study: str) -> tuple[str, ...]:
    """Names of the stages of a result of the study; an error if it is of another one."""
    return tuple(str(_result(path, study)["environment"].get("stages", "")).split(", "))


def minutes_of(path: Path, study: str) -> float:
    """How long the long runs of a result of the study are; an error if it is of another one, or has none."""
    if not (minutes := _result(path, study)["environment"].get("curve")):
        raise BenchError(f'"{path}" has no long runs')
    return float(minutes)


def described(environment: Mapping[str, Any], number: int) -> str:
    """Where so many runs are from."""
    text = f"{number} runs are of {environment['date']}, revision {environment['revision']}"
    return text + (f", of which {before}" if (before := environment.get("extended")) else "")


def earlier(
    path: Path, added_to: Result, same: Sequence[str] = SAME
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Samples and environment of a result of the same study with the same options; an error if it is another one."""
    result = _result(path, added_to.study)
    # Before there was --direct, no result named it.
    there = {"direct": False} | result["environment"] | {"quick": result["quick"]}
    # As a file has it
    here = json.loads(json.dumps(added_to.environment | {"quick": added_to.quick}, default=str))
    others = [
        name for name in ("quick", *same) if _comparable(there.get(name)) != _comparable(here[name])
    ]
    if others:
        raise BenchError(
            f'"{path}" differs in {", ".join(others)}, and cannot be extended by these runs'
        )
    return result["samples"], there
