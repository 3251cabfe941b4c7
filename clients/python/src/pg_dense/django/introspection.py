"""Introspection of tables with compact types, and of split tables.

The constraints and indexes of a split table belong to its parts, which inspectdb and the migrations
do not look at.
"""

from functools import cache
from typing import Any

from ..catalog import HAS_SPLIT_TABLES

COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(quote_ident(%s))"

# the names of split tables and of their parts
SPLIT = """SELECT v.relname, h.relname, c.relname FROM vertical_partition.status p
    JOIN pg_class v ON v.oid = p.relation JOIN pg_class h ON h.oid = p.hot
    JOIN pg_class c ON c.oid = p.cold WHERE pg_table_is_visible(v.oid)"""


class DenseMixin:
    """Methods of DatabaseIntrospection that know compact types and split tables."""

    def get_field_type(self, data_type: Any, description: Any) -> Any:
        """Return the name of a field's class.  compact_text(n) replaces varchar(n), not text."""
        field_type = super().get_field_type(data_type, description)  # type: ignore[misc]
        return "CharField" if field_type == "TextField" and description.display_size else field_type

    def get_table_list(self, cursor: Any) -> list[Any]:
        """Return tables and views: a split table as a table, without its parts."""
        split = _split(cursor)
        parts = _tables_of_parts(split)
        return [
            info._replace(type="t") if info.name in split else info
            for info in super().get_table_list(cursor)  # type: ignore[misc]
            if info.name not in parts
        ]

    def get_relations(self, cursor: Any, table_name: str) -> dict[str, tuple[str, str]]:
        """Return foreign keys by column: the other column and the other table."""
        of_table = super().get_relations  # type: ignore[misc]
        split = _split(cursor)
        names = _tables_of_parts(split)
        return {
            column: (other, names.get(table, table))
            for part in split.get(table_name, (table_name,))
            for column, (other, table) in of_table(cursor, part).items()
        }

    def get_constraints(self, cursor: Any, table_name: str) -> dict[str, Any]:
        """Return constraints and indexes: of a split table those of both parts."""
        of_table = super().get_constraints  # type: ignore[misc]
        found: dict[str, Any] = of_table(cursor, table_name)
        split = _split(cursor)
        if table_name in split:
            found.update(self._of_parts(*(of_table(cursor, part) for part in split[table_name])))
            cursor.execute(COLUMNS, [table_name])
            columns = {name for name, in cursor.fetchall()}
            found = {
                name: one
                for name, one in found.items()
                if columns.issuperset(filter(None, one["columns"]))
            }
        names = _tables_of_parts(split)
        for one in found.values():
            if one["foreign_key"]:
                table, column = one["foreign_key"]
                one["foreign_key"] = names.get(table, table), column
        return found

    @staticmethod
    def _of_parts(hot: dict[str, Any], cold: dict[str, Any]) -> dict[str, Any]:
        """Return the constraints of two parts, without those that link the parts.

        These are, in the cold part, the copy of the key with an index and, since 18, NOT NULL
        constraints.
        """
        key = {column for one in hot.values() if one["primary_key"] for column in one["columns"]}
        kinds = ("unique", "foreign_key", "check", "index")
        return hot | {
            name: one
            for name, one in cold.items()
            if not one["primary_key"]
            and (any(one[kind] for kind in kinds) or not key.issuperset(one["columns"]))
        }


def _split(cursor: Any) -> dict[str, tuple[str, str]]:
    """Return the hot and the cold part of each split table."""
    cursor.execute(HAS_SPLIT_TABLES)
    if not cursor.fetchone():
        return {}
    cursor.execute(SPLIT)
    return {table: (hot, cold) for table, hot, cold in cursor.fetchall()}


def _tables_of_parts(split: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Return the split table of each part."""
    return {part: table for table, parts in split.items() for part in parts}


@cache
def with_dense(base: Any) -> Any:
    """Return a subclass of a backend's DatabaseIntrospection that knows compact types."""
    return base if issubclass(base, DenseMixin) else type(base.__name__, (DenseMixin, base), {})
