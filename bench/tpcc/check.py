"""The twelve consistency conditions, and the proof that each of them can fail."""

import re
from dataclasses import dataclass

import psycopg

from bench.lib.console import BenchError
from bench.tpcc.load import render

CONDITIONS = range(1, 13)


@dataclass(frozen=True)
class Corruption:
    """Damage that exactly these conditions must notice.

    The first one is the condition that the damage tests.
    """

    red: tuple[int, ...]
    title: str
    statements: str

    @property
    def condition(self) -> int:
        return self.red[0]


def corruptions() -> list[Corruption]:
    parts = re.split(r"^-- ([\d, ]+): (.+)\n", render("corruptions.sql"), flags=re.M)[1:]
    return [
        Corruption(tuple(map(int, red.split(","))), title, statements)
        for red, title, statements in zip(parts[0::3], parts[1::3], parts[2::3], strict=True)
    ]


def facts() -> list[tuple[str, str]]:
    """Return titles and statements.  The last one of the statements must return true."""
    parts = re.split(r"^-- fact: (.+)\n", render("facts.sql"), flags=re.M)[1:]
    return list(zip(parts[0::2], parts[1::2], strict=True))


def violations(connection: psycopg.Connection) -> dict[int, int]:
    """Return the number of violating rows by condition; nothing for a sound database."""
    connection.execute("SET work_mem = '128MB'")
    found = {}
    for number in CONDITIONS:
        (count,) = connection.execute(f"SELECT count(*) FROM violation_{number:02}").fetchone()
        if count:
            found[number] = count
    return found


def title(connection: psycopg.Connection, number: int) -> str:
    return connection.execute(
        "SELECT obj_description(%s::regclass)", [f"violation_{number:02}"]
    ).fetchone()[0]


def check(connection: psycopg.Connection, what: str) -> str:
    """Raise an error on a violation.  Otherwise return how many conditions were met."""
    found = violations(connection)
    if found:
        number, count = next(iter(found.items()))
        others = ", ".join(map(str, list(found)[1:]))
        raise BenchError(
            f"{what}: consistency condition {number} ({title(connection, number)}) is violated by {count} rows"
            f"{', and so are conditions ' + others if others else ''}; see view violation_{number:02}"
        )
    return f"{len(CONDITIONS)} of {len(CONDITIONS)}"


def proven_red(connection: psycopg.Connection, corruption: Corruption) -> tuple[int, ...]:
    """Do the damage, find out which conditions notice it, and roll it back."""
    with connection.transaction(force_rollback=True):
        result = connection.execute(corruption.statements)
        changed = [max(result.rowcount, 0)]
        while result.nextset():
            changed.append(max(result.rowcount, 0))
        if not all(changed):
            raise BenchError(f"the damage for condition {corruption.condition} changed no row")
        return tuple(violations(connection))


def is_true(connection: psycopg.Connection, statements: str) -> bool:
    """Return true if the last statement returns true.  Roll all effects back."""
    with connection.transaction(force_rollback=True):
        result = connection.execute(statements)
        while result.nextset():
            pass
        return result.fetchone() == (True,)
