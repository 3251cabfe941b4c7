"""The course of a run: snapshots at regular times, and the differences between them."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg

from bench.lib.pgbench import Log

# Number of intervals of a run, whatever its length
INTERVALS = 30

# Counters of all tables together
UPDATES = (
    "SELECT sum(n_tup_upd), sum(n_tup_hot_upd), sum(n_tup_newpage_upd) FROM pg_stat_user_tables"
)
MAINTENANCE = (
    "SELECT relid::regclass::text, autovacuum_count, autoanalyze_count FROM pg_stat_user_tables"
)
CHECKPOINTS = "SELECT num_timed + num_requested FROM pg_stat_checkpointer"

# Counters that a series has.  The other counters are recorded for the whole window only.
COUNTED = (
    "block_reads",
    "block_writes",
    "wal_bytes",
    "wal_fpi",
    "cpu_seconds",
    "group_reads",
    "device_write_bytes",
)

Maintenance = dict[str, Any]


def maintenance(connection: psycopg.Connection) -> Maintenance:
    """Return how often autovacuum vacuumed and analyzed each table, and the checkpoints."""
    tables = connection.execute(MAINTENANCE).fetchall()
    (checkpoints,) = connection.execute(CHECKPOINTS).fetchone()
    return {
        "autovacuum": {table: vacuums for table, vacuums, _ in tables},
        "autoanalyze": {table: analyzes for table, _, analyzes in tables},
        "checkpoints": checkpoints,
    }


def maintenance_between(begin: Maintenance, end: Maintenance) -> Maintenance:
    """Return what happened between two calls of maintenance(), without tables that had none."""
    found: Maintenance = {"checkpoints": end["checkpoints"] - begin["checkpoints"]}
    for kind in ("autovacuum", "autoanalyze"):
        counts = {table: count - begin[kind].get(table, 0) for table, count in end[kind].items()}
        found[kind] = {table: count for table, count in sorted(counts.items()) if count}
    return found


def updates(connection: psycopg.Connection) -> dict[str, int]:
    """Return the numbers of updates, of HOT updates, and of updates to another page."""
    return dict(
        zip(
            ("updates", "hot_updates", "newpage_updates"),
            map(int, connection.execute(UPDATES).fetchone()),
        )
    )


class Recorder:
    """A recorder that takes a snapshot at the beginning, after each interval, and at the end."""

    def __init__(self, take: Callable[[], Mapping[str, Any]], seconds: float) -> None:
        self.take = take
        self.interval = seconds / INTERVALS
        self.snapshots: list[tuple[float, Mapping[str, Any]]] = []

    def now(self) -> None:
        self.snapshots.append((time.time(), self.take()))

    def when_due(self) -> None:
        # Count from the first snapshot, not from the previous one, so that a late snapshot delays
        # no other.
        if time.time() >= self.snapshots[0][0] + self.interval * len(self.snapshots):
            self.now()

    def series(self, log: Log) -> list[dict[str, Any]]:
        """Return, for each interval, its begin and end, its New-Orders, and its counters.

        The times are seconds since the first snapshot.
        """
        first = self.snapshots[0][0]
        return [
            {
                "begin": round(begin - first, 3),
                "end": round(end - first, 3),
                "new_orders": log.window(begin, end).count(0),
                **_difference(before, after),
            }
            for (begin, before), (end, after) in zip(self.snapshots, self.snapshots[1:])
        ]


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    counters = {
        name: after["counters"][name] - before["counters"][name]
        for name in COUNTED
        if name in before["counters"]
    }
    return {
        **{name: round(value, 2) for name, value in counters.items()},
        **{name: after["updates"][name] - before["updates"][name] for name in after["updates"]},
        **maintenance_between(before["maintenance"], after["maintenance"]),
        # heap and indexes together, only for tables that were read
        "table_reads": {
            table: blocks
            for table, kinds in after["table_reads"].items()
            if (blocks := sum(kinds.values()) - sum(before["table_reads"][table].values()))
        },
        "heap_growth": sum(after["heap"].values()) - sum(before["heap"].values()),
    }


def by_time(series: Sequence[Mapping[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """Return the series in longer intervals of this number of seconds.

    Leave out what is left over at the end.
    """
    found: list[dict[str, Any]] = []
    for part in series:
        number = min(int((part["begin"] + part["end"]) / 2 // seconds), len(found))
        if number == len(found):
            found.append(
                {
                    "seconds": 0.0,
                    "new_orders": 0,
                    "maintenance": 0,
                    "heap_growth": 0,
                    "table_reads": {},
                }
            )
            found[-1] |= dict.fromkeys((*COUNTED, "newpage_updates"), 0.0)
        whole = found[number]
        whole["seconds"] += part["end"] - part["begin"]
        whole["maintenance"] += sum(part["autovacuum"].values()) + sum(part["autoanalyze"].values())
        for name in ("new_orders", "heap_growth", "newpage_updates", *COUNTED):
            whole[name] += part.get(name, 0)
        for table, reads in part["table_reads"].items():
            whole["table_reads"][table] = whole["table_reads"].get(table, 0) + reads
    # late snapshots make intervals shorter or longer, so a last interval of 90 % is enough
    return found if not found or found[-1]["seconds"] > 0.9 * seconds else found[:-1]


def _minutes(number: int, minutes: float) -> str:
    return f"{number * minutes:g} to {(number + 1) * minutes:g}"


def pace_rows(stages: Sequence[Sequence[Mapping[str, Any]]], minutes: float) -> list[list[object]]:
    """Return a row for each interval of by_time(), with a cell for each stage.

    The last cell is the ratio of the last stage to the first.
    """
    rows: list[list[object]] = []
    for number, parts in enumerate(zip(*stages)):
        pace = [part["new_orders"] / part["seconds"] * 60 for part in parts]
        cells = [
            f"{speed:,.0f}, {_per_order(part, part['block_reads']):.2f}, {part['maintenance']}, {part['heap_growth'] / 1e6:.1f}"
            for speed, part in zip(pace, parts)
        ]
        rows.append(
            [_minutes(number, minutes), *cells, f"{pace[-1] / pace[0]:.3f}" if pace[0] else ""]
        )
    return rows


def tables_read(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tables of a series, the one that is read most first."""
    reads: dict[str, int] = {}
    for part in parts:
        for table, blocks in part["table_reads"].items():
            reads[table] = reads.get(table, 0) + blocks
    return sorted(reads, key=lambda table: -reads[table])


def table_rows(
    parts: Sequence[Mapping[str, Any]], tables: Sequence[str], minutes: float
) -> list[list[object]]:
    """Return a row for each interval of by_time(), with a cell for each table."""
    return [
        [
            _minutes(number, minutes),
            *(f"{_per_order(part, part['table_reads'].get(table, 0)):.3f}" for table in tables),
        ]
        for number, part in enumerate(parts)
    ]


def _per_order(part: Mapping[str, Any], count: float) -> float:
    return count / part["new_orders"] if part["new_orders"] else 0.0
