"""Advice from a sample of rows in a scratch database of a local instance.

Everything there happens in one transaction, which is rolled back: a schema, the extensions if
they are missing, and one table at a time.  So no object is left behind, whatever ends this program.
Its catalogs have dead rows then, and that is why the target itself is refused.
"""

import os
from collections.abc import Mapping

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from advisor import rules
from advisor.errors import AdviseError, NoSample
from advisor.estimate import COMPRESSIONS, TOAST_PAGES, TOAST_SHARE, Advice, has_types, prevents
from advisor.report import OPTION, PROPOSAL, Line
from advisor.target import (
    Column,
    Table,
    Target,
    close,
    connect,
    is_conninfo,
    is_same,
    is_trusted,
    plain_ident,
    sampled,
)

SCHEMA = "dense_advise"
LOOPBACK = ("127.", "::1")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
# a sample has at most so many rows, and about so many bytes
MOST_ROWS = 30000
MOST_BYTES = 32 * 1024 * 1024
# a table gets at least so many seconds
LEAST_SECONDS = 2.0
SEED = 20240607
LAYOUT = {"compact_text": (-1, 4), "seconds4": (4, 4), "seconds4tz": (4, 4)}
RANGES = {name: (smallest, greatest) for name, _, smallest, greatest in rules.NARROW}
WIDTHS = {name: length for name, length, _, _ in rules.NARROW}


def check_local(text: str) -> None:
    """Refuse a connection string that names another machine."""
    try:
        given = conninfo_to_dict(make_conninfo(text) if is_conninfo(text) else "")
    except psycopg.ProgrammingError as error:
        raise AdviseError("invalid connection string for --scratch") from error
    hosts = str(given.get("host") or os.environ.get("PGHOST", "")).split(",")
    addresses = str(given.get("hostaddr") or os.environ.get("PGHOSTADDR", "")).split(",")
    for host in hosts:
        if host and not host.startswith(("/", "@")) and host not in LOCAL_HOSTS:
            raise remote(host)
    for address in addresses:
        if address and not address.startswith(LOOPBACK):
            raise remote(address)


def remote(host: str) -> AdviseError:
    return AdviseError(
        f'--scratch names "{host}", only an instance of this machine is accepted: a Unix socket'
        " or localhost"
    )


class Scratch:
    """A scratch schema, which exists only in the transaction of this connection."""

    def __init__(self, text: str, target: Target) -> None:
        check_local(text)
        self.connection = connect(text, "the scratch database")
        info = self.connection.info
        try:
            if info.host and not info.host.startswith(("/", "@")):
                if not (info.hostaddr or info.host).startswith(LOOPBACK):
                    raise remote(info.host)
            self.prepare(target)
        except BaseException:
            self.close()
            raise

    def prepare(self, target: Target) -> None:
        same = is_same(target.connection, self.connection)
        target.end_catalogs()
        if same:
            raise AdviseError("option --scratch must name another database than DATABASE")
        execute = self.connection.execute
        row = execute(
            "SELECT pg_catalog.pg_is_in_recovery(),"
            " pg_catalog.pg_encoding_to_char(d.encoding)::pg_catalog.text,"
            " pg_catalog.current_setting('block_size')::pg_catalog.int4"
            " FROM pg_catalog.pg_database d"
            " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
        ).fetchone()
        assert row is not None
        if row[0]:
            raise AdviseError("the scratch database is on a standby, where nothing can be created")
        if row[1] != target.encoding:
            raise AdviseError(
                f"the scratch database has encoding {row[1]}, {target.encoding} is needed:"
                f" createdb -T template0 -E {target.encoding} -l C NAME"
            )
        for name, value in (("search_path", "pg_catalog"), ("DateStyle", "ISO"), ("jit", "off")):
            execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
        self.toast = False
        try:
            execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
            execute(
                sql.SQL("CREATE EXTENSION IF NOT EXISTS compact_types SCHEMA {}").format(
                    sql.Identifier(SCHEMA)
                )
            )
        except psycopg.Error as error:
            raise AdviseError(
                "could not prepare the scratch database:"
                f" {error.diag.message_primary or str(error)}"
            ) from error
        for function in ("advise", "advise_table"):
            if not is_trusted(self.connection, "compact_types", function, "compact_types"):
                raise AdviseError(
                    f"compact_types.{function}() of the scratch database belongs to no superuser,"
                    " or to no extension"
                )
        # This one needs a superuser, and does without otherwise.
        try:
            with self.connection.transaction():
                execute(
                    sql.SQL("CREATE EXTENSION IF NOT EXISTS toast_policy SCHEMA {}").format(
                        sql.Identifier(SCHEMA)
                    )
                )
            self.toast = is_trusted(self.connection, "toast_policy", "advise", "toast_policy")
        except psycopg.Error:
            pass
        try:
            with self.connection.transaction():
                execute(
                    "SELECT set_config('default_toast_compression', %s, true)",
                    (target.toast_compression,),
                )
        except psycopg.Error:
            pass

    def close(self) -> None:
        """Roll everything back."""
        close(self.connection)

    def advise(
        self,
        table: Table,
        target: Target,
        keys: Mapping[str, set[int]],
        with_risk: bool,
        seconds: float,
    ) -> tuple[Advice, list[Line]]:
        """Return what the advisors say to a sample of the table's rows.

        Raise psycopg.Error if the target does not give the rows, or not in time, and NoSample if
        they must not be read.
        """
        advice, lines = Advice(), []
        if table.kind not in "rm" or table.method != "heap":
            return advice, lines
        # Each table is gone before the next one comes, and its file with it.
        with self.connection.transaction(force_rollback=True):
            self.create(table)
            copied = self.copy(table, target, seconds)
            advice = self.types(table, target, keys, with_risk, copied)
            if self.toast and table.toast > max(
                TOAST_PAGES * target.block, TOAST_SHARE * table.heap
            ):
                lines = self.large_values(table)
        return advice, lines

    def create(self, table: Table) -> None:
        """Create a table with the columns of the target's."""
        columns = []
        for column in self.stored(table):
            kind = self.type_name(column) if column.core else "text"
            columns.append(sql.Identifier(column.name) + sql.SQL(" " + kind))
        self.connection.execute(
            sql.SQL("CREATE TABLE {} ({})").format(self.name(), sql.SQL(", ").join(columns))
        )
        storages = {"p": "PLAIN", "e": "EXTERNAL", "m": "MAIN", "x": "EXTENDED"}
        for column in self.stored(table):
            if column.core and column.length == -1:
                self.alter(column, "STORAGE " + storages[column.storage])
                if column.compression in COMPRESSIONS:
                    try:
                        with self.connection.transaction():
                            self.alter(column, "COMPRESSION " + COMPRESSIONS[column.compression])
                    except psycopg.Error:
                        # a server without lz4
                        pass

    def type_name(self, column: Column) -> str:
        """Return the name of a type of pg_catalog, with its modifier.

        The server of the sample writes it, because the target's could write any statement.
        """
        row = self.connection.execute(
            "SELECT format_type(t.oid, %s::int4) FROM pg_type t WHERE t.oid = %s::oid"
            " AND t.oid < 16384 AND t.typtype = 'b'"
            " AND t.typnamespace = 'pg_catalog'::regnamespace",
            (column.typmod, column.type),
        ).fetchone()
        if row is None:
            raise NoSample(
                f"the server of the scratch database has no type of PostgreSQL with OID"
                f" {column.type}, which {plain_ident(column.name)} has"
            )
        return str(row[0])

    def alter(self, column: Column, clause: str) -> None:
        self.connection.execute(
            sql.SQL("ALTER TABLE {} ALTER {} SET " + clause).format(
                self.name(), sql.Identifier(column.name)
            )
        )

    @staticmethod
    def stored(table: Table) -> list[Column]:
        return [column for column in table.columns if column.generated != "v"]

    @staticmethod
    def name() -> sql.Identifier:
        return sql.Identifier(SCHEMA, "sample")

    def copy(self, table: Table, target: Target, seconds: float) -> int:
        """Copy a sample of rows, and return their number."""
        pages = max(table.heap // target.block, 1)
        # without statistics, rows of 100 bytes
        count = table.rows if table.rows > 0 else table.heap / 100
        bytes_of_row = max(3 * (table.heap + table.toast) / max(count, 1), 32)
        most = int(max(min(MOST_ROWS, MOST_BYTES / bytes_of_row), 100))
        share = min(100.0 * 1.2 * most / max(count, 1), 100.0)
        # whole pages: at least some
        share = min(max(share, 100.0 * 50 / pages), 100.0)
        clause = sampled(share, SEED) + sql.SQL(" LIMIT {}").format(sql.Literal(most))
        select = target.select(table, self.stored(table), clause)
        with target.reading(table, seconds):
            with target.connection.cursor() as reader, self.connection.cursor() as writer:
                with reader.copy(sql.SQL("COPY ({}) TO STDOUT").format(select)) as source:
                    with writer.copy(
                        sql.SQL("COPY {} FROM STDIN").format(self.name())
                    ) as destination:
                        for data in source:
                            destination.write(data)
                count = writer.rowcount
        self.connection.execute(sql.SQL("ANALYZE {}").format(self.name()))
        return count

    def types(
        self,
        table: Table,
        target: Target,
        keys: Mapping[str, set[int]],
        with_risk: bool,
        copied: int,
    ) -> Advice:
        """Ask compact_types.  What depends on other objects is decided by the target's catalogs."""
        advice = Advice()
        if copied == 0 or not has_types(table):
            return advice
        by_name = {column.name: column for column in table.columns if column.core}
        relation = f"{SCHEMA}.sample"
        rows = self.connection.execute(
            "SELECT a.column_name::text, a.proposed_type, a.value_bytes_now, a.value_bytes_after,"
            " coalesce(a.reason, ''), coalesce(a.risk, '')"
            " FROM compact_types.advise(%s::regclass, narrow => %s, sample_pages => 0) a"
            " WHERE a.proposed_type IS NOT NULL AND cardinality(a.blockers) = 0",
            (relation, with_risk),
        ).fetchall()
        names = []
        for name, proposed, now, after, reason, risk in rows:
            column = by_name.get(name)
            if column is None or column.generated or risk and not with_risk:
                continue
            if not column.deterministic:
                continue
            kind = proposed.rpartition(".")[2].partition("(")[0].strip('"')
            kind = {"smallint": "int2", "integer": "int4"}.get(kind, kind)
            if column.type in rules.INTEGERS:
                why = prevents(table, column, keys)
                if why:
                    advice.blocked[column.attnum] = (kind, why)
                if why is not None or not self.has_room(table, column, kind):
                    continue
            length, alignment = layout(kind)
            # the advice to use a type of PostgreSQL comes with a statement for the sample
            reason = reason.rpartition("otherwise: ")[2]
            advice.types[column.attnum] = rules.NewType(
                kind, length, alignment, reason, risk, True, after / now if now else 1
            )
            names.append(name)
        if table.fixed:
            advice.prevent(table.fixed)
            return advice
        if not names:
            return advice
        row = self.connection.execute(
            "SELECT a.rows, a.heap_pages_now, a.heap_pages_after, a.row_bytes_now, a.row_bytes_after"
            " FROM compact_types.advise_table(%s::regclass, %s::name[], narrow => %s,"
            " sample_pages => 0) a",
            (relation, names, with_risk),
        ).fetchone()
        assert row is not None
        count, pages_now, pages_after, row_now, row_after = row
        if all(column.core for column in self.stored(table)) and pages_now > 10:
            advice.heap_ratio = pages_after / pages_now
        else:
            # bytes that a row saves, of the bytes that a row has in the target
            bytes_of_row = table.heap / max(table.rows, 1) if table.rows > 0 else row_now
            advice.heap_ratio = max(1 - (row_now - row_after) / max(bytes_of_row, 1), 0)
        advice.confidence = "medium" if copied >= 1000 or copied >= table.rows else "low"
        advice.reason = (
            f"a row takes {row_after:.1f} bytes of the table instead of {row_now:.1f},"
            f" in a sample of {count} rows"
        )
        return advice

    def has_room(self, table: Table, column: Column, kind: str) -> bool:
        """Return true unless updates need more room than the type has."""
        if table.updates == 0 or kind not in RANGES:
            return True
        row = self.connection.execute(
            sql.SQL("SELECT min({0})::int8, max({0})::int8 FROM {1}").format(
                sql.Identifier(column.name), self.name()
            )
        ).fetchone()
        assert row is not None
        return row[0] is None or rules.has_room(row[0], row[1], *RANGES[kind], table.updates)

    def large_values(self, table: Table) -> list[Line]:
        """Ask toast_policy, and extend its answer to the size of the target's table."""
        core = {column.name for column in table.columns if column.core}
        lines = []
        for name, strategy, codec, now, after, reason, risk in self.connection.execute(
            "SELECT a.column_name::text, a.strategy_after, a.codec_after, a.bytes_now,"
            " a.bytes_after, coalesce(a.reason, ''), coalesce(a.risk, '')"
            " FROM toast_policy.advise(%s::regclass) a WHERE a.statement IS NOT NULL",
            (f"{SCHEMA}.sample",),
        ).fetchall():
            if name not in core or not now or now <= after:
                continue
            # bytes_now has the table, its TOAST table and the index of that
            saved = round((table.heap + table.toast) * (1 - after / now))
            if strategy == "toast_policy":
                kind, action = PROPOSAL, f"compress {plain_ident(name)} only where it saves chunks"
            else:
                kind = OPTION
                action = f"store {plain_ident(name)} as {strategy} {codec or ''}".rstrip()
            lines.append(Line(kind, action, min(saved, table.toast), "medium", reason, risk))
        return lines


def layout(kind: str) -> tuple[int, int]:
    """Return length and alignment of a type of compact_types."""
    if kind in LAYOUT:
        return LAYOUT[kind]
    if kind in WIDTHS:
        return WIDTHS[kind], WIDTHS[kind]
    if kind.startswith("compact_char"):
        return int(kind.removeprefix("compact_char")), 1
    if kind.startswith("compact_decimal"):
        length = int(kind.removeprefix("compact_decimal")[0])
        return length, length
    raise AdviseError(f'compact_types proposes the type "{kind}", which this tool does not know')
