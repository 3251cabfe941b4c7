"""What is compared: the plain tables, those split by each method, and the hot parts by themselves.

Each variant is a database, which has the settings of its sessions.
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
    # None is not split.
    method: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    # The hot part takes the place of the whole.
    hot_only: bool = False

    @property
    def source(self) -> str:
        """The database that it is a copy of."""
        return f"bench_vertical_{self.method or 'plain'}"

    @property
    def database(self) -> str:
        return f"bench_vertical_copy_{self.name.replace('.', '_')}"

    def table(self, name: str) -> str:
        return hot(name) if self.hot_only else name

    def create(self, server: Server) -> None:
        """Anew, as it was loaded."""
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
# What advise() is told by costs time.
TRACKED = Variant(
    "plain.tracked", "plain table, columns counted", settings={**PRELOADED, TRACK: "on"}
)
# As it is without any setting but the one that is switched off here.
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
# Those that every statement is timed on
TIMED = (*WHOLE, TRACKED)
ALL = (*TIMED, *HOT.values())
