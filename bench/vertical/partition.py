"""How the two wide tables of TPC-C are split, and which tables then store their rows."""

from collections.abc import Mapping, Sequence

import psycopg

EXTENSION = "vertical_partition"
METHODS = ("shared_key", "surrogate_key", "row_pointer")

# The cold columns.  The addresses of customers are not among them, because Payment needs these as
# well.  The cold columns of stock are never updated.
COLD = {
    "customer": ("c_data",),
    "stock": (*(f"s_dist_{number:02}" for number in range(1, 11)), "s_data"),
}
USUAL = {"customer": "shared_key", "stock": "row_pointer"}

# This setting loads the library before the first statement, so that the library already plans this
# statement.
PRELOADED = {"session_preload_libraries": EXTENSION}
REWRITE = f"{EXTENSION}.enable_rewrite"
TRACK = f"{EXTENSION}.track_updates"

# Find the tables that store the rows of each name: of a table, itself; of a view, the tables that
# its definition reads.
STORED = """
SELECT name, CASE WHEN relkind = 'v' THEN read::text ELSE c.oid::regclass::text END
FROM unnest(%s::text[]) WITH ORDINALITY AS named (name, place)
    JOIN pg_class AS c ON c.oid = name::regclass
    LEFT JOIN LATERAL (
        SELECT DISTINCT refobjid::regclass AS read
        FROM pg_rewrite
            JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid
                AND refclassid = 'pg_class'::regclass AND refobjid <> ev_class
        WHERE ev_class = c.oid
    ) AS parts ON relkind = 'v'
ORDER BY place, read::text DESC
"""


def hot(table: str) -> str:
    return f"{table}_hot"


def cold(table: str) -> str:
    return f"{table}_cold"


def split(methods: Mapping[str, str]) -> tuple[str, ...]:
    """Return the statements that split loaded tables, each by its method.

    The library is not preloaded for them, but only later, for the measurement.
    """
    statements = []
    for table, method in methods.items():
        columns = ", ".join(COLD[table])
        statements.append(
            f"SELECT {EXTENSION}.split('{table}', '{{{columns}}}', '{method}', force => true)"
        )
        statements.append(f"VACUUM (FREEZE, ANALYZE) {hot(table)}, {cold(table)}")
    return tuple(statements)


def stored(connection: psycopg.Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """Return, for each name, the tables that store its rows.

    This is the table itself, or the parts of a split table, the hot part first.
    """
    found: dict[str, list[str]] = {}
    for name, table in connection.execute(STORED, [list(names)]).fetchall():
        found.setdefault(name, []).append(table)
    return found
