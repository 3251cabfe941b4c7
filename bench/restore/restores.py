"""The restores to compare, of the same rows.

The foreign key is created before the rows, after them, or never.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.lib import counters
from bench.lib.server import Server
from bench.lib.timing import settle
from bench.restore.tables import (
    ADD_KEY,
    DEFERRED,
    REFERENCING,
    add_reference,
    looked_at,
    one,
    program,
    require_restored,
)

DATABASE = "bench_fk_restored"


@dataclass(frozen=True)
class Variant:
    name: str
    title: str
    # The foreign key in pg_constraint in the end: "", "immediate" or "deferred"
    constraint: str = ""
    # Restore the sections one by one, and create the primary key and the foreign key before the
    # rows.
    before: bool = False
    options: Sequence[str] = ()

    @property
    def statements(self) -> list[str]:
        """Return the statements between the definitions of the tables and their rows."""
        if not self.before:
            return []
        timing = DEFERRED if self.constraint == "deferred" else ""
        return [ADD_KEY, *([add_reference(REFERENCING, timing)] if self.constraint else [])]


NONE = Variant("none", "no foreign key")
VARIANTS = (
    NONE,
    Variant("key", "no foreign key, primary key before the rows", before=True),
    Variant("immediate", "foreign key before the rows, IMMEDIATE", "immediate", before=True),
    Variant("deferred", "foreign key before the rows, DEFERRED", "deferred", before=True),
    Variant("after", "foreign key after the rows, the order of the dump", "immediate"),
    Variant(
        "after_j2", "foreign key after the rows, pg_restore -j 2", "immediate", options=("-j", "2")
    ),
)


def restore(server: Server, variant: Variant, without: Path, complete: Path) -> None:
    target = ["-d", DATABASE, *variant.options]
    if not variant.before:
        program(server, "pg_restore", [*target, str(complete if variant.constraint else without)])
        return
    program(server, "pg_restore", [*target, "--section=pre-data", str(without)])
    with server.connect(DATABASE) as connection:
        for statement in variant.statements:
            connection.execute(statement)
    program(server, "pg_restore", [*target, "--section=data", str(without)])


def measure(
    server: Server,
    connection: psycopg.Connection,
    variant: Variant,
    files: tuple[Path, Path],
    rows: int,
) -> Mapping[str, Any]:
    """Restore once, and return a sample.  The connection is to another database."""
    server.create_database(DATABASE)
    connection.execute("CHECKPOINT")
    postmaster = server.postmaster()
    settle(connection, postmaster, "pg_restore")
    cpu, begin = counters.cpu_seconds(postmaster), one(
        connection, "SELECT pg_current_wal_insert_lsn()"
    )
    started = time.perf_counter()
    restore(server, variant, *files)
    elapsed = time.perf_counter() - started
    settle(connection, postmaster, "pg_restore")
    sample = {
        "seconds": elapsed,
        "cpu_seconds": counters.cpu_seconds(postmaster) - cpu,
        "wal_bytes": int(one(connection, "SELECT pg_current_wal_insert_lsn() - %s::pg_lsn", begin)),
    }
    with server.connect(DATABASE) as restored:
        sample.update(looked_at(restored))
        require_restored(restored, variant.title, rows, variant.constraint)
    server.drop_database(DATABASE)
    return sample
