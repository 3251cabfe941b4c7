"""Time and size of narrow scalars against their wide twins."""

from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from bench.lib.bars import NOT_MEASURED
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.statistics import Ratio
from bench.lib.timing import Clock, Comparison, Test
from bench.tpcc.load import create_extensions

TITLE = "narrow scalars"
COLUMNS = 4
KINDS = ("narrow", "wide")


@dataclass(frozen=True)
class Pair:
    """A narrow type, its wide twin, and an expression of n that gives values of the twin.

    keys is the number of different values.
    """

    narrow: str
    wide: str
    value: str
    keys: int
    aggregate: str = "sum"

    @property
    def name(self) -> str:
        return self.narrow.removeprefix("compact_")

    def type(self, kind: str) -> str:
        return self.narrow if kind == "narrow" else self.wide


PAIRS = (
    Pair("uint1", "smallint", "(n % 256)::smallint", 256),
    Pair("int1", "smallint", "(n % 256 - 128)::smallint", 256),
    Pair("uint2", "integer", "(n % 65536)::integer", 65536),
    Pair("uint3", "integer", "n::integer", 10**7),
    Pair(
        "seconds4", "timestamp", "timestamp '2025-01-01' + n * interval '1 minute'", 10**9, "max"
    ),
    Pair("compact_decimal4_2", "numeric(9,2)", "(n * 1.37)::numeric(9,2)", 10**9),
    Pair("compact_decimal8_2", "numeric(12,2)", "(n * 1234.37)::numeric(12,2)", 10**9),
)
EXTENSIONS = ("compact_types", "compact_decimal4_2", "compact_decimal8_2")
TESTS = ("aggregate", "filter", "sort", "lookup")


class Study:
    def __init__(
        self, _server: Server, result: Result, rows: int, rounds: int, _collation: str
    ) -> None:
        self.result = result
        self.rows = rows
        # Half as many rounds as for fixed strings, to end in time
        self.rounds = (rounds + 1) // 2

    @property
    def steps(self) -> int:
        # Lookups need more keys than a byte has values.
        tests = sum(len(TESTS) - (pair.keys <= 256) for pair in PAIRS)
        return tests * len(KINDS) * self.rounds

    def prepare(self, connection: psycopg.Connection) -> None:
        create_extensions(connection, EXTENSIONS)
        for pair in PAIRS:
            for kind in reversed(KINDS):
                table, type_name = f"{pair.name}_{kind}", pair.type(kind)
                definitions = ", ".join(f"v{number} {type_name}" for number in range(COLUMNS))
                values = ", ".join(
                    pair.value.replace("n ", f"(n + {number}) ") for number in range(COLUMNS)
                )
                connection.execute(f"CREATE TABLE {table} ({definitions})")
                connection.execute(
                    f"INSERT INTO {table} SELECT {values} FROM (SELECT i * 7919 % {self.rows} AS n"
                    f" FROM generate_series(1::bigint, {self.rows}) AS i) AS numbers"
                )
                keys = min(pair.keys, self.rows)
                connection.execute(
                    f"CREATE TABLE {table}_keys (k {type_name});"
                    f"INSERT INTO {table}_keys"
                    f" SELECT {pair.value} FROM generate_series(0, {keys - 1}) AS n ORDER BY hashint8(n);"
                    f"ALTER TABLE {table}_keys ADD PRIMARY KEY (k)"
                )
            # Clients send values of the wide type.
            connection.execute(
                f"CREATE TABLE {pair.name}_probes AS SELECT k FROM {pair.name}_wide_keys LIMIT 20000"
            )
        connection.execute("VACUUM (FREEZE, ANALYZE)")
        connection.execute("CHECKPOINT")

    def measure(
        self, connection: psycopg.Connection, _lookups: int, advance: Callable[[], None]
    ) -> None:
        rows = [self.pair(connection, pair, advance) for pair in PAIRS]
        self.result.table(
            f"Narrow scalars against the wide types that they replace, {self.rows:,} rows of {COLUMNS} values: ratios of"
            " time, with their interval, and of whole pages",
            [
                "type",
                "wide type",
                "sum or max",
                "filter",
                "sort",
                "lookup by the wide type",
                "heap",
                "index",
            ],
            rows,
            "scalars",
        )

    def pair(
        self, connection: psycopg.Connection, pair: Pair, advance: Callable[[], None]
    ) -> list[object]:
        comparison = Comparison(
            self.result, Clock(connection), KINDS, self.rounds, advance, f"{pair.name}."
        )
        (middle,) = connection.execute(
            f"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v3)::text FROM {pair.name}_wide"
        ).fetchone()
        wide = pair.wide.partition("(")[0]
        statements = {
            "aggregate": f"SELECT {pair.aggregate}(v3) FROM {pair.name}_{{}}",
            "filter": f"SELECT count(*) FROM {pair.name}_{{}} WHERE v3 < '{middle}'::{wide}",
            "sort": f"SELECT count(*) FROM (SELECT v0 FROM {pair.name}_{{}} ORDER BY v0 OFFSET 0) AS sorted",
            "lookup": f"SELECT count(*) FROM {pair.name}_probes AS p JOIN {pair.name}_{{}}_keys AS o ON o.k = p.k",
        }
        connection.execute(
            "SET enable_mergejoin = off; SET enable_hashjoin = off; SET enable_memoize = off"
        )
        ratios: dict[str, Ratio | str] = dict.fromkeys(statements, "")
        for name, statement in statements.items():
            if name == "lookup" and pair.keys <= 256:
                continue
            test = Test(name if name != "aggregate" else pair.aggregate, name)
            comparison.run(test, lambda kind, text=statement: connection.execute(text.format(kind)))
            ratios[name] = comparison.ratio(test, "wide") or NOT_MEASURED
        comparison.rows()
        connection.execute("RESET enable_mergejoin; RESET enable_hashjoin; RESET enable_memoize")
        return [pair.narrow, pair.wide, *ratios.values(), *self.sizes(connection, pair)]

    def sizes(self, connection: psycopg.Connection, pair: Pair) -> list[str]:
        cells = []
        for name, size in (
            ("heap", "pg_relation_size('{}')"),
            ("index", "pg_relation_size('{}_keys_pkey')"),
        ):
            narrow, wide = connection.execute(
                f"SELECT {', '.join(size.format(f'{pair.name}_{kind}') for kind in KINDS)}"
            ).fetchone()
            self.result.metrics[f"{pair.name}.{name}"] = narrow / wide
            cells.append(f"{narrow / wide:.3f}")
        return cells
