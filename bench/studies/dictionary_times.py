"""Time of strings with a trained dictionary, against text and compact_text, and time of training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jinja2
import psycopg

from bench import text_mix
from bench.lib.console import BenchError, note
from bench.lib.result import Result
from bench.lib.statistics import interleave, spread
from bench.lib.timing import Clock, Comparison, Test, copy_in, copy_out
from bench.studies.dictionary_sizes import TABLES, table_rows
from bench.studies.dictionary_train import (
    STORED,
    Training,
    convert,
    drop_types,
    learned,
    strings,
    train_as_large,
)
from bench.studies.text_sizes import fill
from bench.studies.types_speed_text import PASSES, REPEATS
from bench.text_mix import Dice, Table, held

# The first kind is compared with the others.
KINDS = ("trained", "text", "compact_text")
COLLATION = "C"

# Columns of the frozen mix whose values are encoded and decoded one by one.
CODEC_COLUMNS = ("email", "url", "timestamp", "user_agent", "log_line", "review", "json_event")
# A statement encodes a string that it repeats once.  If a column has fewer different values than
# this, the time to encode it is left out of the time of several columns.
FEWEST_STRINGS = 1024
# Bytes of a value in the columns of decode_ns.24 and of decode_gbs.100, on average
SHORT, LONG = (16, 32), (80, 130)

QUERIES = (
    (
        Test("like", "filter: SQL statement LIKE '%join%'"),
        "SELECT count(*) FROM texts_{kind} WHERE body LIKE '%join%'",
    ),
    (
        Test("sort", "sort by a key of 24 bytes"),
        "SELECT count(*) FROM (SELECT k FROM text_keys_{kind} ORDER BY k OFFSET 0) AS sorted",
    ),
    (
        Test("sort.statement", "sort by an SQL statement"),
        "SELECT count(*) FROM (SELECT body FROM texts_{kind} ORDER BY body OFFSET 0) AS sorted",
    ),
)
DISTINCT = Test("distinct", "distinct user agents of a web log, by a hash table")
HASH_INDEX = Test("hash_index", "CREATE INDEX USING hash on a key of 24 bytes")

# The values of which the training is timed, and the most repeats of it
TRAINED_VALUES, TRAINED_LENGTH, TRAININGS = 100_000, 50, 5


@dataclass(frozen=True)
class Cost:
    """Nanoseconds of one conversion of a column's value in each round, by what is done."""

    name: str
    size: float
    strings: int
    times: dict[str, list[float]]

    @property
    def repeats(self) -> bool:
        return self.strings < FEWEST_STRINGS

    def within(self, sizes: tuple[int, int]) -> bool:
        return sizes[0] <= self.size <= sizes[1]


def together(costs: Sequence[Cost], what: str) -> list[float]:
    """Return the sum of the columns in each round.  The least is the resolution of the clock."""
    return [max(sum(row), 0.1) for row in zip(*(cost.times[what] for cost in costs))]


def shown(values: Sequence[float], digits: int = 1) -> str:
    middle, low, high = spread(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


class Study:
    def __init__(
        self,
        connection: psycopg.Connection,
        result: Result,
        rows: int,
        rounds: int,
        advance: Callable[[], None],
    ) -> None:
        self.connection = connection
        self.result = result
        self.rows = rows
        self.rounds = rounds
        self.advance = advance
        self.clock = Clock(connection)
        self.tables = [table for table in text_mix.tables() if table.name in TABLES]
        self.comparison = Comparison(result, self.clock, KINDS, rounds, advance)

    @property
    def steps(self) -> int:
        tests = len(QUERIES) + 2 + 2 * len(self.tables)
        return len(CODEC_COLUMNS) + len(KINDS) * self.rounds * tests + self.trainings

    @property
    def trainings(self) -> int:
        return min(self.rounds, TRAININGS)

    def measure(self) -> None:
        self.codecs()
        self.queries()
        self.copies()
        self.result.table(
            f"Medians, collation {COLLATION}, {self.rows:,} rows; ratios of pairs with their interval",
            ["", *KINDS, *(f"to {kind}" for kind in KINDS[1:])],
            # The last cell is for a promise.  The table of promises has them all.
            [row[:-1] for row in self.comparison.rows()],
            "times",
        )
        self.training()

    # --- one conversion ----------------------------------------------------

    def codecs(self) -> None:
        """Measure the cost of a conversion of values that were not used for training."""
        costs = []
        for name in CODEC_COLUMNS:
            with learned(self.connection, text_mix.column(name).values) as training:
                if training.type:
                    costs.append(self.cost(name, training))
                else:
                    note(f"{name}: no dictionary, so its conversions are left out")
            self.advance()
        title = "Time of one conversion, less the time to copy the same text: median (smallest to largest)"
        repeating = [cost.name for cost in costs if cost.repeats]
        if 0 < len(repeating) < len(costs):
            title += (
                f". Encoding of several columns together is without {', '.join(repeating)},"
                " whose strings repeat"
            )
        self.result.table(
            title,
            [
                "column of the mix",
                "bytes",
                "encode, ns a byte",
                "compact_text",
                "decode, ns",
                "compact_text",
                "decode, GB/s",
                "compact_text",
            ],
            [self.codec_row(cost.name, [cost]) for cost in costs] + self.codec_groups(costs),
            "codecs",
        )

    def cost(self, name: str, training: Training) -> Cost:
        expressions = {
            # This function on text does nothing but allocate a copy.
            "copy": "octet_length(ltrim(value, ''))",
            "decode": "octet_length(trained::text)",
            "encode": f"pg_column_size(value::{training.type})",
            "compact_text.decode": "octet_length(compact::text)",
            "compact_text.encode": "pg_column_size(value::compact_text)",
        }
        count, size, strings = self.connection.execute(
            "SELECT count(*), avg(octet_length(value))::float8, count(DISTINCT value)"
            f" FROM {STORED}"
        ).fetchone()
        times: dict[str, list[float]] = {what: [] for what in expressions}
        for _, what in interleave(tuple(expressions), self.rounds):
            terms = " + ".join([expressions[what]] * REPEATS)
            # Encoding takes longer than decoding and copying.
            passes = PASSES if what.endswith("encode") else 4 * PASSES
            statement = f"SELECT sum({terms}) FROM {STORED}, generate_series(1, {passes})"
            seconds = self.clock.measure(self.connection.execute, statement)
            times[what].append(seconds / (count * REPEATS * passes) * 1e9)
            self.result.samples.append(
                {
                    "test": f"codec.{name}",
                    "type": what,
                    "seconds": seconds,
                    "unit": self.clock.kind,
                }
            )
        copies = times.pop("copy")
        return Cost(
            name,
            size,
            strings,
            {
                what: [one - copy for one, copy in zip(taken, copies)]
                for what, taken in times.items()
            },
        )

    def codec_groups(self, costs: Sequence[Cost]) -> list[list[object]]:
        """Return rows for the columns of about 24 and of about 100 bytes, and for all columns."""
        rows = []
        for name, title, group in (
            ("24", "about 24 bytes", [cost for cost in costs if cost.within(SHORT)]),
            ("100", "about 100 bytes", [cost for cost in costs if cost.within(LONG)]),
            ("", "all these columns", list(costs)),
        ):
            if group:
                rows.append(self.codec_row(name, group, title))
        return rows

    def codec_row(self, name: str, costs: Sequence[Cost], title: str = "") -> list[object]:
        """Return the row of some columns together, and add their metrics."""
        size = sum(cost.size for cost in costs)
        various = [cost for cost in costs if not cost.repeats] or costs
        various_size = sum(cost.size for cost in various)
        cells: dict[str, list[str]] = {"encode_ns_byte": [], "decode_ns": [], "decode_gbs": []}
        for prefix in ("", "compact_text."):
            encode = together(various, prefix + "encode")
            decode = together(costs, prefix + "decode")
            for metric, values, digits in (
                ("encode_ns_byte", [ns / various_size for ns in encode], 2),
                ("decode_ns", [ns / len(costs) for ns in decode], 1),
                ("decode_gbs", [size / ns for ns in decode], 2),
            ):
                place = f"{metric}.{name}" if name else metric
                self.result.metrics[prefix + place] = spread(values)[0]
                cells[metric].append(shown(values, digits))
        return [
            title or name,
            f"{size / len(costs):.1f}",
            *(cell for both in cells.values() for cell in both),
        ]

    # --- queries and COPY ---------------------------------------------------

    def queries(self) -> None:
        self.prepare_texts()
        for test, statement in QUERIES:
            self.comparison.run(test, self.query(statement))
        self.comparison.run(
            HASH_INDEX,
            self.query("CREATE INDEX hashed_{kind} ON text_keys_{kind} USING hash (k)"),
            self.query("DROP INDEX IF EXISTS hashed_{kind}"),
        )
        for name in (
            "mix",
            *(
                f"{table}_{kind}"
                for table in ("texts", "text_codes", "text_keys")
                for kind in KINDS
            ),
        ):
            self.connection.execute(f"DROP TABLE {name}")
        drop_types(self.connection)

    def query(self, statement: str) -> Callable[[str], object]:
        return lambda kind: self.connection.execute(statement.replace("{kind}", kind))

    def prepare_texts(self) -> None:
        """Create the tables of types-speed, with SQL statements in the place of descriptions.

        Each statement is in several rows, with a number behind it.  The dictionary is trained on
        each statement once, so it does not learn whole statements.
        """
        body = held.column("sql")
        self.connection.execute("CREATE TABLE mix (name text, number integer, value text)")
        with self.connection.cursor().copy("COPY mix FROM STDIN") as copy:
            for number, value in enumerate(body.values):
                copy.write_row((body.name, number, value))
        template = (Path(__file__).parent / "sql" / "types_speed_text.sql").read_text(
            encoding="utf-8"
        )
        types = {kind: "compact_text" if kind == "trained" else kind for kind in KINDS}
        self.connection.execute(
            jinja2.Template(template).render(
                rows=self.rows,
                seed=self.result.seed,
                body=body.name,
                bodies=len(body.values),
                types=types.items(),
                collation=COLLATION,
            )
        )
        trained = train_as_large(self.connection, "mix", "value").type
        if not trained:
            raise BenchError("SQL statements get no dictionary")
        self.connection.execute(
            f'ALTER TABLE texts_trained ALTER COLUMN body TYPE {trained} COLLATE "{COLLATION}"'
        )
        self.convert("text_keys_trained", ["k"])
        self.settle()

    def convert(self, table: str, columns: Sequence[str]) -> None:
        converted = convert(self.connection, table, columns, large=True)
        if left := [name for name in columns if name not in converted]:
            note(f"{table}: no dictionary for {', '.join(left)}")

    def settle(self) -> None:
        self.connection.execute("VACUUM (FREEZE, ANALYZE)")
        self.connection.execute("CHECKPOINT")

    def copies(self) -> None:
        """Measure COPY of each table in and out, and one query.

        The tables come one after the other, because a server has too few types for all.
        """
        for table in self.tables:
            lines = self.prepare_table(table)
            names = {kind: f"{table.name}_{kind}" for kind in KINDS}
            if table.name == "web_log":
                self.comparison.run(
                    DISTINCT,
                    self.query(
                        "SELECT count(*) FROM (SELECT DISTINCT user_agent FROM web_log_{kind}) AS agents"
                    ),
                )
            self.comparison.run(
                Test(f"copy.{table.name}", f"COPY FROM {table.name}"),
                lambda kind, names=names, lines=lines: copy_in(self.connection, names[kind], lines),
                self.query(f"TRUNCATE {table.name}_{{kind}}"),
            )
            self.comparison.run(
                Test(f"copy_out.{table.name}", f"COPY TO {table.name}"),
                lambda kind, names=names: copy_out(self.connection, names[kind]),
            )
            self.connection.execute(f"DROP TABLE {', '.join(names.values())}")
            drop_types(self.connection)
        for way, title in (("copy", "COPY FROM"), ("copy_out", "COPY TO")):
            test = Test(f"{way}.text", f"{title}: the tables together")
            for kind in KINDS:
                taken = [
                    self.comparison.times[f"{way}.{table.name}"][kind] for table in self.tables
                ]
                for seconds in zip(*taken):
                    self.comparison.record(test, kind, sum(seconds), self.clock.kind)

    def prepare_table(self, table: Table) -> bytes:
        """Create and fill the table of each kind, and return its lines for COPY."""
        fill(self.connection, table, f"{table.name}_text", table_rows(table, self.rows // 5))
        for kind in ("trained", "compact_text"):
            other = replace(table, name=f"{table.name}_{kind}")
            self.connection.execute(other.create("compact_text"))
            self.connection.execute(f"INSERT INTO {other.name} SELECT * FROM {table.name}_text")
        self.convert(f"{table.name}_trained", strings(table))
        self.settle()
        return copy_out(self.connection, f"{table.name}_text")

    # --- training ------------------------------------------------------------

    def training(self) -> None:
        """Measure the time that a call of train() takes, by the server's clock and as CPU time."""
        dice = Dice("dictionary.training")
        values = self.rows if self.result.quick else TRAINED_VALUES
        self.connection.execute("CREATE TABLE lines (value text)")
        with self.connection.cursor().copy("COPY lines FROM STDIN") as copy:
            for _ in range(values):
                text = text_mix.note(dice)
                while len(text) < TRAINED_LENGTH:
                    text += f" {text_mix.note(dice)}"
                copy.write_row((text[:TRAINED_LENGTH],))
        self.connection.execute("VACUUM (FREEZE, ANALYZE) lines")
        elapsed: list[float] = []
        spent = []
        for _ in range(self.trainings):
            with self.connection.transaction(force_rollback=True):
                spent.append(self.clock.measure(lambda: elapsed.append(self.train_once())))
            self.result.samples.append(
                {"test": "train", "seconds": elapsed[-1], self.clock.kind: spent[-1]}
            )
            self.advance()
        self.result.metrics |= {
            "train.seconds": spread(elapsed)[0],
            "train.cpu_seconds": spread(spent)[0],
        }
        self.result.table(
            f"Seconds of train(): {values:,} values of {TRAINED_LENGTH} bytes, median (smallest to largest)",
            ["", "seconds"],
            [
                ["elapsed, by the server's clock", shown(elapsed, 2)],
                [f"{self.clock.kind} time of the backend", shown(spent, 2)],
            ],
            "training",
        )

    def train_once(self) -> float:
        # The statement's time stamp is from before the call, the clock is read after it.
        (seconds,) = self.connection.execute(
            "SELECT extract(epoch FROM clock_timestamp() - statement_timestamp())::float8"
            " FROM compact_types.train('lines', 'value')"
        ).fetchone()
        return seconds
