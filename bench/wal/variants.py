"""The servers and settings to compare: the ways in which WAL is written to its device."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.lib.console import BenchError
from bench.lib.foreign import read_text
from bench.lib.server import Cluster

MODE = "wal_directio"
UNIT = "wal_write_unit"
RELIEF = "wal_cache_relief"

# Messages in the log of a server
DIRECT = re.compile(r"LOG: +WAL is written with direct I/O in units of (\d+) bytes")
REFUSED = re.compile(r"LOG: +WAL is written through the page cache, because .*\n.*DETAIL: +(.*)")
GIVEN_UP = re.compile(r"LOG: +direct I/O for WAL is given up\n.*DETAIL: +(.*)")


@dataclass(frozen=True)
class Variant:
    name: str
    title: str
    # Directory below build/MAJOR that holds the server.
    binary: str = "dense"
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def direct(self) -> bool:
        return self.settings.get(MODE, "off") != "off"


def _unit(direct: bool, unit: int) -> Variant:
    way = "direct" if direct else "buffered"
    return Variant(
        f"{way}_{unit}",
        f"{way}, {unit}",
        settings={
            MODE: "try" if direct else "off",
            UNIT: f"force_{unit}" if unit < 8192 else str(unit),
        },
    )


STOCK = Variant("stock", "stock", "stock")
# All settings of the patch have their defaults.
OFF = Variant("off", "patched, off")
UNITS = (
    *(_unit(False, unit) for unit in (4096, 512)),
    *(_unit(True, unit) for unit in (8192, 4096, 512)),
)
DIRECT_AUTO = Variant("direct", "direct, auto", settings={MODE: "try", UNIT: "auto"})


def reason_of_fallback(log: Path) -> str | None:
    """Return why a server does not write with direct I/O, from its log; None if it does."""
    text = read_text(log)
    given_up = GIVEN_UP.search(text) or REFUSED.search(text)
    if given_up:
        return given_up.group(1)
    return None if DIRECT.search(text) else "the server does not say so"


def written_unit(log: Path) -> int:
    """Return the write unit of a server with direct I/O, from its log; 0 if it does not use it."""
    found = DIRECT.search(read_text(log))
    return int(found.group(1)) if found else 0


def verify(cluster: Cluster, variant: Variant) -> None:
    """Raise an error unless the server writes WAL as the variant says.

    A run under a false name is worse than none.
    """
    if not variant.direct:
        return
    reason = reason_of_fallback(Path(cluster.log))
    if reason:
        raise BenchError(
            f'"{variant.title}" cannot be measured, as WAL is not written with direct I/O: {reason}'
        )
    wanted = variant.settings[UNIT]
    unit = written_unit(Path(cluster.log))
    if wanted != "auto" and unit != int(wanted.removeprefix("force_")):
        raise BenchError(
            f'"{variant.title}" cannot be measured, as the server writes units of {unit} bytes'
        )
