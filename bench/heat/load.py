"""A table of key and value, and statements whose keys are unevenly popular.

The popular keys are scattered over the table.  A key is drawn by its rank: the continuous form of
Zipf's distribution, whose exponent may be less than 1, unlike in pgbench's random_zipfian().
"""

from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench.lib import pgbench
from bench.lib.server import Server

DATABASE = "heat"
TABLE = "items"
# Bytes of a row beside its payload: header, item identifier and the integers
OVERHEAD = 40
MB = 1024 * 1024
# Seconds in which all hot keys are replaced, one after the other, if the hot set drifts: a tenth of
# them a minute.
DRIFT = 600


@dataclass(frozen=True)
class Keys:
    """How keys are drawn.  theta is the exponent of Zipf's distribution; 0 is uniform."""

    name: str
    title: str
    theta: float
    drift: bool = False


KEYS = (
    Keys("zipf.080", "Zipf 0.8", 0.8),
    Keys("zipf.099", "Zipf 0.99", 0.99),
    Keys("zipf.120", "Zipf 1.2", 1.2),
    Keys("drift", "Zipf 0.99, a tenth of the hot rows replaced each minute", 0.99, drift=True),
    Keys("uniform", "all rows equally hot", 0),
)


def rows_for(memory: int, times: int, width: int) -> int:
    """Return how many rows of that width fill so many times the memory, which is in MB."""
    return times * memory * MB // (width + OVERHEAD)


def fill(server: Server, rows: int, width: int) -> None:
    """Create the table."""
    server.create_database(DATABASE)
    with server.connect(DATABASE) as connection:
        # No value is compressed, because the rows are smaller than the limit of TOAST.
        connection.execute(
            f"CREATE TABLE {TABLE} (id int PRIMARY KEY, changes int NOT NULL, payload text NOT NULL)"
        )
        connection.execute(
            f"INSERT INTO {TABLE} SELECT i, 0, left(repeat(md5(i::text), {width // 32 + 1}), {width})"
            f" FROM generate_series(1, {rows}) i"
        )
        connection.execute(f"VACUUM (FREEZE, ANALYZE) {TABLE}")
        connection.execute("CHECKPOINT")


def _rank(theta: float) -> str:
    """Return pgbench commands that set :rank to a number from 0 to :rows - 1."""
    if theta == 0:
        return "\\set rank random(0, :rows - 1)\n"
    return (
        "\\set u random(0, 1000000000) / 1000000000.0\n"
        f"\\set rank least(:rows - 1, int(pow(:u * (pow(:rows, {1 - theta}) - 1) + 1, {1 / (1 - theta)})) - 1)\n"
    )


# The key of a rank that changes each DRIFT seconds, at another time for each rank.  Neighbouring ranks
# change at different times, so that as many of the hottest ones change as of the others.
DRIFTING = (
    "abs(hashint4extended(:rank, floor((extract(epoch FROM now()) - :began) / {drift}"
    " + :rank * 37 % 97 / 97.0)::bigint) % :rows)::int + 1"
)


def script(directory: Path, keys: Keys, update: bool = False) -> pgbench.Script:
    """Write the script of one transaction, a statement on one row."""
    key = ":id"
    text = _rank(keys.theta)
    if keys.drift:
        key = DRIFTING.format(drift=DRIFT)
    else:
        text += "\\set id permute(:rank, :rows, :scattered) + 1\n"
    text += (
        f"UPDATE {TABLE} SET changes = changes + 1 WHERE id = {key};\n"
        if update
        else f"SELECT payload FROM {TABLE} WHERE id = {key};\n"
    )
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "statement.sql"
    path.write_text(text, encoding="utf-8")
    return pgbench.Script("statement", path, 1)


def variables(rows: int, seed: int, began: float) -> dict[str, object]:
    """Return the variables of the script.  Hot rows drift from the time "began" on."""
    return {"rows": rows, "scattered": seed, "began": int(began)}


def pages(connection: psycopg.Connection) -> int:
    return connection.execute(f"SELECT pg_relation_size('{TABLE}') / 8192").fetchone()[0]
