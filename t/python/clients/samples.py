"""What the programs that test the package of clients/python share.

Each program reads the samples of PgDense::CompactTypesSamples as JSON from stdin, and prints TAP
lines without numbers, "ok - NAME" or "not ok - NAME".  The calling test counts them.
"""

import datetime
import decimal
import json
import re
import sys
from dataclasses import dataclass
from typing import Any

UTC = datetime.timezone.utc


def check(name: str, got: Any, expected: Any) -> None:
    """Compare values and their types, also in lists."""
    if repr(shape(got)) == repr(shape(expected)) and got == expected:
        print(f"ok - {name}")
    else:
        print(f"not ok - {name}: got {got!r}, expected {expected!r}")


def shape(value: Any) -> Any:
    """Return the types of a value's parts, and whether a time has a time zone."""
    if isinstance(value, (list, tuple)):
        return type(value), [shape(one) for one in value]
    if isinstance(value, datetime.datetime):
        return type(value), value.utcoffset()
    if isinstance(value, str):
        # SQLAlchemy has a subclass for names.
        return str
    return type(value)


@dataclass
class Sample:
    """A compact type, the core type that it replaces, values, and values that the type pads."""

    type: str
    wide: str
    kind: str
    values: list[Any]
    bad: Any
    sqlstate: str | None

    @property
    def loaded(self) -> list[Any]:
        """The values that a client gets, which are padded if the type is compact_charN."""
        length = re.fullmatch(r"compact_char(\d+)", self.type)
        return [one.ljust(int(length[1])) for one in self.values] if length else self.values


def value_of(kind: str, literal: Any) -> Any:
    """Return the value that a program would use for a literal."""
    if kind == "string":
        return literal
    if kind == "int":
        return int(literal)
    if kind == "numeric":
        return decimal.Decimal(literal)
    value = datetime.datetime.fromisoformat(literal)
    return value.replace(tzinfo=UTC) if kind == "timestamptz" else value


def samples() -> list[Sample]:
    return [
        Sample(
            one["type"],
            one["wide"],
            one["kind"],
            [value_of(one["kind"], literal) for literal in one["literals"]],
            one.get("bad"),
            one.get("sqlstate"),
        )
        for one in json.load(sys.stdin)
    ]
