"""Exact sizes of the nine tables."""

from dataclasses import asdict, dataclass

import psycopg
from psycopg import sql

from bench.tpcc.load import TABLES
from bench.vertical.partition import stored

PAGE = 8192

# The indexes of the given tables: index, table, definition
INDEXES = (
    "SELECT indexrelid::regclass::text, indrelid::regclass::text, pg_get_indexdef(indexrelid)"
    " FROM pg_index WHERE indrelid = ANY(%s::text[]::regclass[]) ORDER BY 2, 1"
)


@dataclass(frozen=True)
class TableSize:
    rows: int
    heap: int
    indexes: int
    # Mean bytes of a tuple with its header, before it is aligned on its page
    tuple: float

    @property
    def bytes_per_row(self) -> float:
        """Return the bytes of whole pages for each row.

        The bytes include page headers, line pointers, alignment and free space.
        """
        return self.heap / self.rows


def table_sizes(connection: psycopg.Connection, tuples: bool = True) -> dict[str, TableSize]:
    """Return the sizes of the tables.

    The size of a split table is that of both parts together.  Each part has as many rows as the
    table.
    """
    sizes = {}
    # A row as one value has the header and the layout of its tuple on the page.
    average = "avg(pg_column_size(t.*))" if tuples else "0"
    for name, parts in sorted(stored(connection, TABLES).items()):
        measured = [
            connection.execute(
                sql.SQL(
                    "SELECT count(*), {average}, pg_relation_size({name}), pg_indexes_size({name}) FROM {table} AS t"
                ).format(
                    average=sql.SQL(average), name=sql.Literal(part), table=sql.Identifier(part)
                )
            ).fetchone()
            for part in parts
        ]
        rows, widths, heaps, indexes = zip(*measured)
        sizes[name] = TableSize(rows[0], sum(heaps), sum(indexes), float(sum(widths)))
    return sizes


def heap_bytes(connection: psycopg.Connection) -> dict[str, int]:
    """Return the bytes of the heaps.

    This is quick enough to run between the phases of a measurement.
    """
    size = "SELECT sum(pg_relation_size(name::regclass))::bigint FROM unnest(%s::text[]) AS name"
    return {
        name: connection.execute(size, [parts]).fetchone()[0]
        for name, parts in stored(connection, TABLES).items()
    }


@dataclass(frozen=True)
class DatabaseSize:
    tables: dict[str, TableSize]
    database: int

    @property
    def heap(self) -> int:
        return sum(table.heap for table in self.tables.values())

    @property
    def indexes(self) -> int:
        return sum(table.indexes for table in self.tables.values())

    def as_json(self) -> dict[str, object]:
        return {
            "database": self.database,
            "heap": self.heap,
            "indexes": self.indexes,
            "tables": {name: asdict(size) for name, size in self.tables.items()},
        }


def database_size(connection: psycopg.Connection, tuples: bool = True) -> DatabaseSize:
    (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return DatabaseSize(table_sizes(connection, tuples), size)


def megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def row_size_rows(baseline: DatabaseSize, other: DatabaseSize) -> list[list[object]]:
    """Return a row for each table, to compare two databases.

    The row has the table, the number of rows, bytes a row in both with the change, and tuple bytes
    in both.
    """
    rows = []
    for name, before in baseline.tables.items():
        after = other.tables[name]
        # The size of a single page says nothing about the size of its rows.
        if before.heap <= PAGE:
            sizes = ["one page", "one page", ""]
        else:
            sizes = [
                f"{before.bytes_per_row:.1f}",
                f"{after.bytes_per_row:.1f}",
                percent(after.bytes_per_row / before.bytes_per_row),
            ]
        rows.append([name, f"{before.rows:,}", *sizes, f"{before.tuple:.1f}", f"{after.tuple:.1f}"])
    return rows


def stage_rows(baseline: DatabaseSize, others: list[DatabaseSize]) -> list[list[object]]:
    """Return rows with the total sizes, and with the change of each."""
    rows: list[list[object]] = []
    for title, pick in (
        ("heap of the nine tables", lambda size: size.heap),
        ("their indexes", lambda size: size.indexes),
        ("database", lambda size: size.database),
    ):
        cells = [
            f"{megabytes(pick(other))} ({percent(pick(other) / pick(baseline))})"
            for other in others
        ]
        rows.append([title, megabytes(pick(baseline)), *cells])
    return rows


def total_rows(baseline: DatabaseSize, other: DatabaseSize) -> list[list[object]]:
    return [
        [title, megabytes(before), megabytes(after), percent(after / before)]
        for title, before, after in (
            ("heap of the nine tables", baseline.heap, other.heap),
            ("their indexes", baseline.indexes, other.indexes),
            ("database", baseline.database, other.database),
        )
    ]
