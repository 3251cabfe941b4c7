"""Savings of trained dictionaries: bytes of unseen values of columns, and pages of tables."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean

import psycopg

from bench import text_mix
from bench.lib.console import BenchError, note
from bench.lib.result import Result
from bench.studies.dictionary_train import STORED, convert, drop_types, learned, strings
from bench.studies.text_sizes import Sizes, fill, with_indexes
from bench.text_mix import Column, Table, digest_of_column, held, sources
from bench.tpcc.sizes import megabytes

# The tables that most applications have in some form.  The sixth table of the mix repeats the same
# messages too often.
TABLES = ("users", "contacts", "web_log", "packages", "events")


@dataclass(frozen=True)
class ColumnSize:
    """Stored bytes of an unseen value, with its header.

    predicted is what train() has predicted for the other half, or None.
    """

    name: str
    kind: str
    values: int
    symbols: int
    dictionary: bool
    text: float
    compact: float
    trained: float
    predicted: float | None

    @property
    def ratio(self) -> float:
        return self.trained / self.text

    @property
    def compact_ratio(self) -> float:
        return self.compact / self.text

    def cells(self) -> list[object]:
        return [
            self.name,
            self.kind,
            f"{self.values:,}",
            f"{self.symbols:,}" if self.dictionary else "no dictionary",
            f"{self.text:.1f}",
            f"{self.compact:.1f}",
            f"{self.trained:.1f}",
            "" if self.predicted is None else f"{self.predicted:.1f}",
            f"{self.compact_ratio:.3f}",
            f"{self.ratio:.3f}",
        ]


def column_size(
    connection: psycopg.Connection, column: Column, values: Sequence[str]
) -> ColumnSize:
    """Return the sizes.  Raise an error if a value comes back changed, or takes more bytes."""
    with learned(connection, values) as training:
        count, text, compact, trained, changed, larger = connection.execute(
            "SELECT count(*), avg(pg_column_size(value))::float8, avg(pg_column_size(compact))::float8,"
            " avg(pg_column_size(trained))::float8, count(*) FILTER (WHERE trained::text <> value),"
            " count(*) FILTER (WHERE pg_column_size(trained) > pg_column_size(value))"
            f" FROM {STORED}"
        ).fetchone()
    if changed or larger:
        raise BenchError(
            f"trained_textN: {changed} values of {column.name} came back changed, {larger} got larger"
        )
    return ColumnSize(
        column.name,
        column.kind,
        count,
        training.symbols,
        training.type is not None,
        text,
        compact,
        trained,
        training.after,
    )


@dataclass
class Study:
    """count is the number of values of a column and of rows of a table, or None for all."""

    connection: psycopg.Connection
    result: Result
    count: int | None
    advance: Callable[[], None]

    @property
    def tables(self) -> list[Table]:
        return [table for table in text_mix.tables() if table.name in TABLES]

    @property
    def steps(self) -> int:
        return len(text_mix.columns()) + len(held.COLUMNS) + len(self.tables)

    def measure(self) -> None:
        mix = [self.column("mix", f"mix.{column.name}", column) for column in text_mix.columns()]
        self.show("mix", "columns of the frozen mix", mix, {"mean.34": ("mean", mix)})
        others = [
            self.column(
                "held",
                column.name if column.name in held.PROMISED else f"held.{column.name}",
                column,
            )
            for column in held.columns()
        ]
        real = [size for size in mix + others if size.kind == "real"]
        self.show(
            "held",
            "held-out columns",
            others,
            {"mean.held": ("mean", others), "mean.real": ("mean, real columns of both", real)},
        )
        self.all_tables()

    def column(self, group: str, metric: str, column: Column) -> ColumnSize:
        values = column.values[: self.count]
        size = column_size(self.connection, column, values)
        self.result.metrics[metric] = size.ratio
        self.result.samples.append(
            {"test": "column", "group": group, "sha256": digest_of_column(values), **asdict(size)}
        )
        self.advance()
        return size

    def show(
        self,
        name: str,
        title: str,
        sizes: Sequence[ColumnSize],
        means: dict[str, tuple[str, Sequence[ColumnSize]]],
    ) -> None:
        """Show the columns and the means of their ratios, and add the means to the metrics.

        A mean has the name of its metric, a title, and its columns.
        """
        rows = [size.cells() for size in sizes]
        for metric, (words, group) in means.items():
            ratio = mean(size.ratio for size in group)
            compact = mean(size.compact_ratio for size in group)
            self.result.metrics |= {metric: ratio, f"compact_text.{metric}": compact}
            rows.append([words, *[""] * 7, f"{compact:.3f}", f"{ratio:.3f}"])
        self.result.table(
            f"The {len(sizes)} {title}: stored bytes of a value that was not used for training",
            [
                "column",
                "kind",
                "values",
                "symbols",
                "text",
                "compact_text",
                "trained",
                "predicted",
                "compact_text to text",
                "trained to text",
            ],
            rows,
            name,
        )

    def all_tables(self) -> None:
        rows, ratios, whole = [], [], []
        for table in self.tables:
            text, compact, trained, converted, dictionaries = self.table(table)
            before, after = total(compact), total(trained)
            ratios.append(after / before)
            whole.append((after + dictionaries) / before)
            self.result.metrics |= {
                f"tables.{table.name}": ratios[-1],
                f"tables.{table.name}.heap": trained.heap / compact.heap,
                f"tables.{table.name}.indexes": trained.indexes / compact.indexes,
            }
            rows.append(
                [
                    table.name,
                    f"{trained.rows:,}",
                    f"{len(converted)} of {len(strings(table))}",
                    *(megabytes(total(size)) for size in (text, compact, trained)),
                    f"{dictionaries / 1000:.0f} kB",
                    f"{trained.heap / compact.heap:.3f}",
                    f"{trained.indexes / compact.indexes:.3f}",
                    f"{ratios[-1]:.3f}",
                    f"{whole[-1]:.3f}",
                ]
            )
            self.result.samples.append(
                {
                    "test": "table",
                    "table": table.name,
                    "converted": converted,
                    "dictionaries": dictionaries,
                    "text": asdict(text),
                    "compact_text": asdict(compact),
                    "trained": asdict(trained),
                }
            )
            self.advance()
        if len(rows) < len(TABLES):
            note(f"{len(TABLES) - len(rows)} of the tables cannot be made on this machine")
        means = [mean(ratios), mean(whole)]
        self.result.metrics |= {"tables.mean": means[0], "tables.mean.with_dictionaries": means[1]}
        self.result.table(
            "Tables with an index on each string, whole pages; ratios of trained to compact_text",
            [
                "table",
                "rows",
                "trained columns",
                "text",
                "compact_text",
                "trained",
                "dictionaries",
                "heap",
                "indexes",
                "both",
                "with dictionaries",
            ],
            [*rows, ["mean", *[""] * 8, *(f"{value:.3f}" for value in means)]],
            "tables",
        )

    def table(self, table: Table) -> tuple[Sizes, Sizes, Sizes, list[str], int]:
        """Return the sizes with text, compact_text and dictionaries.

        Also return the columns with a dictionary, and the bytes of the dictionaries.
        """
        connection = self.connection
        fill(connection, table, table.name, table_rows(table, self.count))
        kinds = [replace(table, name=f"{table.name}_{kind}") for kind in ("compact", "trained")]
        for kind in kinds:
            connection.execute(kind.create("compact_text"))
            connection.execute(f"INSERT INTO {kind.name} SELECT * FROM {table.name}")
        converted = convert(connection, kinds[1].name, strings(table))
        text, compact, trained = (
            with_indexes(connection, kind, kind.name) for kind in (table, *kinds)
        )
        (dictionaries,) = connection.execute(
            "SELECT coalesce(sum(pg_column_size(dictinitoption)), 0) FROM pg_ts_dict"
            " WHERE dictnamespace = 'compact_dictionaries'::regnamespace"
        ).fetchone()
        connection.execute(f"DROP TABLE {', '.join(kind.name for kind in (table, *kinds))}")
        drop_types(connection)
        return text, compact, trained, converted, int(dictionaries)


def table_rows(table: Table, count: int | None) -> int:
    """Return the rows of a table.  A package is in one row: a dictionary would learn whole rows."""
    rows = table.count if count is None else count
    return min(rows, len(sources.packages())) if table.name == "packages" else rows


def total(size: Sizes) -> int:
    return size.heap + size.indexes
