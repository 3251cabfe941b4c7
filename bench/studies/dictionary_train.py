"""Train dictionaries with compact_types.train(), and give columns the types that it creates."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from bench.lib.console import BenchError
from bench.text_mix import Table
from bench.text_mix.held import is_for_training

# The rows of a large table, which train_as_large() trains for
ROWS = 100_000

# The values on which a dictionary is trained, the others, and these in all types
LEARNED, UNSEEN, STORED = "learned", "unseen", "stored"


@dataclass(frozen=True)
class Training:
    """What train() has returned.

    Without a type, the dictionary would save less than it takes.  Sizes are bytes of a value, and
    None if there were too few values.
    """

    type: str | None
    symbols: int
    values: int
    now: float | None
    compact: float | None
    after: float | None
    statement: str | None


def train(connection: psycopg.Connection, table: str, column: str) -> Training:
    row = connection.execute(
        "SELECT type::text, symbols, sampled_values, value_bytes_now, value_bytes_compact_text,"
        " value_bytes_after, statement FROM compact_types.train(%s::regclass, %s)",
        [table, column],
    ).fetchone()
    return Training(*row)


def train_as_large(connection: psycopg.Connection, table: str, column: str) -> Training:
    """Train as if the table had ROWS rows.

    So a small table gets a dictionary if that saves something, even if it takes more bytes.
    """
    connection.execute(f"UPDATE pg_class SET reltuples = {ROWS} WHERE oid = '{table}'::regclass")
    return train(connection, table, column)


def strings(table: Table) -> list[str]:
    """Return the names of the columns of strings."""
    return [name for name, type_name in table.columns if type_name == "text"]


def convert(
    connection: psycopg.Connection, table: str, columns: Sequence[str], large: bool = False
) -> list[str]:
    """Give each of the columns a dictionary, if train() makes one, and return the names of these.

    A column without a dictionary keeps its type.
    """
    converted = []
    for column in columns:
        # ALTER TABLE resets the number of rows.
        connection.execute(f"ANALYZE {table} ({column})")
        training = (train_as_large if large else train)(connection, table, column)
        if training.statement:
            connection.execute(training.statement)
            converted.append(column)
    return converted


def drop_types(connection: psycopg.Connection) -> None:
    """Drop the types.  A server has only some of them, so other columns may need them."""
    for (name,) in connection.execute(
        "SELECT extname FROM pg_extension WHERE extname LIKE 'trained\\_text%'"
    ).fetchall():
        connection.execute(f"DROP EXTENSION {name} CASCADE")


@contextmanager
def learned(connection: psycopg.Connection, values: Sequence[str]) -> Iterator[Training]:
    """Train on one half of the values, and store the other half, in the table STORED.

    The table has the columns value, compact and trained.  If there is no dictionary, trained is the
    same as compact.
    """
    for name, half in (
        (LEARNED, [value for value in values if is_for_training(value)]),
        (UNSEEN, [value for value in values if not is_for_training(value)]),
    ):
        if not half:
            raise BenchError("all values of a column are on the same side")
        connection.execute(f"CREATE TABLE {name} (value text)")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for value in half:
                copy.write_row((value,))
    training = train_as_large(connection, LEARNED, "value")
    connection.execute(
        f"CREATE TABLE {STORED} AS SELECT value, value::compact_text AS compact,"
        f" value::{training.type or 'compact_text'} AS trained FROM {UNSEEN}"
    )
    yield training
    connection.execute(f"DROP TABLE {LEARNED}, {UNSEEN}, {STORED}")
    drop_types(connection)
