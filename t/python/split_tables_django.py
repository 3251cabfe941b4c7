"""Let Django's migrations find the constraints of tables that vertical_partition has split.

Before Django drops or replaces a constraint or an index, it looks up the name in the catalogs.  The
constraints and indexes of a split table belong to its parts.  Import this module before the first
migration, for example in an application's AppConfig.ready().
"""

from django.db.backends.postgresql.introspection import DatabaseIntrospection

# queries for the columns of a view, for the parts of a view, and for the view of each hot part
COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(quote_ident(%s))"
PARTS = """SELECT h.relname, c.relname FROM vertical_partition.status p
    JOIN pg_class h ON h.oid = p.hot JOIN pg_class c ON c.oid = p.cold WHERE p.relation = to_regclass(quote_ident(%s))"""
VIEWS = """SELECT h.relname, v.relname FROM vertical_partition.status p
    JOIN pg_class h ON h.oid = p.hot JOIN pg_class v ON v.oid = p.relation"""


def get_constraints(self, cursor, table_name):
    """Return the constraints of both parts of a split table as constraints of the view."""
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
        # The plain table did not have what links the parts: columns that the view does not have,
        # and, in the cold part, the copy of the key, with an index and, since 18, NOT NULL
        # constraints.
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
