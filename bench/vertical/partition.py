"""How the two wide tables of TPC-C are split, and what stands behind a table's name then."""

from collections.abc import Mapping, Sequence

import psycopg

EXTENSION = "vertical_partition"
METHODS = ("shared_key", "surrogate_key", "row_pointer")

# Payment needs the addresses of customers as well.  Nothing of what is cold in stock is ever updated.
COLD = {
    "customer": ("c_data",),
    "stock": (*(f"s_dist_{number:02}" for number in range(1, 11)), "s_data"),
}
USUAL = {"customer": "shared_key", "stock": "row_pointer"}

# Loads the library before the first statement, which is then planned by it already.
PRELOADED = {"session_preload_libraries": EXTENSION}
REWRITE = f"{EXTENSION}.enable_rewrite"
TRACK = f"{EXTENSION}.track_updates"

# A table is what stands behind its own name; a view, what its definition reads.
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
    """Statements that split these tables, once they are loaded, by a method each; the library is preloaded later, to measure."""
    statements = []
    for table, method in methods.items():
        columns = ", ".join(COLD[table])
        statements.append(
            f"SELECT {EXTENSION}.split('{table}', '{{{columns}}}', '{method}', force => true)"
        )
        statements.append(f"VACUUM (FREEZE, ANALYZE) {hot(table)}, {cold(table)}")
    return tuple(statements)


def stored(connection: psycopg.Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """The tables that hold the rows of each: itself, or the parts of one that is split, the hot one first."""
    found: dict[str, list[str]] = {}
    for name, table in connection.execute(STORED, [list(names)]).fetchall():
        found.setdefault(name, []).append(table)
    return found
