"""Fill a database: tables, rows, keys, functions, consistency views."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import jinja2
import psycopg
from psycopg import sql
from rich.progress import Progress

from bench.lib.console import BenchError
from bench.lib.paths import major
from bench.lib.server import Server
from bench.tpcc.stages import Stage

SQL = Path(__file__).parent / "sql"

# The largest tables come first, so that two connections end at about the same time.
TABLES = (
    "order_line",
    "stock",
    "customer",
    "orders",
    "history",
    "item",
    "new_order",
    "district",
    "warehouse",
)

# The constants of NURand for last names.  The constant of a run must differ from that of the load
# by 65 to 119, but not by 96 or 112.
C_LAST_LOAD = 100
C_LAST_RUN = 185

LOAD_SETTINGS = {
    "fsync": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "jit": "off",
}


@dataclass(frozen=True)
class Scale:
    """The numbers of rows: of item, and of customer and orders.

    The numbers of customer and orders are those of each of a warehouse's ten districts.
    """

    items: int = 100_000
    customers: int = 3_000

    @property
    def orders(self) -> int:
        return self.customers

    @property
    def names(self) -> int:
        return min(1000, self.customers)

    @property
    def delivered(self) -> int:
        return self.orders * 7 // 10

    def rows(self, warehouses: int) -> int:
        """Return the approximate number of rows: the number of lines of an order is random."""
        one = self.customers * 10
        return self.items + warehouses * (self.items + one * 3 + one * 10 + one * 3 // 10 + 11)


FULL = Scale()
# A warehouse of half a megabyte, for tests
LITE = Scale(items=1_000, customers=30)


def render(name: str, **variables: object) -> str:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.from_string((SQL / name).read_text(encoding="utf-8")).render(**variables)


def create_extensions(connection: psycopg.Connection, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            connection.execute(
                sql.SQL("CREATE EXTENSION IF NOT EXISTS {} CASCADE").format(sql.Identifier(name))
            )
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
            raise BenchError(
                f'extension "{name}" is not installed in the server ({error.diag.message_primary}), run '
                f'"tools/extensions build/{major()}/dense/bin/pg_config build/extensions/{major()}-dense"'
            ) from error


def apply_settings(connection: psycopg.Connection, database: str, stage: Stage) -> None:
    """Give the stage's settings to the database.

    The settings of the session that builds an index decide what the index is like.
    """
    contexts = dict(
        connection.execute(
            "SELECT name, context FROM pg_settings WHERE name = ANY(%s)", [list(stage.settings)]
        )
    )
    for name, value in stage.settings.items():
        if name not in contexts:
            raise BenchError(
                f'the server has no setting "{name}", which stage "{stage.name}" needs, run "make server"'
            )
        if contexts[name] in ("user", "superuser"):
            connection.execute(
                sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                    sql.Identifier(database), sql.Identifier(name), sql.Literal(value)
                )
            )


def create_schema(connection: psycopg.Connection, stage: Stage) -> None:
    create_extensions(connection, stage.extensions)
    tables = render("tables.sql")
    for rewrite in stage.tables:
        tables = rewrite(tables)
    connection.execute(tables)
    connection.execute(render("functions.sql"))


def key_statements(stage: Stage) -> list[str]:
    keys = render("keys.sql")
    for rewrite in stage.keys:
        keys = rewrite(keys)
    return [statement.strip() for statement in keys.split(";") if statement.strip()]


class _Loader:
    """The work of the threads: a thread loads one table at a time.

    The thread does all work on the table, from its first row to its statistics.
    """

    def __init__(
        self,
        connection: Callable[[], psycopg.Connection],
        stage: Stage,
        warehouses: int,
        scale: Scale,
        seed: int,
        advance: Callable[[int], None],
        indexed: Callable[[], None],
    ) -> None:
        self.connection = connection
        self.warehouses = warehouses
        self.variables = {
            "scale": scale,
            "seed": seed,
            "c_last_load": C_LAST_LOAD,
            "undelivered": stage.undelivered,
        }
        self.keys = key_statements(stage)
        self.advance = advance
        self.indexed = indexed
        self.open: list[psycopg.Connection] = []
        self.stopped = threading.Event()

    def table(self, name: str) -> None:
        if self.stopped.is_set():
            return
        with self.connection() as connection:
            self.open.append(connection)
            connection.execute(render("load_functions.sql", **self.variables))
            with connection.transaction():
                # A table emptied in the same transaction is loaded without WAL.
                connection.execute(f"TRUNCATE {name}")
                # item is the only table that does not grow with the warehouses.
                for warehouse in range(1, 2 if name == "item" else self.warehouses + 1):
                    self.advance(
                        connection.execute(
                            render(f"load/{name}.sql", w=warehouse, **self.variables)
                        ).rowcount
                    )
            for statement in self.keys:
                if f" {name} " in statement:
                    connection.execute(statement)
            connection.execute(f"VACUUM (FREEZE, ANALYZE) {name}")
            self.indexed()

    def stop(self) -> None:
        self.stopped.set()
        for connection in self.open:
            if not connection.closed:
                connection.cancel()


def load(
    server: Server,
    database: str,
    stage: Stage,
    warehouses: int,
    scale: Scale,
    seed: int,
    bars: Progress,
) -> None:
    """Create the database anew, and fill it."""
    server.create_database(database)
    with server.connect() as connection:
        apply_settings(connection, database, stage)
    with server.connect(database) as connection:
        create_schema(connection, stage)
    rows = bars.add_task(
        f"load {warehouses} warehouses, {stage.title}: rows", total=scale.rows(warehouses)
    )
    tables = bars.add_task("    tables with keys and statistics", total=len(TABLES))
    loader = _Loader(
        lambda: server.connect(database),
        stage,
        warehouses,
        scale,
        seed,
        lambda count: bars.advance(rows, count),
        lambda: bars.advance(tables),
    )
    with ThreadPoolExecutor(max_workers=2) as pool:
        futures = [pool.submit(loader.table, name) for name in TABLES]
        try:
            for future in futures:
                future.result()
        except BaseException:
            loader.stop()
            raise
    bars.update(rows, total=bars.tasks[rows].completed)
    with server.connect(database) as connection:
        for statement in stage.after_load:
            connection.execute(statement)
        # Create the views only now, because a table that views read cannot be replaced by its
        # parts.
        connection.execute(render("consistency.sql", scale=scale))
        connection.execute("VACUUM")
        connection.execute("CHECKPOINT")
