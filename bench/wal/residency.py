"""The part of the WAL that is in the page cache right after it was written."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from rich.progress import Progress

from bench.lib import cgroup, pagecache
from bench.lib.bars import Bar
from bench.lib.console import BenchError
from bench.lib.result import Result
from bench.wal import load
from bench.wal.device_bytes import names
from bench.wal.instance import DATABASE, Instance
from bench.wal.variants import DIRECT_AUTO, MODE, OFF, RELIEF, Variant

# Seconds that the archiver and the WAL writer may take to finish their work
SETTLE_SECONDS = 15.0
# Let the server make new segments, and not recycle old ones.
SETTINGS = {"wal_recycle": "off", "min_wal_size": "32MB", "full_page_writes": "on"}
FILL = (
    "CREATE TABLE IF NOT EXISTS filler (v text);"
    " INSERT INTO filler SELECT repeat(md5(g::text), 30) FROM generate_series(1, %s) AS g; TRUNCATE filler"
)
# Bytes of WAL for one row of FILL
ROW = 1040
WRITERS = 4

BARS = (
    Bar(
        "resident.direct", "pg_wal resident after a run in direct mode, of the bytes written", 0.01
    ),
    Bar(
        "resident.direct_archived",
        "the same with an archiver, once it has archived",
        0.01,
        claim="pg_wal resident after a run in direct mode with an archiver, once it has archived, of the bytes written",
    ),
)


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    variant: Variant
    settings: Mapping[str, str] = field(default_factory=dict)
    archived: bool = False


RELIEVED = Variant("relieved", "buffered, relief on", settings={MODE: "off", RELIEF: "on"})
CASES = (
    Case("off", "buffered", OFF),
    Case("relieved", "buffered, relief on", RELIEVED),
    Case("direct", "direct", DIRECT_AUTO),
    Case("off_archived", "buffered, archiver", OFF, archived=True),
    Case("relieved_archived", "buffered, relief on, archiver", RELIEVED, archived=True),
    Case("direct_archived", "direct, archiver", DIRECT_AUTO, archived=True),
)


class Residency:
    """The part of the study that measures the page cache.

    pg_wal is on the file system that bench writes to, as for any server.
    """

    def __init__(self, result: Result, stack: ExitStack) -> None:
        self.result = result
        self.instance = Instance(stack, "bench-wal-resident")

    def measure(self, megabytes: int, bars: Progress) -> None:
        rows = []
        self.instance.load(1, 0, SETTINGS)
        for case in bars.track(CASES, description="residency of pg_wal: runs"):
            rows.append(self.run(case, megabytes))
        self.result.table(
            "pg_wal in the page cache, wal_level = replica, new segments: right after a run, and later, when archiver"
            " and walwriter have caught up",
            [
                "",
                "MB of WAL",
                "new segments",
                "MB resident",
                "share of the WAL",
                "MB later",
                "share of the WAL",
            ],
            rows,
            "resident",
        )

    def run(self, case: Case, megabytes: int) -> list[object]:
        settings = dict(SETTINGS) | dict(case.settings)
        if case.archived:
            # Only the reading of a segment matters here.  A copy would take additional page cache.
            settings |= {"archive_mode": "on", "archive_command": "cat %p > /dev/null"}
        cluster = self.instance.start(case.variant, settings, warm=False)
        wal = self.instance.wal
        with cluster.connect(DATABASE) as connection:
            connection.execute("CHECKPOINT")
            settle(connection, case.archived)
            cgroup.evict(wal)
            before = names(wal)
            (begin,) = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
            connection.execute(FILL.replace("%s", str((megabytes << 20) // ROW)))
            sample = load.run(cluster, WRITERS, 0.2, 1.0, self.result.seed)
            resident = pagecache.resident_below(wal)
            (end,) = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
            fresh = len(names(wal) - before)
            later = self.settled(connection, case.archived, wal)
        self.instance.stop(cluster, case.variant)
        if not fresh:
            raise BenchError("the run made no new segment of WAL, so there is nothing to measure")
        written = float(end - begin)
        # With an archiver, the WAL leaves the page cache later.  What counts is that none of it
        # stays.
        self.result.metrics[f"resident.{case.name}"] = (
            later if case.archived else resident
        ) / written
        self.result.samples.append(
            {
                "test": "resident",
                "case": case.name,
                "wal_bytes": written,
                "new_segments": fresh,
                "resident": resident,
                "resident_later": later,
                "commits": sample["commits"],
            }
        )
        return [
            case.title,
            f"{written / 1e6:,.1f}",
            fresh,
            *(
                text
                for held in (resident, later)
                for text in (f"{held / 1e6:,.1f}", f"{held / written:.4f}")
            ),
        ]

    def settled(self, connection: psycopg.Connection, archived: bool, wal: Path) -> int:
        """Return the bytes of WAL in the page cache when they do not change any more."""
        settle(connection, archived)
        until = time.monotonic() + SETTLE_SECONDS
        held = pagecache.resident_below(wal)
        unchanged = 0
        while held and unchanged < 5 and time.monotonic() < until:
            time.sleep(0.3)
            now = pagecache.resident_below(wal)
            unchanged = unchanged + 1 if now == held else 0
            held = now
        return held


def settle(connection: psycopg.Connection, archived: bool) -> None:
    """Wait until the archiver has archived all segments except the one that is being written."""
    until = time.monotonic() + SETTLE_SECONDS
    waiting = "SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'"
    while archived and connection.execute(waiting).fetchone()[0] and time.monotonic() < until:
        time.sleep(0.1)
