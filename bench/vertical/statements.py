"""Point reads and point updates by key, of hot columns, of cold columns, and of both.

If TPC-C has such a statement, it is used.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.tpcc.load import Scale
from bench.vertical.partition import cold
from bench.vertical.variants import Variant

# Variables of pgbench, and the limits of their random values; a limit that depends on the scale is
# a variable, too
VARIABLES = {
    "customer": {"d": ("1", "10"), "c": ("1", ":customers"), "amount": ("100", "500000")},
    "stock": {"d": ("1", "10"), "i": ("1", ":items"), "quantity": ("1", "10")},
}
CUSTOMER = "c_w_id = 1 AND c_d_id = :d AND c_id = :c"
STOCK = "s_w_id = 1 AND s_i_id = :i"
DISTRICTS = " ".join(f"WHEN {number} THEN s_dist_{number:02}" for number in range(1, 10))
DIST = f"CASE :d::integer {DISTRICTS} ELSE s_dist_10 END"
PAID = "c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount, c_payment_cnt = c_payment_cnt + 1"
NOTED = "c_data = left(:amount::text || '|' || c_data, 500)"
SOLD = (
    "s_quantity = CASE WHEN s_quantity >= :quantity + 10 THEN s_quantity - :quantity"
    " ELSE s_quantity - :quantity + 91 END, s_ytd = s_ytd + :quantity, s_order_cnt = s_order_cnt + 1"
)


@dataclass(frozen=True)
class Statement:
    table: str
    # The operation and its columns, for example read.hot
    name: str
    # The statement, in which TABLE stands for the table's name
    text: str

    @property
    def metric(self) -> str:
        return f"{self.table}.{self.name}"

    @property
    def hot_only(self) -> bool:
        return self.name.endswith(".hot")

    @property
    def updates(self) -> bool:
        return self.name.startswith("update.")

    def sql(self, variant: Variant) -> str:
        return self.text.replace("TABLE", variant.table(self.table))

    def with_values(self, variant: Variant, values: Mapping[str, int]) -> str:
        return re.sub(r"(?<!:):(\w+)", lambda match: str(values[match[1]]), self.sql(variant))

    def write(self, directory: Path, variant: Variant) -> Path:
        """Write the statement as a script for pgbench, and return its path."""
        lines = [
            f"\\set {name} random({low}, {high})"
            for name, (low, high) in VARIABLES[self.table].items()
        ]
        path = directory / f"{self.metric}.{variant.name}.sql"
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, self.sql(variant) + ";", ""]), encoding="utf-8")
        return path

    def is_hot(self, plan: str) -> bool:
        """Return true if a plan does not use the cold part, and no trigger does the work."""
        return cold(self.table) not in plan and f"on {self.table} " not in plan


STATEMENTS = (
    # A statement of New-Order
    Statement(
        "customer", "read.hot", f"SELECT c_discount, c_last, c_credit FROM TABLE WHERE {CUSTOMER}"
    ),
    Statement("customer", "read.cold", f"SELECT c_data FROM TABLE WHERE {CUSTOMER}"),
    Statement("customer", "read.both", f"SELECT c_credit, c_data FROM TABLE WHERE {CUSTOMER}"),
    # Statements of Payment, for good and for bad credit
    Statement(
        "customer", "update.hot", f"UPDATE TABLE SET {PAID} WHERE {CUSTOMER} RETURNING c_balance"
    ),
    Statement("customer", "update.cold", f"UPDATE TABLE SET {NOTED} WHERE {CUSTOMER}"),
    Statement(
        "customer",
        "update.both",
        f"UPDATE TABLE SET {PAID}, {NOTED} WHERE {CUSTOMER} RETURNING c_balance",
    ),
    # A statement of Stock-Level
    Statement("stock", "read.hot", f"SELECT s_quantity FROM TABLE WHERE {STOCK}"),
    Statement("stock", "read.cold", f"SELECT s_data FROM TABLE WHERE {STOCK}"),
    Statement("stock", "read.both", f"SELECT s_quantity, {DIST} FROM TABLE WHERE {STOCK}"),
    Statement("stock", "update.hot", f"UPDATE TABLE SET {SOLD} WHERE {STOCK}"),
    Statement("stock", "update.cold", f"UPDATE TABLE SET s_data = reverse(s_data) WHERE {STOCK}"),
    # A statement of New-Order, which sets hot columns and returns cold ones
    Statement(
        "stock", "update.both", f"UPDATE TABLE SET {SOLD} WHERE {STOCK} RETURNING s_data, {DIST}"
    ),
)


# The names of the statements, which each table has in the same order
NAMES = tuple(dict.fromkeys(statement.name for statement in STATEMENTS))
TABLES = tuple(dict.fromkeys(statement.table for statement in STATEMENTS))
BY_METRIC = {statement.metric: statement for statement in STATEMENTS}


def grid(
    variants: Sequence[Variant], cell: Callable[[Statement, Variant], object]
) -> list[list[object]]:
    """Return a row for each table and variant, with a cell for each of NAMES."""
    return [
        [
            f"{table}: {variant.title}",
            *(cell(BY_METRIC[f"{table}.{name}"], variant) for name in NAMES),
        ]
        for table in TABLES
        for variant in variants
    ]


def script_variables(scale: Scale) -> dict[str, int]:
    return {"customers": scale.customers, "items": scale.items}


def sample_values(table: str, scale: Scale, number: int) -> dict[str, int]:
    """Return the variables of a statement, with the number-th of some keys that are far apart."""
    rows = {"customer": ("c", scale.customers), "stock": ("i", scale.items)}
    name, count = rows[table]
    return {
        "d": 1 + number % 10,
        name: 1 + number * 7919 % count,
        "amount": 100 + number,
        "quantity": 1 + number % 10,
    }
