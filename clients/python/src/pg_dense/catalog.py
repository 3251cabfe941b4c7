"""Find the types of the extension compact_types in a database, and tell what they hold."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

# Find the types by the library of their functions.  A type of the same name that belongs to another
# extension has another library, and a type that create_char() made belongs to no extension.
TYPES = r"""
SELECT t.typname::text, n.nspname::text, t.oid, t.typarray, t.oid::regtype::text
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
JOIN pg_catalog.pg_proc p ON p.oid = t.typinput
WHERE p.probin ~ '(^|/)compact_types$' AND t.typarray <> 0"""

HAS_SPLIT_TABLES = "SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'vertical_partition'"

# the greatest number of digits that a decimal of so many bytes holds in all cases
DIGITS = {4: 9, 8: 18}
# the number of digits of the greatest uint8
UINT8_DIGITS = 20

WIDE = {
    "int1": "int2",
    "uint1": "int2",
    "uint2": "int4",
    "uint3": "int4",
    "uint4": "int8",
    "seconds4": "timestamp",
    "seconds4tz": "timestamptz",
    "compact_text": "text",
}


@dataclass(frozen=True)
class Kind:
    """What a compact type holds.

    "wide" is the core type with the same values and the same binary format.  A compact_charN has a
    length, a decimal and uint8 have a precision and a scale, and a trained_textN has a number.
    """

    wide: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    number: int | None = None


@dataclass(frozen=True)
class CompactType:
    """A compact type in a database.  "regtype" is the name as the server would write it."""

    name: str
    schema: str
    oid: int
    array_oid: int
    regtype: str
    kind: Kind


@cache
def kind_of(name: str) -> Kind | None:
    """Return what the compact type of this name holds, or None if no compact type has the name."""
    if name in WIDE:
        return Kind(WIDE[name])
    if found := re.fullmatch(r"trained_text([1-9]\d*)", name):
        return Kind("text", number=int(found[1]))
    if found := re.fullmatch(r"compact_char([1-9]\d*)", name):
        return Kind("bpchar", length=int(found[1]))
    if found := re.fullmatch(r"compact_decimal([48])_(\d+)", name):
        return Kind("numeric", precision=DIGITS[int(found[1])], scale=int(found[2]))
    if name == "uint8":
        return Kind("numeric", precision=UINT8_DIGITS, scale=0)
    return None


def types_of(rows: Iterable[Sequence[Any]]) -> list[CompactType]:
    """Return the types that are in the rows of the query TYPES."""
    return [
        CompactType(name, schema, oid, array_oid, regtype, kind)
        for name, schema, oid, array_oid, regtype in rows
        if (kind := kind_of(name))
    ]
