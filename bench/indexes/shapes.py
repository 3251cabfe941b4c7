"""The keys whose indexes are compared, and how their values are made from a number."""

from dataclasses import dataclass

# Number of values of a two-byte type; more rows cannot be unique
SHORT = 65536


@dataclass(frozen=True)
class Column:
    """A column: its type, and an expression for its value.

    In the expression, n is a bigint from 0 up, and r is a random number from 0 up that n
    determines.
    """

    type: str
    value: str


@dataclass(frozen=True)
class Shape:
    """A key to compare.  Its name is also the name of its metric."""

    name: str
    title: str
    keys: tuple[Column, ...]
    include: tuple[Column, ...] = ()
    unique: bool = True
    most_rows: int | None = None
    extension: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.keys + self.include

    @property
    def key_names(self) -> list[str]:
        return [f"c{number}" for number in range(len(self.keys))]

    @property
    def names(self) -> list[str]:
        return [f"c{number}" for number in range(len(self.columns))]

    @property
    def deduplicated(self) -> bool:
        """Return true if a build makes posting lists of equal keys."""
        return not self.unique and not self.include

    def rows(self, wanted: int) -> int:
        return min(wanted, self.most_rows or wanted)

    def create_table(self, name: str) -> str:
        columns = ", ".join(
            f"{name} {column.type}" for name, column in zip(self.names, self.columns)
        )
        return f"CREATE TABLE {name} ({columns}, v integer)"

    def fill(self, name: str, wanted: int, seed: int) -> str:
        """Return the statement that fills a table.

        The rows are in a random order, which is the same on every server.
        """
        values = ", ".join(
            column.value.replace("{rows}", str(self.rows(wanted))) for column in self.columns
        )
        return (
            f"INSERT INTO {name} SELECT {values}, n FROM"
            f" (SELECT n, hashint8extended(n, {seed}) & 9007199254740991 AS r"
            f" FROM generate_series(0::bigint, {self.rows(wanted) - 1}) AS n) AS numbers ORDER BY numbers.r, numbers.n"
        )

    def create_index(self, name: str, table: str) -> str:
        include = f" INCLUDE ({', '.join(self.names[len(self.keys) :])})" if self.include else ""
        unique = "UNIQUE " if self.unique else ""
        return f"CREATE {unique}INDEX {name} ON {table} ({', '.join(self.key_names)}){include}"


INT4 = Column("integer", "n")
UUID = "md5(({}) || ' uuid')::uuid"
TEXT = Column("text", "left(md5(r::text), (10 + n % 20)::integer)")

SHAPES = (
    Shape("int4", "int4, unique", (INT4,)),
    Shape("int2", "int2, unique", (Column("smallint", "n - 32768"),), most_rows=SHORT),
    Shape(
        "int4.duplicates",
        "int4, about 3 of each",
        (Column("integer", "r % ({rows} / 3)"),),
        unique=False,
    ),
    Shape(
        "int2.duplicates",
        "int2, about 12 of each",
        (Column("smallint", f"r % least({{rows}} / 12, {SHORT}) - 32768"),),
        unique=False,
    ),
    Shape("int4.values", "int4, 100 values", (Column("integer", "r % 100"),), unique=False),
    Shape("int4x2", "(int4, int4)", (Column("integer", "n / 1000"), Column("integer", "n % 1000"))),
    Shape(
        "int4x3",
        "(int4, int4, int4)",
        (
            Column("integer", "n / 10000"),
            Column("integer", "n / 1000 % 10"),
            Column("integer", "n % 1000"),
        ),
    ),
    Shape(
        "int4_int2_int4",
        "(int4, int2, int4)",
        (
            Column("integer", "n / 10000"),
            Column("smallint", "n / 1000 % 10"),
            Column("integer", "n % 1000"),
        ),
    ),
    Shape("int8", "int8", (Column("bigint", "n * 1000003"),)),
    Shape("uuid", "uuid", (Column("uuid", UUID.format("n")),)),
    Shape(
        "uuid_int4",
        "(uuid, int4)",
        (Column("uuid", UUID.format("n / 10")), Column("integer", "n % 10")),
    ),
    # This index is not declared unique, because the shortest values may not be unique.
    Shape("text", "text, 10 to 29 bytes", (TEXT,), unique=False),
    Shape(
        "timestamptz",
        "timestamptz",
        (Column("timestamptz", "'epoch'::timestamptz + n * interval '1 minute'"),),
    ),
    Shape("numeric", "numeric(9,2)", (Column("numeric(9,2)", "n * 1.37"),)),
    Shape("date", "date, unique", (Column("date", "date '1000-01-01' + n::integer"),)),
    Shape("bool", "bool", (Column("boolean", "r % 2 = 0"),), unique=False),
    Shape(
        "char",
        '"char", 100 values',
        (Column('"char"', '(r % 100)::integer::"char"'),),
        unique=False,
    ),
    Shape(
        "int4.nulls",
        "int4, unique, every tenth NULL",
        (Column("integer", "nullif(n, n / 10 * 10)"),),
    ),
    Shape(
        "int4x2.nulls",
        "(int4, int4), every second NULL",
        (INT4, Column("integer", "CASE WHEN n % 2 = 0 THEN r % 1000 END")),
    ),
    Shape(
        "int4.include_int4x2",
        "int4 INCLUDE (int4, int4)",
        (INT4,),
        (Column("integer", "r % 1000"), Column("integer", "r % 100")),
    ),
    Shape("int4.include_int8", "int4 INCLUDE (int8)", (INT4,), (Column("bigint", "r"),)),
    Shape(
        "uint1",
        "uint1, 256 values",
        (Column("uint1", "(r % 256)::integer"),),
        unique=False,
        extension="compact_types",
    ),
    Shape(
        "uint2",
        "uint2, unique",
        (Column("uint2", "n::integer"),),
        most_rows=SHORT,
        extension="compact_types",
    ),
    Shape(
        "uint3",
        "uint3, unique",
        (Column("uint3", "n::integer"),),
        most_rows=1 << 24,
        extension="compact_types",
    ),
    Shape(
        "uint2_uint1_uint3",
        "(uint2, uint1, uint3)",
        (
            Column("uint2", "(n / 10000)::integer"),
            Column("uint1", "(n / 1000 % 10)::integer"),
            Column("uint3", "n::integer % 1000"),
        ),
        extension="compact_types",
    ),
    Shape(
        "uint2_uint1_int4",
        "(uint2, uint1, int4)",
        (
            Column("uint2", "(n / 10000)::integer"),
            Column("uint1", "(n / 1000 % 10)::integer"),
            Column("integer", "n % 1000"),
        ),
        extension="compact_types",
    ),
    Shape(
        "seconds4",
        "seconds4, unique",
        (Column("seconds4", "timestamp '2025-01-01' + n * interval '1 minute'"),),
        extension="compact_types",
    ),
    Shape(
        "compact_decimal4_2",
        "compact_decimal4_2, unique",
        (Column("compact_decimal4_2", "(n * 1.37)::numeric(9,2)"),),
        extension="compact_decimal4_2",
    ),
    Shape(
        "compact_decimal8_2",
        "compact_decimal8_2, unique",
        (Column("compact_decimal8_2", "(n * 1234.37)::numeric(12,2)"),),
        extension="compact_decimal8_2",
    ),
    Shape(
        "compact_char3",
        "compact_char3, 1000 values",
        (Column("compact_char3", "(r % 1000)::text"),),
        unique=False,
        extension="compact_char3",
    ),
    Shape(
        "compact_char9",
        "compact_char9, unique",
        (Column("compact_char9", "n::text"),),
        extension="compact_char9",
    ),
    Shape(
        "compact_char24",
        "compact_char24, unique",
        (Column("compact_char24", "left(md5(n::text), 24)"),),
        extension="compact_char24",
    ),
    Shape(
        "compact_text",
        "compact_text, 10 to 29 bytes",
        (Column("compact_text", TEXT.value),),
        unique=False,
        extension="compact_types",
    ),
)
BY_NAME = {shape.name: shape for shape in SHAPES}
