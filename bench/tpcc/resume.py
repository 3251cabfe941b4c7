"""Take over runs that need not be repeated: of an interrupted study, or of one to extend."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.lib.console import BenchError, note
from bench.lib.result import Result
from bench.lib.saved import Unusable, read_result

# Entries of the environment that are known only when a server runs, and the date when the study
# began
KEPT = ("date", "server", "settings", "limits")

# Entries of the environment that must be the same for long runs that are taken over and for the
# other runs
SAME_LONG = (
    *("cpu", "seed", "warehouses", "clients", "memory_limit", "read_iops", "shared_buffers"),
    *("think", "lite", "variants", "direct"),
)

# Entries that must be the same for the runs of a result to extend and for the added runs
SAME = (*SAME_LONG, "warmup", "measured", "stages")


class Unfinished:
    """A file with the samples so far.  Only runs with the same key belong together."""

    def __init__(self, path: Path, key: Mapping[str, object]) -> None:
        self.path = path
        self.key = json.loads(json.dumps(key))

    def read(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return samples and environment, or nothing.

        There is nothing if the file does not exist, or has another key.  Print a note, except if it
        does not exist.
        """
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
    """Return a value to compare: in it, the order of a list in a string makes no difference."""
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
    """Return the names of the stages of a result.

    Raise an error if it is a result of another study.
    """
    return tuple(str(_result(path, study)["environment"].get("stages", "")).split(", "))


def minutes_of(path: Path, study: str) -> float:
    """Return the minutes of the long runs of a result.

    Raise an error if it is a result of another study, or has no long runs.
    """
    if not (minutes := _result(path, study)["environment"].get("curve")):
        raise BenchError(f'"{path}" has no long runs')
    return float(minutes)


def described(environment: Mapping[str, Any], number: int) -> str:
    """Return a text that says when and at which revision this number of runs was made."""
    text = f"{number} runs are of {environment['date']}, revision {environment['revision']}"
    return text + (f", of which {before}" if (before := environment.get("extended")) else "")


def earlier(
    path: Path, added_to: Result, same: Sequence[str] = SAME
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return samples and environment of a result of the same study with the same options.

    Raise an error if the study or an option differs.
    """
    result = _result(path, added_to.study)
    # Results from before the option --direct do not name it.
    there = {"direct": False} | result["environment"] | {"quick": result["quick"]}
    # The environment in the form that a file has
    here = json.loads(json.dumps(added_to.environment | {"quick": added_to.quick}, default=str))
    others = [
        name for name in ("quick", *same) if _comparable(there.get(name)) != _comparable(here[name])
    ]
    if others:
        raise BenchError(
            f'"{path}" differs in {", ".join(others)}, and cannot be extended by these runs'
        )
    return result["samples"], there
