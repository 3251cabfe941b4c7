"""Build indexes at an alignment, verify that they have it, and compute their expected size."""

import psycopg
from psycopg import sql

from bench.indexes.shapes import Shape
from bench.lib.console import BenchError

SETTING = "default_index_item_alignment"
AUTO, MAX = "auto", "max"
# The stock release, which has no such setting and builds at MAX
STOCK = "stock"
MAXALIGN = 8

# The alignment that the server promises for an index built at AUTO
NEEDED = (
    "SELECT max(CASE attalign WHEN 'd' THEN 8 WHEN 'i' THEN 4 ELSE 2 END)"
    " FROM pg_attribute WHERE attrelid = %s::regclass"
)
# The alignment of an index, which two bits of pd_flags in its metapage tell
ACTUAL = "SELECT 8 >> ((flags & 768) >> 8) FROM page_header(get_raw_page(%s, 0))"

# Bytes on a leaf page: the line pointer of a tuple, a heap TID, and the largest tuple with a
# posting list
LINE_POINTER = 4
TID = 6
POSTING = 812
# Bytes of a tuple's header, without and with NULLs in the tuple
HEADER, HEADER_NULLS = 8, 16
# Bytes of the header of a row value, whose other bytes have the layout of the index tuple
ROW_HEADER = 24

BOUND = """
WITH tuples AS (
    SELECT pg_column_size(ROW({columns})) - {row_header}
            + CASE WHEN num_nulls({columns}) > 0 THEN {header_nulls} ELSE {header} END AS size,
        {tids} AS tids
    FROM {table} {grouping}
), bases AS (
    SELECT (size + {align} - 1) / {align} * {align} AS base, tids FROM tuples
), lists AS (
    SELECT base, tids, ({posting} / {align} * {align} - base) / {tid} AS most FROM bases
)
SELECT sum(tids / most * ((base + {tid} * most + {align} - 1) / {align} * {align} + {line_pointer})
    + CASE tids % most
        WHEN 0 THEN 0
        WHEN 1 THEN base + {line_pointer}
        ELSE (base + {tid} * (tids % most) + {align} - 1) / {align} * {align} + {line_pointer}
    END)
FROM lists
"""


def require(connection: psycopg.Connection) -> None:
    if not connection.execute("SELECT 1 FROM pg_settings WHERE name = %s", [SETTING]).fetchone():
        raise BenchError(
            f'the server has no setting "{SETTING}": index_align is not in it, run "make server"'
        )


def choose(connection: psycopg.Connection, kind: str) -> None:
    """Choose the alignment of the indexes that this session builds from now on."""
    if kind != STOCK:
        connection.execute(
            sql.SQL("SET {} = {}").format(sql.Identifier(SETTING), sql.Identifier(kind))
        )


def wanted(connection: psycopg.Connection, index: str, kind: str) -> int:
    """Return the alignment of an index that is built by this kind of session."""
    if kind != AUTO:
        return MAXALIGN
    (align,) = connection.execute(NEEDED, [index]).fetchone()
    return align


def actual(connection: psycopg.Connection, index: str) -> int:
    (align,) = connection.execute(ACTUAL, [index]).fetchone()
    return align


def verify(connection: psycopg.Connection, index: str, kind: str) -> int:
    """Return the alignment of an index.

    Raise an error if it is not the alignment that the kind of session stands for.
    """
    expected, found = wanted(connection, index, kind), actual(connection, index)
    if found != expected:
        raise BenchError(
            f'index "{index}" was built with alignment {found}, not {expected}, by {kind}'
        )
    return found


def leaf_bytes(connection: psycopg.Connection, shape: Shape, table: str, align: int) -> int:
    """Return the bytes of the leaf tuples and their line pointers.

    A tuple with its line pointer takes TYPEALIGN(align, header + key) + 4 bytes.  Equal keys of an
    index that is not unique share tuples with posting lists, which end in the TIDs.
    """
    columns = ", ".join(shape.names)
    query = BOUND.format(
        columns=columns,
        table=table,
        align=align,
        tids="count(*)" if shape.deduplicated else "1",
        grouping=f"GROUP BY {columns}" if shape.deduplicated else "",
        row_header=ROW_HEADER,
        header=HEADER,
        header_nulls=HEADER_NULLS,
        posting=POSTING,
        tid=TID,
        line_pointer=LINE_POINTER,
    )
    (total,) = connection.execute(query).fetchone()
    return int(total)


def index_size(connection: psycopg.Connection, index: str) -> int:
    (size,) = connection.execute("SELECT pg_relation_size(%s::regclass)", [index]).fetchone()
    return size
