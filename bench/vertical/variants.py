"""The variants to compare: plain tables, tables split by each method, and hot parts alone.

Each variant is a database, which has the settings of the variant's sessions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from psycopg import sql

from bench.lib.server import Server
from bench.vertical.partition import METHODS, PRELOADED, REWRITE, TRACK, hot


@dataclass(frozen=True)
class Variant:
    name: str
    title: str
    # None: the tables are not split
    method: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    # Statements use the hot part in place of the whole table.
    hot_only: bool = False

    @property
    def source(self) -> str:
        """Return the name of the database of which this one is a copy."""
        return f"bench_vertical_{self.method or 'plain'}"

    @property
    def database(self) -> str:
        return f"bench_vertical_copy_{self.name.replace('.', '_')}"

    def table(self, name: str) -> str:
        return hot(name) if self.hot_only else name

    def create(self, server: Server) -> None:
        """Create the database anew, as it was loaded."""
        server.drop_database(self.database)
        database = sql.Identifier(self.database)
        with server.connect() as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    database, sql.Identifier(self.source)
                )
            )
            for name, value in self.settings.items():
                connection.execute(
                    sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                        database,
                        sql.SQL(".").join(map(sql.Identifier, name.split("."))),
                        sql.Literal(value),
                    )
                )


PLAIN = Variant("plain", "plain table")
# The counts that advise() uses cost time.
TRACKED = Variant(
    "plain.tracked", "plain table, columns counted", settings={**PRELOADED, TRACK: "on"}
)
# These variants have no settings, except that the rewrite is switched off.
OFF = {
    method: Variant(f"{method}.off", f"{method}, rewrite off", method, {REWRITE: "off"})
    for method in METHODS
}
ON = {
    method: Variant(f"{method}.on", f"{method}, rewrite on", method, PRELOADED)
    for method in METHODS
}
HOT = {
    method: Variant(f"{method}.hot", f"{method}, hot part itself", method, hot_only=True)
    for method in METHODS
}

SPLIT = tuple(variant for method in METHODS for variant in (OFF[method], ON[method]))
WHOLE = (PLAIN, *SPLIT)
# The variants on which every statement is timed
TIMED = (*WHOLE, TRACKED)
ALL = (*TIMED, *HOT.values())
