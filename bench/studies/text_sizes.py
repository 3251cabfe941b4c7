"""Savings of compact_text: bytes of the columns of the frozen mix, pages of text-heavy tables."""

from dataclasses import dataclass

import psycopg

from bench.lib.console import BenchError
from bench.text_mix import Table, columns, rows
from bench.tpcc.schema import ALIGNMENT

# Names in metrics that other code relies on
METRIC_NAMES = {"web_log": "weblog"}

# Types of columns that are not strings, chosen by the possible values, as an advisor would choose
# them
NARROW = {"timestamptz": "seconds4tz", ("web_log", "status"): "uint2"}


@dataclass(frozen=True)
class ColumnSize:
    name: str
    values: int
    text: float
    compact: float

    @property
    def ratio(self) -> float:
        return self.compact / self.text


def mix_sizes(connection: psycopg.Connection) -> list[ColumnSize]:
    """Return the stored bytes a value, with its header, for each column.

    Raise an error if a value comes back changed, or takes more bytes.
    """
    connection.execute("CREATE TABLE mix (place integer, value text)")
    with connection.cursor().copy("COPY mix FROM STDIN") as copy:
        for place, column in enumerate(columns()):
            for value in column.values:
                copy.write_row((place, value))
    connection.execute(
        "CREATE TABLE mix_compact AS SELECT place, value, value::compact_text AS compact FROM mix"
    )
    sizes = []
    for place, values, text, compact, changed, larger in connection.execute(
        "SELECT place, count(*), avg(pg_column_size(value)), avg(pg_column_size(compact)),"
        " count(*) FILTER (WHERE compact::text <> value),"
        " count(*) FILTER (WHERE pg_column_size(compact) > pg_column_size(value))"
        " FROM mix_compact GROUP BY place ORDER BY place"
    ).fetchall():
        name = columns()[place].name
        if changed or larger:
            raise BenchError(
                f"compact_text: {changed} values of {name} came back changed, {larger} got larger"
            )
        sizes.append(ColumnSize(name, values, float(text), float(compact)))
    return sizes


@dataclass(frozen=True)
class Sizes:
    rows: int
    heap: int
    indexes: int


def _types(table: Table, compact: bool, narrow: bool) -> list[tuple[str, str]]:
    """Return names and types of the columns.  If narrow, sort them for the least padding."""
    chosen = []
    for name, type_name in table.columns:
        if compact and type_name == "text":
            type_name = "compact_text"
        if narrow:
            type_name = NARROW.get((table.name, name)) or NARROW.get(type_name, type_name)
        chosen.append((name, type_name))
    if narrow:
        widths = {**ALIGNMENT, "timestamptz": 8, "seconds4tz": 4, "date": 4}
        chosen.sort(key=lambda column: -widths.get(column[1], 0))
    return chosen


def fill(connection: psycopg.Connection, table: Table, name: str, count: int | None = None) -> None:
    """Create and fill a table with the generator's own types."""
    definitions = ", ".join(f"{column} {type_name}" for column, type_name in table.columns)
    connection.execute(f"CREATE TABLE {name} ({definitions})")
    with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
        for row in rows(table, count):
            copy.write_row(row)


def with_indexes(connection: psycopg.Connection, table: Table, name: str) -> Sizes:
    """Index the number of the row and each string, and return the sizes."""
    # COPY extends a table by more pages than it fills.
    connection.execute(f"VACUUM (FULL, FREEZE, ANALYZE) {name}")
    connection.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")
    for column, type_name in table.columns:
        if type_name == "text":
            connection.execute(f"CREATE INDEX ON {name} ({column})")
    return Sizes(
        *connection.execute(
            f"SELECT count(*), pg_relation_size('{name}'), pg_indexes_size('{name}') FROM {name}"
        ).fetchone()
    )


def table_sizes(
    connection: psycopg.Connection, table: Table, count: int | None
) -> tuple[Sizes, Sizes, Sizes]:
    """Return sizes of heap and indexes: as text, with compact_text only, and with all types."""
    fill(connection, table, table.name, count)
    sizes = [with_indexes(connection, table, table.name)]
    for suffix, narrow in (("text", False), ("all", True)):
        name = f"{table.name}_{suffix}"
        chosen = _types(table, True, narrow)
        connection.execute(
            f"CREATE TABLE {name} ({', '.join(f'{column} {type_name}' for column, type_name in chosen)})"
        )
        names = ", ".join(column for column, _ in chosen)
        connection.execute(f"INSERT INTO {name} ({names}) SELECT {names} FROM {table.name}")
        sizes.append(with_indexes(connection, table, name))
    return sizes[0], sizes[1], sizes[2]
