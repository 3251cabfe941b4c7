"""The parts of the time: the same rows by INSERT in one transaction.

The CPU time is that of the statement, of its COMMIT, and of what follows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.lib.timing import Clock
from bench.restore.tables import CONSTRAINT, DEFERRED, REFERENCING, add_reference, looked_at, one

TARGET = "bench_target"
INSERT = f"INSERT INTO {TARGET} SELECT * FROM {REFERENCING}"
QUEUE = "SELECT coalesce(sum(total_bytes), 0)::bigint FROM pg_backend_memory_contexts WHERE name = 'AfterTriggerEvents'"
LOCKS = """
SELECT coalesce(sum(count), 0)::bigint, coalesce(sum(combined_size), 0)::bigint
FROM pg_get_wal_stats(%s::pg_lsn, %s::pg_lsn, true) WHERE "resource_manager/record_type" = 'Heap/LOCK'
"""


@dataclass(frozen=True)
class Kind:
    name: str
    title: str
    # Clause of a foreign key that is created before the rows; None: there is none
    timing: str | None = None
    # Statement that creates a foreign key after the rows
    follows: str = ""


NONE = Kind("none", "no foreign key")
KINDS = (
    NONE,
    Kind("immediate", "IMMEDIATE", ""),
    Kind("deferred", "DEFERRED", DEFERRED),
    Kind("after", "added after the rows", follows=add_reference(TARGET, "")),
)


def create(connection: psycopg.Connection, kind: Kind) -> None:
    connection.execute(f"DROP TABLE IF EXISTS {TARGET}; CREATE TABLE {TARGET} (LIKE {REFERENCING})")
    if kind.timing is not None:
        connection.execute(add_reference(TARGET, kind.timing))
    connection.execute("CHECKPOINT")


def run(connection: psycopg.Connection, kind: Kind) -> dict[str, Any]:
    """Insert the rows into a new table, and return a sample.

    The sample has the CPU time of each step, the blocks and lookups in the referenced table, and
    the WAL.
    """
    create(connection, kind)
    clock = Clock(connection)
    before, begin = looked_at(connection), one(connection, "SELECT pg_current_wal_insert_lsn()")
    connection.execute("BEGIN")
    sample: dict[str, Any] = {
        "unit": clock.kind,
        "statement": clock.measure(connection.execute, INSERT),
    }
    sample["queue_bytes"] = one(connection, QUEUE)
    sample["commit"] = clock.measure(connection.execute, "COMMIT")
    sample["follows"] = clock.measure(connection.execute, kind.follows) if kind.follows else 0.0
    end = one(connection, "SELECT pg_current_wal_insert_lsn()")
    sample["wal_bytes"] = int(one(connection, "SELECT %s::pg_lsn - %s::pg_lsn", end, begin))
    after = looked_at(connection)
    sample.update({name: after[name] - before[name] for name in after})
    sample["span"] = [begin, end]
    return sample


def locks(connection: psycopg.Connection, span: tuple[str, str]) -> tuple[int, int]:
    """Return the number of row locks in WAL, and their bytes.

    The WAL is read only once, because reading takes longer the more WAL there is.
    """
    # WAL that is not flushed yet cannot be read.
    connection.execute("SELECT pg_switch_wal()")
    return connection.execute(LOCKS, span).fetchone()


def explain(connection: psycopg.Connection, kind: Kind) -> Mapping[str, float]:
    """Return the time of the rows, and the time of the trigger calls within the statement."""
    create(connection, kind)
    with connection.transaction():
        (plan,) = one(connection, f"EXPLAIN (ANALYZE, FORMAT JSON) {INSERT}")
    triggers = [each for each in plan["Triggers"] if each.get("Constraint Name") == CONSTRAINT]
    return {
        "calls": sum(each["Calls"] for each in triggers),
        "rows_ms": plan["Plan"]["Actual Total Time"],
        "trigger_ms": sum(each["Time"] for each in triggers),
        "statement_ms": plan["Execution Time"],
    }


def steps(rounds: int) -> int:
    return len(KINDS) * (rounds + 1)
