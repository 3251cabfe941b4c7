"""Time of compact_text against text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2
import psycopg

from bench import text_mix
from bench.lib.bars import Bar, verdict
from bench.lib.console import note
from bench.lib.paths import work
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.statistics import interleave, spread
from bench.lib.timing import Clock, Comparison, Test, copy_in, copy_out
from bench.studies.text_sizes import fill
from bench.tpcc import load as tpcc

TITLE = "compact_text"
TYPES = {"compact": "compact_text", "text": "text"}
PREFIX = "compact_text."

# Highest ratios to text that the project accepts.
TPCC_BAR = 1.5
TEXT_BAR = 3.5
# Highest ns to decode a value, lowest GB/s to decode, and highest ns to encode a byte
DECODE_NS = 20
DECODE_GB = 1.0
ENCODE_NS_BYTE = 25

# Columns of the frozen mix whose values are encoded and decoded one by one.
CODEC_COLUMNS = (
    "tpcc_string_24",
    "tpcc_c_data",
    "uuid",
    "email",
    "description",
    "note",
    "review",
    "json_event",
    "japanese_note",
)
# Conversions of a value in one row of a query, and passes over the values.
REPEATS = 8
PASSES = 4

QUERIES = (
    (
        Test("filter", "filter: equal to a description"),
        "SELECT count(*) FROM texts_{kind} WHERE body = '{body}'",
    ),
    (
        Test("like", "filter: description LIKE '%library%'"),
        "SELECT count(*) FROM texts_{kind} WHERE body LIKE '%library%'",
    ),
    (Test("sum_late", "sum of the integer behind the strings"), "SELECT sum(z) FROM texts_{kind}"),
    (
        Test("sort", "sort by a 24-character string"),
        "SELECT count(*) FROM (SELECT code FROM texts_{kind} ORDER BY code OFFSET 0) AS sorted",
    ),
    (
        Test("sort.description", "sort by the description"),
        "SELECT count(*) FROM (SELECT body FROM texts_{kind} ORDER BY body OFFSET 0) AS sorted",
    ),
    (
        Test("hash_join", "hash join on a 24-character string"),
        "SELECT count(*) FROM texts_{kind} JOIN text_codes_{kind} USING (code)",
    ),
)
TPCC_TABLES = ("order_line", "stock", "customer")
LOOKUP = Test("lookup", "lookup by key", microseconds=True)


@dataclass(frozen=True)
class Source:
    """A table to copy in and out: the lines for COPY, and a pattern of the tables of both kinds."""

    group: str
    name: str
    table: str
    lines: bytes


class Study:
    def __init__(
        self, server: Server, result: Result, rows: int, rounds: int, collation: str
    ) -> None:
        self.server = server
        self.result = result
        self.rows = rows
        # Half as many rounds as for fixed strings, to end in time
        self.rounds = (rounds + 1) // 2
        self.collation = collation
        self.sources: list[Source] = []
        self.tables = text_mix.tables()
        self.columns = [name for name in CODEC_COLUMNS if text_mix.here(f"column.{name}")]

    @property
    def steps(self) -> int:
        copies = 2 * (len(TPCC_TABLES) + len(self.tables))
        return len(TYPES) * self.rounds * (len(QUERIES) + 1 + copies) + 3 * self.rounds * len(
            self.columns
        )

    def prepare(self, connection: psycopg.Connection) -> None:
        connection.execute("CREATE TABLE mix (name text, number integer, value text)")
        values = {name: text_mix.column(name).values for name in self.columns}
        body = "description" if "description" in values else "review"
        if body != "description":
            note(
                "reviews of the text mix stand in for descriptions, which are left out on this machine"
            )
        with connection.cursor().copy("COPY mix FROM STDIN") as copy:
            for name in self.columns:
                for number, value in enumerate(values[name]):
                    copy.write_row((name, number, value))
        template = (Path(__file__).parent / "sql" / "types_speed_text.sql").read_text(
            encoding="utf-8"
        )
        connection.execute(
            jinja2.Template(template).render(
                rows=self.rows,
                seed=self.result.seed,
                body=body,
                bodies=len(values[body]),
                types=TYPES.items(),
                collation=self.collation,
            )
        )
        for name in self.columns:
            connection.execute(
                f"CREATE TABLE codec_{name} AS"
                f" SELECT value AS t, value::compact_text AS c FROM mix WHERE name = '{name}'"
            )
        self.prepare_tpcc(connection)
        self.prepare_tables(connection)
        connection.execute("VACUUM (FREEZE, ANALYZE)")
        connection.execute("CHECKPOINT")

    def prepare_tpcc(self, connection: psycopg.Connection) -> None:
        """Create the three tables that make up most of a warehouse, as text and as compact_text.

        Their proportions are those of TPC-C.
        """
        scale = tpcc.Scale(items=self.rows // 20, customers=max(1, self.rows // 700))
        variables = {
            "scale": scale,
            "seed": self.result.seed,
            "c_last_load": tpcc.C_LAST_LOAD,
            "undelivered": "NULL",
            "w": 1,
        }
        for kind, type_name in reversed(TYPES.items()):
            connection.execute(f"CREATE SCHEMA tpcc_{kind}; SET search_path = tpcc_{kind}, public")
            connection.execute(
                re.sub(r"\b(?:var)?char\(\d+\)", type_name, tpcc.render("tables.sql"))
            )
        connection.execute("SET search_path = tpcc_text, public; SET check_function_bodies = off")
        connection.execute(tpcc.render("functions.sql"))
        connection.execute(tpcc.render("load_functions.sql", **variables))
        for table in TPCC_TABLES:
            connection.execute(tpcc.render(f"load/{table}.sql", **variables))
        connection.execute("RESET search_path; RESET check_function_bodies")
        for table in TPCC_TABLES:
            self.sources.append(
                Source(
                    "tpcc",
                    table,
                    f"tpcc_{{kind}}.{table}",
                    copy_out(connection, f"tpcc_text.{table}"),
                )
            )

    def prepare_tables(self, connection: psycopg.Connection) -> None:
        for table in self.tables:
            fill(connection, table, f"{table.name}_text", self.rows // 20)
            definitions = ", ".join(
                f"{name} {'compact_text' if type_name == 'text' else type_name}"
                for name, type_name in table.columns
            )
            connection.execute(f"CREATE TABLE {table.name}_compact ({definitions})")
            lines = copy_out(connection, f"{table.name}_text")
            self.sources.append(Source("text", table.name, f"{table.name}_{{kind}}", lines))

    def measure(
        self, connection: psycopg.Connection, lookups: int, advance: Callable[[], None]
    ) -> None:
        comparison = Comparison(
            self.result, Clock(connection), tuple(TYPES), self.rounds, advance, PREFIX
        )
        (body,) = connection.execute(
            "SELECT quote_literal(body::text) FROM texts_text WHERE z = 1"
        ).fetchone()
        connection.execute("SET enable_mergejoin = off; SET enable_nestloop = off")
        for test, statement in QUERIES:
            comparison.run(
                test,
                lambda kind, text=statement: connection.execute(
                    text.replace("'{body}'", body).replace("{kind}", kind)
                ),
            )
        connection.execute("RESET enable_mergejoin; RESET enable_nestloop")
        comparison.lookup(
            LOOKUP, connection, self.server, lookup_script, lookups, {"rows": self.rows}
        )
        self.copies(connection, comparison)
        self.result.table(
            f"compact_text: medians, collation {self.collation}, {self.rows:,} rows; ratios of pairs",
            ["", *TYPES.values(), "to text", "limit"],
            comparison.rows(),
            "text",
        )
        self.codecs(connection, comparison.clock, advance)

    def copies(self, connection: psycopg.Connection, comparison: Comparison) -> None:
        """Measure COPY of each table in and out.

        The bars apply to the sums over the tables of a group.
        """
        for way, title in (("copy", "COPY FROM"), ("copy_out", "COPY TO")):
            for source in self.sources:

                def copy(kind: str, way: str = way, source: Source = source) -> None:
                    table = source.table.format(kind=kind)
                    if way == "copy":
                        copy_in(connection, table, source.lines)
                    else:
                        copy_out(connection, table)

                def empty(kind: str, source: Source = source) -> None:
                    connection.execute(f"TRUNCATE {source.table.format(kind=kind)}")

                comparison.run(
                    Test(f"{way}.{source.name}", f"{title} {source.name}"),
                    copy,
                    empty if way == "copy" else None,
                )
            for group, what, bar in (
                ("tpcc", "TPC-C", TPCC_BAR),
                ("text", "text-heavy tables", TEXT_BAR),
            ):
                names = [f"{way}.{source.name}" for source in self.sources if source.group == group]
                test = Test(
                    f"{way}.{group}", f"{title}: {what} together", bar if way == "copy" else None
                )
                for kind in TYPES:
                    for seconds in zip(*(comparison.times[name][kind] for name in names)):
                        comparison.record(test, kind, sum(seconds), comparison.clock.kind)

    def codecs(
        self, connection: psycopg.Connection, clock: Clock, advance: Callable[[], None]
    ) -> None:
        """Measure the cost of a conversion: many in a query, less as many copies of the text."""
        expressions = {
            # This function on text does nothing but allocate a copy.
            "copy": "octet_length(ltrim(t, ''))",
            "decode": "octet_length(c::text)",
            "encode": "pg_column_size(t::compact_text)",
        }
        rows = []
        for name in self.columns:
            times: dict[str, list[float]] = {what: [] for what in expressions}
            for _, what in interleave(tuple(expressions), self.rounds):
                total = " + ".join([expressions[what]] * REPEATS)
                statement = f"SELECT sum({total}) FROM codec_{name}, generate_series(1, {PASSES})"
                seconds = clock.measure(connection.execute, statement)
                times[what].append(seconds)
                self.result.samples.append(
                    {
                        "test": f"{PREFIX}codec.{name}",
                        "type": what,
                        "seconds": seconds,
                        "unit": clock.kind,
                    }
                )
                advance()
            rows.append(self.codec_row(connection, name, times))
        self.result.table(
            "compact_text: time of one conversion, less the time to copy the same text: median (smallest to largest)",
            [
                "column of the mix",
                "bytes",
                "encode ns",
                "ns a byte",
                "decode ns",
                "GB/s",
                "promises",
            ],
            rows,
            "codecs",
        )

    def codec_row(
        self, connection: psycopg.Connection, name: str, times: dict[str, list[float]]
    ) -> list[object]:
        count, size = connection.execute(
            f"SELECT count(*), avg(octet_length(t))::float8 FROM codec_{name}"
        ).fetchone()
        conversions = count * REPEATS * PASSES

        def nanoseconds(what: str) -> tuple[float, float, float]:
            taken = [
                (one - copy) / conversions * 1e9 for one, copy in zip(times[what], times["copy"])
            ]
            # The difference of noisy times may be zero or less, and a rate is divided by it.
            middle, low, high = spread(taken)
            return max(middle, 0.1), low, high

        encode, decode = nanoseconds("encode"), nanoseconds("decode")
        metrics = self.result.metrics
        metrics[f"{PREFIX}encode_ns.{name}"] = encode[0]
        metrics[f"{PREFIX}encode_ns_byte.{name}"] = encode[0] / size
        metrics[f"{PREFIX}decode_ns.{name}"] = decode[0]
        metrics[f"{PREFIX}decode_gbs.{name}"] = size / decode[0]
        column = f"column of the mix {name}"
        bars = {
            "encode": Bar(
                f"{PREFIX}encode_ns_byte.{name}", f"{column}: ns a byte to encode", ENCODE_NS_BYTE
            )
        }
        if size <= 24:
            bars["decode"] = Bar(f"{PREFIX}decode_ns.{name}", f"{column}: ns to decode", DECODE_NS)
        if 100 <= size <= 500:
            bars["GB/s"] = Bar(
                f"{PREFIX}decode_gbs.{name}", f"{column}: GB/s to decode", least=DECODE_GB
            )
        entries = {what: bar.entry(self.result) for what, bar in bars.items()}
        self.result.bars += entries.values()
        return [
            name,
            f"{size:.1f}",
            f"{encode[0]:.0f} ({encode[1]:.0f} to {encode[2]:.0f})",
            f"{encode[0] / size:.1f}",
            f"{decode[0]:.1f} ({decode[1]:.1f} to {decode[2]:.1f})",
            f"{size / decode[0]:.2f}",
            ", ".join(f"{what} {verdict(entry)}" for what, entry in entries.items()),
        ]


def lookup_script(kind: str) -> Path:
    script = work() / f"lookup_text_{kind}.sql"
    script.write_text(
        "\\set key random(1, :rows)\n"
        f"SELECT v FROM text_keys_{kind} WHERE k = 'customer/' || (1000000 + :key * 7919)::text || '/orders';\n",
        encoding="utf-8",
    )
    return script
