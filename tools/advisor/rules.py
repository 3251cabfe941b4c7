"""Which compact type a column could get: the rules of compact_types/compact_advise_propose.c and
compact_advise_range.c, as far as statistics allow to follow them."""

import re
from dataclasses import dataclass

BPCHAR, VARCHAR, TEXT = 1042, 1043, 25
INT8, INT2, INT4 = 20, 21, 23
TIMESTAMP, TIMESTAMPTZ, NUMERIC = 1114, 1184, 1700
STRINGS = (TEXT, BPCHAR, VARCHAR)
INTEGERS = {INT2: 2, INT4: 4, INT8: 8}
SECONDS = {TIMESTAMP: "seconds4", TIMESTAMPTZ: "seconds4tz"}

# name, bytes, smallest and greatest value, in the order of preference of compact_types.  Its type
# of three bytes is only for keys.
NARROW = (
    ("uint1", 1, 0, 255),
    ("int1", 1, -128, 127),
    ("int2", 2, -(2**15), 2**15 - 1),
    ("uint2", 2, 0, 2**16 - 1),
    ("int4", 4, -(2**31), 2**31 - 1),
    ("uint4", 4, 0, 2**32 - 1),
)
CORE_INTEGERS = ("int2", "int4")
UPDATED_HEADROOM = 100
# the lengths and scales of "make install"
CHAR_LENGTHS = range(1, 65)
DECIMAL_SCALES = {4: range(0, 7), 8: range(0, 9)}
REFERENCE = re.compile(r"(^|_)(id|ids|key|ref|fk|pk|no|nr)$", re.IGNORECASE)


@dataclass(frozen=True)
class NewType:
    name: str
    length: int
    alignment: int
    reason: str
    risk: str = ""
    # compact_types keeps these even if they shorten no row
    always: bool = False
    # if the length varies, bytes of a value after to bytes now
    ratio: float = 1


def looks_like_reference(name: str) -> bool:
    return bool(REFERENCE.search(name)) or (
        len(name) > 2 and name.endswith("Id") and name[-3].islower()
    )


def has_room(low: int, high: int, smallest: int, greatest: int, updates: int) -> bool:
    """Return true if the range leaves room for values at least twice as large as those seen."""
    if low < -(-smallest // 2) or high > greatest // 2:
        return False
    return updates == 0 or (
        high <= greatest // UPDATED_HEADROOM
        and (low >= 0 or low >= -(-smallest // UPDATED_HEADROOM))
    )


def narrow_integer(width: int, low: int, high: int, updates: int) -> NewType | None:
    """Return the narrowest integer type that holds the values and leaves them room."""
    if low == high:
        return None
    for name, length, smallest, greatest in NARROW:
        if length >= width:
            break
        if has_room(low, high, smallest, greatest, updates):
            risk = f"values outside of {smallest} to {greatest} will be refused"
            if name not in CORE_INTEGERS:
                risk += f"; client drivers that do not know {name} return strings"
            if name == "uint4":
                risk += "; coalesce() and the like with an integer need a cast"
            reason = f"values in the statistics are {low} to {high}"
            return NewType(name, length, length, reason, risk)
    return None


def compact_char(
    typmod: int, max_bytes: int | None, ascii_only: bool, single: bool
) -> NewType | None:
    """Return the type for char(n), if the values in the statistics are ASCII."""
    n = typmod - 4
    if n not in CHAR_LENGTHS or max_bytes is None or max_bytes > n or not ascii_only:
        return None
    risk = "" if single else f"strings of more than {n} bytes will be refused"
    reason = "no length header; all strings in the statistics are ASCII"
    return NewType(f"compact_char{n}", n, 1, reason, risk, always=True)


def compact_decimal(typmod: int, average: float, number: bool) -> NewType | None:
    """Return the type for numeric(p,s), if it is smaller than the average value."""
    if typmod < 4 or not number:
        return None
    precision = ((typmod - 4) >> 16) & 0xFFFF
    scale = (((typmod - 4) & 0x7FF) ^ 1024) - 1024
    length = 4 if precision <= 9 else 8
    if precision > 18 or not 0 <= scale <= precision or scale not in DECIMAL_SCALES[length]:
        return None
    if average <= length:
        return None
    name = f"compact_decimal{length}_{scale}"
    risk = f"client drivers that do not know {name} return strings"
    reason = f"numeric({precision},{scale}) takes {average:.1f} bytes on average"
    return NewType(name, length, length, reason, risk, always=True)


def seconds(type_oid: int, typmod: int, whole: bool | None) -> NewType | None:
    """Return the type for a timestamp.  Only timestamp(0) can get it without rounding."""
    if typmod != 0 or whole is not True:
        return None
    name = SECONDS[type_oid]
    risk = "times before 1970 and after 2106-02-07 will be refused"
    return NewType(
        name, 4, 4, "all times in the statistics are whole seconds of 1970 to 2106", risk
    )
