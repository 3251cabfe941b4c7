"""Change the columns of tables.sql to compact types.

A type is chosen by the values that TPC-C allows, not by the values of a fresh database.  So w_id
can go up to 65,535, and the numbers of items and orders can exceed the 200,000 and 10,000,000 of
clause 1.3.  Totals that grow with every payment stay numeric, which takes less than eight bytes for
them.
"""

import re
from dataclasses import dataclass

# Strings of up to this length gain nothing from an encoding.  With a fixed length, they stay among
# the attributes with constant offsets.
FIXED_AT_MOST = 8

SCALARS = {
    **dict.fromkeys(
        (
            "w_id",
            "d_w_id",
            "c_w_id",
            "h_c_w_id",
            "h_w_id",
            "no_w_id",
            "o_w_id",
            "ol_w_id",
            "ol_supply_w_id",
            "s_w_id",
        ),
        "uint2",
    ),
    **dict.fromkeys(
        ("d_id", "c_d_id", "h_c_d_id", "h_d_id", "no_d_id", "o_d_id", "ol_d_id"), "uint1"
    ),
    **dict.fromkeys(
        ("d_next_o_id", "no_o_id", "o_id", "ol_o_id", "i_id", "i_im_id", "ol_i_id", "s_i_id"),
        "uint3",
    ),
    # 1 to 3,000 in every database; clause 1.3 requires room for 96,000, see the variant
    # "wide-customers".
    **dict.fromkeys(("c_id", "h_c_id", "o_c_id"), "uint2"),
    **dict.fromkeys(("c_payment_cnt", "c_delivery_cnt", "s_order_cnt", "s_remote_cnt"), "uint2"),
    **dict.fromkeys(
        ("o_carrier_id", "o_ol_cnt", "o_all_local", "ol_number", "ol_quantity"), "uint1"
    ),
    # 10 to 100 by clause 2.4.2.2, and signed by clause 1.3.
    "s_quantity": "int1",
    **dict.fromkeys(("c_since", "h_date", "o_entry_d", "ol_delivery_d"), "seconds4"),
    **dict.fromkeys(("w_tax", "d_tax", "c_discount"), "compact_decimal4_4"),
}
SCALAR_EXTENSIONS = ("compact_types", "compact_decimal4_4")

# Types that may be replaced.  If a variant gives a column another type, the column keeps it.
WIDE = r"integer|timestamp|numeric\(4,4\)"

# Alignment of the types of fixed length.  Columns of all other types come after their columns.
ALIGNMENT = {
    "bigint": 8,
    "timestamp": 8,
    "integer": 4,
    "int4": 4,
    "seconds4": 4,
    "compact_decimal4_4": 4,
    "smallint": 2,
    "uint2": 2,
    "uint3": 1,
    "uint1": 1,
    "int1": 1,
}


def compact_strings(tables: str) -> str:
    """char(n) becomes compact_charN; varchar(n) stays."""
    return re.sub(r"\bchar\((\d+)\)", r"compact_char\1", tables)


def compact_text(tables: str) -> str:
    """Every string becomes compact_text."""
    return re.sub(r"\b(?:var)?char\((\d+)\)", r"compact_text(\1)", tables)


def best_strings(tables: str) -> str:
    """Short strings of fixed length become compact_charN, all others compact_text."""
    short = "|".join(map(str, range(1, FIXED_AT_MOST + 1)))
    return compact_text(re.sub(rf"\bchar\(({short})\)", r"compact_char\1", tables))


def narrow_scalars(tables: str) -> str:
    for column, narrow in SCALARS.items():
        tables = re.sub(
            rf"^(\s+{column}\s+)(?:{WIDE})(?=[\s,])", rf"\1{narrow}", tables, flags=re.M
        )
    return tables


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    line: str

    @property
    def place(self) -> tuple[int, int]:
        """Return a sort key with which no byte is lost to alignment.

        The widest columns come first, then the strings, the longest last.
        """
        if self.type in ALIGNMENT:
            return (-ALIGNMENT[self.type], 0)
        if self.type.startswith("compact_char"):
            return (0, int(self.type.removeprefix("compact_char")))
        width = re.search(r"\((\d+)", self.type)
        # A value of more than 126 bytes has a header of four bytes, which is aligned.
        return (
            1 if "char" not in self.type and "text" not in self.type else 2,
            int(width[1]) if width else 0,
        )


def best_order(tables: str) -> str:
    """Put the columns of each table in the order that needs least padding."""

    def reorder(match: re.Match[str]) -> str:
        lines = [line.strip().rstrip(",") for line in re.split(r",\n", match[2])]
        columns = sorted(
            (Column(*line.split()[:2], line) for line in lines if line),
            key=lambda column: column.place,
        )
        return match[1] + ",\n".join(f"    {column.line}" for column in columns) + match[3]

    return re.sub(r"(CREATE TABLE \w+ \(\n)(.*?)(\n\);)", reorder, tables, flags=re.S)


def compact_scalars(tables: str) -> str:
    """Fixed-length strings, narrow scalars, and the best order of columns."""
    return best_order(narrow_scalars(compact_strings(tables)))


def compact_types(tables: str) -> str:
    """Apply everything that compact_types offers."""
    return best_order(narrow_scalars(best_strings(tables)))
