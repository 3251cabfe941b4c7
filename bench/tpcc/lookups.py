"""Find out whether the transactions' lookups use the indexes.

The parameters have the wide types that clients send.
"""

import re
from collections.abc import Iterator

import psycopg
from psycopg import sql

from bench.tpcc.load import TABLES
from bench.vertical.partition import stored

# Types of the parameters that a client sends for a column, by the category of the column's type
PARAMETERS = {"N": ("integer", "bigint"), "S": ("text", "varchar")}

# Lookups by something other than a whole key: title, statement, and the columns that the index
# condition must have
FURTHER = (
    (
        "the lines of the last orders",
        "SELECT ol_i_id FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 - 20 AND ol_o_id < $3",
        ("ol_w_id", "ol_d_id", "ol_o_id"),
    ),
    (
        "the stock of a line",
        "SELECT s_quantity FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id"
        " WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
        ("s_w_id", "s_i_id"),
    ),
    (
        "the oldest new order",
        "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND $3 > 0 ORDER BY no_o_id LIMIT 1",
        ("no_w_id", "no_d_id"),
    ),
)


def _indexes(
    connection: psycopg.Connection, tables: list[str]
) -> list[tuple[str, str, list[str], list[str]]]:
    """Return, for each index, its name, its table, its columns, and their types' categories."""
    return connection.execute(
        "SELECT indexrelid::regclass::text, indrelid::regclass::text, array_agg(attname::text ORDER BY attnum),"
        " array_agg((SELECT typcategory::text FROM pg_type WHERE oid ="
        "            (SELECT atttypid FROM pg_attribute WHERE attrelid = indrelid AND attname = keys.attname))"
        "           ORDER BY attnum)"
        " FROM pg_index JOIN pg_attribute AS keys ON keys.attrelid = indexrelid"
        " WHERE indrelid = ANY(%s::regclass[]) GROUP BY indexrelid, indrelid ORDER BY 1",
        [tables],
    ).fetchall()


def _plan(connection: psycopg.Connection, types: list[str], statement: str) -> list[str]:
    """Return the plan of a prepared statement whose parameters are not known yet."""
    connection.execute(f"PREPARE lookup ({', '.join(types)}) AS {statement}")
    try:
        nulls = ", ".join(["NULL"] * len(types))
        return [
            line
            for (line,) in connection.execute(
                f"EXPLAIN (COSTS OFF) EXECUTE lookup ({nulls})"
            ).fetchall()
        ]
    finally:
        connection.execute("DEALLOCATE lookup")


def _found_by(plan: list[str], columns: tuple[str, ...]) -> bool:
    """Return true if one index condition has all of the columns.

    The plan must not sort or filter anything afterwards.
    """
    conditions = [line for line in plan if "Index Cond:" in line]
    rest = "\n".join(line for line in plan if re.search(r"^\s*(Filter:|Sort|->\s+Sort)", line))
    return not rest and any(
        all(re.search(rf"\b{column}\b", condition) for column in columns)
        for condition in conditions
    )


def lookups(connection: psycopg.Connection) -> Iterator[tuple[str, bool, str]]:
    """Yield, for each lookup, its title, whether it uses the index, and its plan."""
    with connection.transaction(force_rollback=True):
        connection.execute(
            "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off;"
            "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
        )
        parts = stored(connection, TABLES)
        # The transactions address the hot part of a split table by the name of the whole table.
        called = {tables[0]: name for name, tables in parts.items()}
        for index, part, columns, categories in _indexes(connection, sum(parts.values(), [])):
            table = called.get(part, part)
            wanted = " AND ".join(
                f"{column} = ${number}" for number, column in enumerate(columns, 1)
            )
            statement = (
                sql.SQL("SELECT FROM {} WHERE ").format(sql.Identifier(table)).as_string(connection)
                + wanted
            )
            for number, string in enumerate(
                PARAMETERS["S"] if "S" in categories else PARAMETERS["N"]
            ):
                types = [
                    string if category == "S" else PARAMETERS["N"][number % len(PARAMETERS["N"])]
                    for category in categories
                ]
                plan = _plan(connection, types, statement)
                yield f"{index} by {', '.join(types)}", _found_by(plan, tuple(columns)), "\n".join(
                    plan
                )
        for title, statement, columns in FURTHER:
            plan = _plan(connection, ["integer"] * 3, statement)
            plan = [line for line in plan if "One-Time Filter" not in line]
            yield title, _found_by(plan, columns), "\n".join(plan)
