"""The table with ten indexes, and updates that return the page of each new row version."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.lib.console import BenchError
from bench.lib.server import Server
from bench.tpcc.sizes import PAGE
from bench.vertical.exact import INDEXES

TABLE = "bench_fill"
KEYS = range(1, 10)
# Bytes of the header, of eleven integers, and of the length word of the text
FIXED = 24 + 11 * 4 + 4

# VACUUM can set a row all-visible only when the commit of its INSERT is flushed.  So flush it at
# once, and do not leave that to the WAL writer.
CREATE = f"""
SET LOCAL synchronous_commit = on;
DROP TABLE IF EXISTS {TABLE};
CREATE TABLE {TABLE} (
    id integer NOT NULL,
    {", ".join(f"k{key} integer NOT NULL" for key in KEYS)},
    counter integer NOT NULL,
    filler text NOT NULL
) WITH (fillfactor = {{fillfactor}});
INSERT INTO {TABLE}
SELECT n, {", ".join(f"(hashint8extended(n, {key}) >> 33)::integer" for key in KEYS)}, 0,
    repeat('x', {{length}} - {FIXED})
FROM generate_series(1, {{rows}}) AS n;
"""
CREATE_INDEXES = f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id);" + "".join(
    f"CREATE INDEX ON {TABLE} (k{key});" for key in KEYS
)
# Make all updates in the server, because a round trip takes longer than an update.
PROCEDURE = f"""
CREATE PROCEDURE bench_update(updated integer[], each_commits boolean, INOUT pages integer[]) LANGUAGE plpgsql AS $$
DECLARE
    page integer;
BEGIN
    FOR number IN 1 .. cardinality(updated) LOOP
        UPDATE {TABLE} SET counter = counter + 1 WHERE id = updated[number]
        RETURNING (ctid::text::point)[0]::integer INTO STRICT page;
        pages[number] := page;
        IF each_commits THEN
            COMMIT;
        END IF;
    END LOOP;
END
$$
"""
SET_VISIBLE = f"SELECT relallvisible FROM pg_class WHERE oid = '{TABLE}'::regclass"
PAGES_OF_ROWS = f"SELECT array_agg((ctid::text::point)[0]::integer ORDER BY id) FROM {TABLE}"
COUNTS = f"SELECT n_tup_upd, n_tup_hot_upd, n_tup_newpage_upd FROM pg_stat_all_tables WHERE relid = '{TABLE}'::regclass"
# Count a WAL record that has several blocks only once.
WAL = """
SELECT resource_manager, sum(record_length)::bigint
FROM (SELECT DISTINCT start_lsn, resource_manager, record_length
      FROM pg_get_wal_block_info(%s::pg_lsn, %s::pg_lsn, false)
      WHERE relforknumber = 0
          AND relfilenode = ANY (SELECT pg_relation_filenode(name::regclass) FROM unnest(%s::text[]) AS name)
     ) AS records
GROUP BY 1
"""


@dataclass(frozen=True)
class Mode:
    name: str
    title: str
    each_commits: bool = True
    # Another session holds a snapshot that is older than all updates.
    old_snapshot: bool = False

    @property
    def prunes(self) -> bool:
        return self.each_commits and not self.old_snapshot


MODES = (
    Mode("each", "a transaction each"),
    Mode("snapshot", "a transaction each, beside an old snapshot", old_snapshot=True),
    Mode("together", "all in one transaction", each_commits=False),
)


def one(connection: psycopg.Connection, query: str, *parameters: object) -> Any:
    return connection.execute(query, parameters or None).fetchone()[0]


def create(connection: psycopg.Connection, rows: int, length: int, fillfactor: int) -> None:
    connection.execute(CREATE.format(rows=rows, length=length, fillfactor=fillfactor))
    connection.execute(CREATE_INDEXES)
    connection.execute(f"VACUUM (FREEZE, ANALYZE) {TABLE}")
    require_visible(connection)


def require_visible(connection: psycopg.Connection) -> None:
    """Raise an error unless all pages are all-visible.

    An update of a page that is not all-visible writes less WAL.
    """
    visible, pages = one(connection, SET_VISIBLE), sizes(connection)["pages"]
    if visible != pages:
        raise BenchError(f"VACUUM set {visible} of the {pages} pages of {TABLE} all-visible")


def sizes(connection: psycopg.Connection) -> dict[str, int]:
    heap, indexes = connection.execute(
        f"SELECT pg_relation_size('{TABLE}'), pg_indexes_size('{TABLE}')"
    ).fetchone()
    return {"pages": heap // PAGE, "index_pages": indexes // PAGE}


def update(
    connection: psycopg.Connection, updated: Sequence[int], each_commits: bool = True
) -> list[int]:
    """Update the rows.  Return the pages on which the new row versions are."""
    return one(
        connection, "CALL bench_update(%s::integer[], %s, '{}')", list(updated), each_commits
    )


def counts(connection: psycopg.Connection) -> list[int]:
    """Return the server's counts of updates, of HOT updates, and of updates to another page."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    return list(connection.execute(COUNTS).fetchone())


def moves(
    pages: Sequence[int], updated: Sequence[int], after: Sequence[int]
) -> list[tuple[int, int]]:
    """Return, for each update, the page of the row before and the page after."""
    current = dict(enumerate(pages, 1))
    moved = []
    for row, page in zip(updated, after):
        moved.append((current[row], page))
        current[row] = page
    return moved


def measure(
    server: Server, connection: psycopg.Connection, mode: Mode, updated: Sequence[int]
) -> dict[str, Any]:
    """Update a table that has just been created, and return the figures, which are all exact."""
    indexes = one(connection, INDEXES, [TABLE])
    before, pages = sizes(connection), one(connection, PAGES_OF_ROWS)
    counted = counts(connection)
    begin = one(connection, "SELECT pg_current_wal_insert_lsn()")
    with server.snapshot(connection.info.dbname) if mode.old_snapshot else nullcontext():
        after = update(connection, updated, mode.each_commits)
    # WAL can be read only after it is flushed.
    connection.execute("SELECT pg_switch_wal()")
    end = one(connection, "SELECT pg_current_wal_flush_lsn()")
    moved = moves(pages, updated, after)
    sample: dict[str, Any] = {
        "updates": len(updated),
        "before": before,
        "after": sizes(connection),
        "wal": dict(connection.execute(WAL, [begin, end, [TABLE, *indexes]]).fetchall()),
        "moves": moved,
    }
    counted = [now - then for now, then in zip(counts(connection), counted)]
    hot = sum(old == new for old, new in moved)
    require_counts(connection, mode.title, counted, [len(updated), hot, len(updated) - hot])
    return sample


def require_counts(
    connection: psycopg.Connection, title: str, counted: Sequence[int], wanted: Sequence[int]
) -> None:
    """Raise an error unless the server counted the wanted numbers, and no update is lost.

    If a row stays on its page, its update must be HOT, because no index has the updated column.
    """
    if list(counted) != list(wanted):
        raise BenchError(
            f"{title}: the server counted {counted} updates, HOT ones and moved rows, not {wanted}"
        )
    made = one(connection, f"SELECT sum(counter) FROM {TABLE}")
    if made != wanted[0]:
        raise BenchError(f"{title}: {made} updates are in the table, not {wanted[0]}")
