"""Two tables, of which one references the other, and the dumps that are restored."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from bench.lib.console import BenchError
from bench.lib.server import Server

# pg_dump sorts tables by name.  With these names, the referenced table comes first.
REFERENCED, REFERENCING = "bench_accounts", "bench_entries"
SOURCE = "bench_fk_source"
CONSTRAINT = f"{REFERENCING}_account_fkey"
TEXT = 400
# Number of rows that reference the same row
ROWS_OF_ACCOUNT = 10

CREATE = f"""
CREATE TABLE {REFERENCED} (id integer NOT NULL, name text NOT NULL);
CREATE TABLE {REFERENCING} (id integer NOT NULL, account integer NOT NULL, note text NOT NULL);
"""
FILL = f"""
INSERT INTO {REFERENCED} SELECT n, 'account ' || n FROM generate_series(1, {{accounts}}) AS n;
INSERT INTO {REFERENCING}
SELECT n, (1 + (hashint8extended(n, {{seed}}) & 9223372036854775807) % {{accounts}})::integer,
    left(repeat(md5(n::text), 13), {TEXT})
FROM generate_series(1, {{rows}}) AS n;
"""
ADD_KEY = f"ALTER TABLE {REFERENCED} ADD PRIMARY KEY (id)"
ADD_REFERENCE = f"ALTER TABLE {{table}} ADD CONSTRAINT {CONSTRAINT} FOREIGN KEY (account) REFERENCES {REFERENCED} (id) {{timing}}"
DEFERRED = "DEFERRABLE INITIALLY DEFERRED"
CONSTRAINTS = (
    "SELECT CASE WHEN condeferred THEN 'deferred' ELSE 'immediate' END"
    " || CASE WHEN convalidated THEN '' ELSE ', not valid' END"
    " FROM pg_constraint WHERE contype = 'f'"
)
# Blocks of the referenced table and of its key that were hit or read, and lookups by the key
LOOKED_AT = f"""
SELECT heap_blks_hit + heap_blks_read, idx_blks_hit + idx_blks_read,
    (SELECT coalesce(sum(idx_scan), 0)::bigint FROM pg_stat_all_indexes AS i WHERE i.relid = t.relid)
FROM pg_statio_all_tables AS t WHERE relid = '{REFERENCED}'::regclass
"""


def one(connection: psycopg.Connection, query: str, *parameters: object) -> Any:
    return connection.execute(query, parameters or None).fetchone()[0]


def add_reference(table: str, timing: str) -> str:
    return ADD_REFERENCE.format(table=table, timing=timing)


def looked_at(connection: psycopg.Connection) -> dict[str, int]:
    connection.execute("SELECT pg_stat_force_next_flush()")
    heap, key, lookups = connection.execute(LOOKED_AT).fetchone()
    return {"heap_blocks": heap, "key_blocks": key or 0, "lookups": lookups}


def load(server: Server, rows: int, seed: int) -> None:
    server.create_database(SOURCE)
    with server.connect(SOURCE) as connection:
        connection.execute(CREATE)
        connection.execute(
            FILL.format(rows=rows, accounts=max(1, rows // ROWS_OF_ACCOUNT), seed=seed)
        )
        connection.execute(ADD_KEY)
        connection.execute("VACUUM (FREEZE, ANALYZE)")


def dump(server: Server, directory: Path) -> tuple[Path, Path]:
    """Write two dumps in the custom format, without the foreign key and with it."""
    directory.mkdir(parents=True, exist_ok=True)
    files = directory / "without.dump", directory / "with.dump"
    program(server, "pg_dump", ["-Fc", "-f", str(files[0]), SOURCE])
    with server.connect(SOURCE) as connection:
        connection.execute(add_reference(REFERENCING, ""))
    program(server, "pg_dump", ["-Fc", "-f", str(files[1]), SOURCE])
    with server.connect(SOURCE) as connection:
        connection.execute(f"ALTER TABLE {REFERENCING} DROP CONSTRAINT {CONSTRAINT}")
    return files


def program(server: Server, name: str, arguments: Sequence[str]) -> None:
    environment = server.environment
    where = ["-h", environment["PGHOST"], "-p", environment["PGPORT"], "-U", environment["PGUSER"]]
    words = [str(server.bindir / name), *where, *arguments]
    done = subprocess.run(
        words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error:" in line] or [
            f"exit code {done.returncode}"
        ]
        raise BenchError(
            f"{name} failed: {lines[0].removeprefix(name + ': error: ')} (server log: {server.log})"
        )


def require_restored(
    connection: psycopg.Connection, title: str, rows: int, constraint: str
) -> None:
    """Raise an error unless all rows are there, and the foreign key is as it should be.

    constraint is "", "immediate" or "deferred".
    """
    restored = one(connection, f"SELECT count(*) FROM {REFERENCING}")
    if restored != rows:
        raise BenchError(f"{title}: {restored} rows were restored, not {rows}")
    found = ", ".join(row[0] for row in connection.execute(CONSTRAINTS).fetchall())
    if found != constraint:
        raise BenchError(f'{title}: the foreign key is "{found}", not "{constraint}"')
