"""What migrations with Django need for tables that vertical_partition has split.

Django looks up the names of constraints and indexes in the catalogs, before it drops or
replaces them.  Those of a split table belong to its parts.  Import this module before the
first migration, in an application's AppConfig.ready() for example.
"""

from django.db.backends.postgresql.introspection import DatabaseIntrospection

# the columns of a view, its parts, and the view of each hot part
COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(quote_ident(%s))"
PARTS = """SELECT h.relname, c.relname FROM vertical_partition.parts p
    JOIN pg_class h ON h.oid = p.hot JOIN pg_class c ON c.oid = p.cold WHERE p.view = to_regclass(quote_ident(%s))"""
VIEWS = """SELECT h.relname, v.relname FROM vertical_partition.parts p
    JOIN pg_class h ON h.oid = p.hot JOIN pg_class v ON v.oid = p.view"""


def get_constraints(self, cursor, table_name):
    """Those of both parts, as those of a table."""
    found = of_table(self, cursor, table_name)
    cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'vertical_partition'")
    if not cursor.fetchone():
        return found
    cursor.execute(PARTS, [table_name])
    if parts := cursor.fetchone():
        cursor.execute(COLUMNS, [table_name])
        columns = {name for name, in cursor.fetchall()}
        hot, cold = (of_table(self, cursor, part) for part in parts)
        key = {column for one in hot.values() if one["primary_key"] for column in one["columns"]}
        # What joins the parts is none of the table's: columns that the view does not have, and
        # the copy of its key in the cold part, with an index and, since 18, NOT NULL constraints.
        kinds = ("unique", "foreign_key", "check", "index")
        cold = {
            name: one
            for name, one in cold.items()
            if not one["primary_key"]
            and (any(one[kind] for kind in kinds) or not key.issuperset(one["columns"]))
        }
        found.update(
            (name, one)
            for name, one in (hot | cold).items()
            if columns.issuperset(filter(None, one["columns"]))
        )
    cursor.execute(VIEWS)
    views = dict(cursor.fetchall())
    for one in found.values():
        if one["foreign_key"]:
            table, column = one["foreign_key"]
            one["foreign_key"] = views.get(table, table), column
    return found


of_table = DatabaseIntrospection.get_constraints
DatabaseIntrospection.get_constraints = get_constraints
