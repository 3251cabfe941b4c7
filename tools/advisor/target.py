"""The database that the advice is for: a read-only transaction, catalogs and statistics."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import namedtuple_row

from advisor.errors import AdviseError, NoSample
from advisor.report import quote_ident

APPLICATION = "tools/advise"
OLDEST = 150000
LOCK_TIMEOUT = "2s"


def is_conninfo(text: str) -> bool:
    return "=" in text or text.startswith(("postgresql://", "postgres://"))


def connect(text: str, what: str) -> psycopg.Connection:
    """Connect to a database that is given by its name, a connection string or a URI."""
    try:
        conninfo = make_conninfo(text) if is_conninfo(text) else make_conninfo(dbname=text)
        given = conninfo_to_dict(conninfo)
        conninfo = make_conninfo(
            conninfo,
            application_name=APPLICATION,
            client_encoding="UTF8",
            connect_timeout=given.get("connect_timeout", 10),
        )
        return psycopg.connect(conninfo)
    except psycopg.ProgrammingError as error:
        # the message may repeat a password
        raise AdviseError(f"invalid connection string for {what}") from error
    except psycopg.OperationalError as error:
        raise AdviseError(f"could not connect to {what}: {refused(error)}") from error


def refused(error: psycopg.OperationalError) -> str:
    """Return why there is no connection: address and message of the server, each message once.

    The text of the error cannot be used: psycopg cuts it at the first colon, also in an address.
    """
    message = error.pgconn.error_message.decode(errors="replace") if error.pgconn else ""
    addresses: dict[str, str] = {}
    for line in message.replace("\n\t", ". ").splitlines():
        found = re.fullmatch(r"connection to server (?:at|on) (.*?) failed: (.*)", line)
        address, why = found.groups() if found else ("", line)
        addresses.setdefault(" ".join(re.sub(r"^[A-Z]+: +", "", why).split()), address)
    reasons = [f"{address}: {why}" if address else why for why, address in addresses.items() if why]
    reason = "; ".join(reasons) or str(error).removeprefix("connection is bad: ")
    if re.search(r'role ".*" does not exist', reason):
        reason += (
            '; connect as another role: su postgres -c "tools/advise ...", or'
            ' "user=NAME dbname=..."'
        )
    return reason or "unknown reason"


def close(connection: psycopg.Connection) -> None:
    """End a session, and the statement that it may be running."""
    if connection.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
        connection.cancel()
    connection.close()


@dataclass
class Column:
    """A column with its statistics, which are None if there are none."""

    attnum: int
    name: str
    type: int
    typmod: int
    length: int
    alignment: int
    storage: str
    compression: str
    # a base type of pg_catalog
    core: bool
    generated: str
    sequence: bool
    referenced: bool
    deterministic: bool
    nulls: float | None
    width: int | None
    distinct: float | None
    frequencies: list[float]
    low: int | None
    high: int | None
    # bytes of the most common strings, and of the bounds of the histogram
    common: list[int]
    bounds: list[int]
    ascii_only: bool | None
    whole_seconds: bool | None
    number: bool

    @property
    def analyzed(self) -> bool:
        return self.width is not None


@dataclass
class IndexColumn:
    attnum: int
    length: int
    alignment: int
    # equal values are equal images, so that duplicates share a tuple
    equal: bool


@dataclass
class Index:
    oid: int
    name: str
    method: str
    bytes: int
    columns: list[IndexColumn]
    keys: int
    unique: bool
    primary: bool
    usable: bool
    partial: bool
    rows: float
    options: dict[str, str]
    # statistics of expressions, by the position of the column in the index
    expressions: dict[int, Column] = field(default_factory=dict)


@dataclass
class Table:
    oid: int
    schema: str
    relation: str
    kind: str
    persistence: str
    method: str
    pages: int
    rows: float
    options: dict[str, str]
    # why compact_types does not change it: a partition, a parent, or a typed table
    fixed: str | None
    updates: int
    heap: int
    toast: int
    indexes_bytes: int
    status: str | None
    columns: list[Column] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return self.heap + self.toast + self.indexes_bytes

    @property
    def name(self) -> str:
        """The qualified name, quoted only where it has to be."""
        return f"{plain_ident(self.schema)}.{plain_ident(self.relation)}"

    @property
    def sql_name(self) -> str:
        return f"{quote_ident(self.schema)}.{quote_ident(self.relation)}"


def plain_ident(name: str) -> str:
    plain = name.replace("_", "a").isalnum() and name.isascii() and name == name.lower()
    return name if plain and not name[0].isdigit() else quote_ident(name)


def options(reloptions: Sequence[str] | None) -> dict[str, str]:
    return dict(option.partition("=")[::2] for option in reloptions or ())


def integer(text: str | None, default: int) -> int:
    """Return the value of a storage parameter, as the server's parse_int() reads it.

    The catalogs have it as its owner has written it: 90, 90.0, 9e1, 0x5A and 0132 are the same.
    """
    text = (text or "").strip(" \t\n\v\f\r")
    if re.fullmatch(r"[+-]?0[xX][0-9a-fA-F]+(\.[0-9a-fA-F]*)?([pP][+-]?\d+)?", text, re.ASCII):
        value = float.fromhex(text)
    elif re.fullmatch(r"[+-]?0[0-7]+", text):
        value = float(int(text, 8))
    elif re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        value = float(text)
    else:
        return default
    # what the server would not accept
    return round(value) if abs(value) < 2**31 else default


def boolean(text: str | None, default: bool) -> bool:
    """Return the value of a storage parameter, as the server's parse_bool() reads it.

    parse_bool() accepts each prefix that is unique.
    """
    text = (text or "").lower()
    for word, least, value in (
        ("true", 1, True),
        ("false", 1, False),
        ("yes", 1, True),
        ("no", 1, False),
        ("on", 2, True),
        ("off", 2, False),
        ("1", 1, True),
        ("0", 1, False),
    ):
        if len(text) >= least and word.startswith(text):
            return value
    return default


def fillfactor(given: dict[str, str], default: int) -> int:
    value = integer(given.get("fillfactor"), default)
    return value if 10 <= value <= 100 else default


# Relations whose files cannot be looked at without waiting
LOCKED = """
WITH locked AS MATERIALIZED (
    SELECT DISTINCT l.relation FROM pg_locks l
    WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.granted
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))"""

TABLES = (
    LOCKED
    + """,
files AS MATERIALIZED (
    SELECT c.oid, CASE WHEN l.relation IS NULL AND {measure} THEN pg_relation_size(c.oid)
        ELSE c.relpages::int8 * %(block)s END AS bytes
    FROM pg_class c LEFT JOIN locked l ON l.relation = c.oid
    WHERE c.relkind IN ('r', 'm', 't', 'i') AND c.oid >= 16384),
indexes AS MATERIALIZED (
    SELECT i.indrelid, sum(f.bytes)::int8 AS bytes FROM pg_index i JOIN files f
        ON f.oid = i.indexrelid GROUP BY i.indrelid)
SELECT c.oid::int8, n.nspname::text AS schema, c.relname::text AS relation, c.relkind::text AS kind,
    c.relpersistence::text AS persistence, coalesce(m.amname::text, '') AS method,
    c.relpages AS pages, c.reltuples::float8 AS rows, c.reloptions,
    CASE WHEN c.relispartition THEN 'the table is a partition'
        WHEN c.reloftype <> 0 THEN 'the table is a typed table'
        WHEN EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid)
            THEN 'the table has child tables'
        WHEN EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid)
            THEN 'the table inherits from another one' END AS fixed,
    pg_stat_get_tuples_updated(c.oid) AS updates,
    coalesce(f.bytes, 0) AS heap,
    coalesce(tf.bytes, 0) + coalesce(tx.bytes, 0) AS toast, coalesce(x.bytes, 0) AS indexes_bytes,
    CASE WHEN c.relkind = 'f' THEN 'foreign'
        WHEN pg_is_other_temp_schema(c.relnamespace) THEN 'temporary'
        WHEN f.bytes IS NULL THEN 'dropped'
        WHEN NOT has_schema_privilege(c.relnamespace, 'USAGE') THEN 'denied'
        WHEN NOT has_table_privilege(c.oid, 'SELECT') AND (
                SELECT bool_and(has_column_privilege(c.oid, a.attnum, 'SELECT')) IS NOT TRUE
                FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
                    AND NOT a.attisdropped)
            THEN CASE WHEN has_any_column_privilege(c.oid, 'SELECT') THEN 'denied in part'
                ELSE 'denied' END
        WHEN row_security_active(c.oid) THEN 'row security'
        WHEN c.relpersistence = 'u' AND pg_is_in_recovery() THEN 'unlogged' END AS status
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_am m ON m.oid = c.relam
    LEFT JOIN files f ON f.oid = c.oid
    LEFT JOIN files tf ON tf.oid = c.reltoastrelid AND c.reltoastrelid <> 0
    LEFT JOIN indexes x ON x.indrelid = c.oid
    LEFT JOIN indexes tx ON tx.indrelid = c.reltoastrelid AND c.reltoastrelid <> 0
WHERE c.relkind IN ('r', 'm', 'f') AND c.oid >= 16384 AND n.nspname <> 'information_schema'
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
        AND d.objid = c.oid AND d.deptype = 'e')
"""
)

# What the statistics of a column tell.  A cast is evaluated only for columns of the type, and of
# types of extensions no code is run.
STATISTICS = """
    s.null_frac::float8 AS nulls, s.avg_width AS width, s.n_distinct::float8 AS distinct,
    s.most_common_freqs::float8[] AS frequencies,
    i.low, i.high, b.common, b.bounds, b.ascii_only, z.whole_seconds,
    CASE WHEN a.atttypid = 1700 THEN concat(s.most_common_vals::text, s.histogram_bounds::text)
        !~ 'NaN|Infinity' ELSE true END AS number
"""
STATISTICS_OF = """
    LEFT JOIN LATERAL (
        SELECT min(v) AS low, max(v) AS high
        FROM unnest(CASE WHEN a.atttypid IN (20, 21, 23) THEN
            coalesce(s.histogram_bounds::text::int8[], '{}')
            || coalesce(s.most_common_vals::text::int8[], '{}') END) v) i ON true
    LEFT JOIN LATERAL (
        SELECT array_agg(octet_length(v.v) ORDER BY v.ord) FILTER (WHERE v.common) AS common,
            array_agg(octet_length(v.v) ORDER BY v.ord) FILTER (WHERE NOT v.common) AS bounds,
            bool_and(octet_length(v.v) = char_length(v.v)) AS ascii_only
        FROM (SELECT m.v, m.ord, true FROM unnest(CASE WHEN a.atttypid IN (25, 1042, 1043)
                THEN s.most_common_vals::text::text[] END) WITH ORDINALITY m (v, ord)
            UNION ALL SELECT h.v, h.ord, false FROM unnest(CASE WHEN a.atttypid IN (25, 1042, 1043)
                THEN s.histogram_bounds::text::text[] END) WITH ORDINALITY h (v, ord))
            v (v, ord, common)) b ON true
    LEFT JOIN LATERAL (
        SELECT bool_and(isfinite(v) AND date_trunc('second', v) = v
            AND v BETWEEN '1970-01-01 00:00:00' AND '2106-02-07 06:28:15') AS whole_seconds
        FROM unnest(CASE WHEN a.atttypid IN (1114, 1184) THEN
            coalesce(s.histogram_bounds::text::timestamp[], '{}')
            || coalesce(s.most_common_vals::text::timestamp[], '{}') END) v) z ON true
"""

COLUMNS = (
    """
SELECT a.attrelid::int8 AS relation, a.attnum::int4, a.attname::text AS name, a.atttypid::int8 AS type,
    a.atttypmod AS typmod,
    a.attlen::int4 AS length, a.attalign::text AS alignment, a.attstorage::text AS storage,
    a.attcompression::text AS compression,
    a.atttypid < 16384 AND t.typtype = 'b' AND t.typnamespace = 'pg_catalog'::regnamespace AS core,
    a.attgenerated::text AS generated,
    a.attidentity <> '' OR q.refobjid IS NOT NULL OR d.adrelid IS NOT NULL AS sequence,
    k.conrelid IS NOT NULL AS referenced,
    coalesce(l.collisdeterministic, true) AS deterministic,"""
    + STATISTICS
    + """
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    LEFT JOIN (SELECT DISTINCT p.refobjid, p.refobjsubid FROM pg_depend p JOIN pg_class r
            ON r.oid = p.objid AND r.relkind = 'S'
        WHERE p.classid = 'pg_class'::regclass AND p.refclassid = 'pg_class'::regclass
            AND p.deptype IN ('a', 'i') AND p.refobjsubid > 0) q
        ON q.refobjid = a.attrelid AND q.refobjsubid = a.attnum
    LEFT JOIN (SELECT DISTINCT f.adrelid, f.adnum FROM pg_attrdef f JOIN pg_depend p
            ON p.classid = 'pg_attrdef'::regclass AND p.objid = f.oid
                AND p.refclassid = 'pg_class'::regclass
            JOIN pg_class r ON r.oid = p.refobjid AND r.relkind = 'S') d
        ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN (SELECT DISTINCT o.conrelid, u.attnum FROM pg_constraint o, unnest(o.conkey) u (attnum)
            WHERE o.contype = 'f'
        UNION SELECT o.confrelid, u.attnum FROM pg_constraint o, unnest(o.confkey) u (attnum)
            WHERE o.contype = 'f') k (conrelid, attnum)
        ON k.conrelid = a.attrelid AND k.attnum = a.attnum
    LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname
        AND s.attname = a.attname AND NOT s.inherited"""
    + STATISTICS_OF
    + """
WHERE a.attrelid = ANY (%(tables)s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""
)

INDEXES = (
    LOCKED
    + """
SELECT i.indrelid::int8 AS relation, i.indexrelid::int8 AS oid, n.nspname::text AS schema,
    c.relname::text AS name, m.amname::text AS method,
    CASE WHEN {measure} AND k.relation IS NULL THEN coalesce(pg_relation_size(c.oid), 0) ELSE c.relpages::int8 * %(block)s END AS bytes,
    i.indkey::text AS attnums, i.indclass::text AS classes, i.indcollation::text AS collations,
    ARRAY(SELECT a.attlen::int4 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
        ORDER BY a.attnum) AS lengths,
    ARRAY(SELECT a.attalign::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
        ORDER BY a.attnum) AS alignments,
    i.indnkeyatts::int4 AS keys, i.indisunique AS unique, i.indisprimary AS primary,
    i.indisvalid AND i.indisready AS usable, i.indpred IS NOT NULL AS partial,
    c.reltuples::float8 AS rows, c.reloptions
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n
        ON n.oid = c.relnamespace JOIN pg_am m ON m.oid = c.relam
    LEFT JOIN locked k ON k.relation = c.oid
WHERE i.indrelid = ANY (%(tables)s::oid[])
ORDER BY i.indrelid, c.relname
"""
)

EXPRESSIONS = (
    """
SELECT a.attrelid::int8 AS relation, a.attnum::int4, a.attname::text AS name, a.atttypid::int8 AS type,
    a.atttypmod AS typmod, a.attlen::int4 AS length, a.attalign::text AS alignment,
    a.attstorage::text AS storage, '' AS compression, false AS core, '' AS generated,
    false AS sequence, false AS referenced, true AS deterministic,"""
    + STATISTICS
    + """
FROM pg_index x JOIN pg_attribute a ON a.attrelid = x.indexrelid
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname
        AND s.attname = a.attname AND NOT s.inherited"""
    + STATISTICS_OF
    + """
WHERE x.indrelid = ANY (%(tables)s::oid[]) AND x.indexprs IS NOT NULL AND a.attnum > 0
    AND (x.indkey::int2[])[a.attnum - 1] = 0
"""
)

# operator classes whose equal values are equal images
EQUAL_CLASSES = """
SELECT o.oid::int8 FROM pg_opclass o JOIN pg_amproc p ON p.amprocfamily = o.opcfamily
    AND p.amproclefttype = o.opcintype AND p.amprocrighttype = o.opcintype AND p.amprocnum = 4
"""
NONDETERMINISTIC = "SELECT l.oid::int8 FROM pg_collation l WHERE NOT l.collisdeterministic"
KEY_NAMES = """
SELECT a.attname::text, i.indrelid::int8 FROM pg_index i JOIN pg_attribute a
    ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indisprimary AND i.indnkeyatts = 1 AND a.atttypid IN (20, 21, 23)
"""
TRUSTED = """
SELECT bool_and(r.rolsuper AND EXISTS (
    SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        AND d.refclassid = 'pg_extension'::regclass AND e.extname = %(extension)s))
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles r ON r.oid = p.proowner
WHERE n.nspname = %(schema)s AND p.proname = %(function)s
"""


# A text that takes as many bytes as the value.  least() would ignore a null.
FILLER = (
    "repeat('x', CASE WHEN pg_column_size({0}) > 2000 THEN 1999 ELSE pg_column_size({0}) - 1 END)"
)

# The planner evaluates constant parts of expressions and predicates of indexes, and of expressions
# of extended statistics, whatever the query is.  These can call functions, which then run as this
# role.  Values of enumerated types are read and compared by code of the server.
CALLS_CODE = """
SELECT EXISTS (
    SELECT FROM pg_depend d
    WHERE d.refobjid >= 16384
        AND (d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
            OR d.refclassid = 'pg_type'::regclass AND NOT EXISTS (
                SELECT FROM pg_type t WHERE t.oid = d.refobjid AND t.typtype = 'e'))
        AND (d.classid = 'pg_class'::regclass AND d.objid IN (
                SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = %(table)s::oid
                    AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL))
            OR d.classid = 'pg_statistic_ext'::regclass AND d.objid IN (
                SELECT s.oid FROM pg_statistic_ext s WHERE s.stxrelid = %(table)s::oid)))
"""
SAME = """
SELECT count(*) > 0 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = %(table)s::oid AND c.relkind IN ('r', 'm') AND c.relname = %(relation)s
    AND n.nspname = %(schema)s
"""
# As pg_dump does: nobody can put a view in the place of a table that this tool has found.
# Servers before August 2024 do not have the setting.
NO_VIEWS = """
SELECT set_config(name, 'view, foreign-table', true) FROM pg_settings
WHERE name = 'restrict_nonsystem_relation_kind'
"""
# two sessions of the same database of the same instance differ in the last column only
INSTANCE = """
SELECT pg_catalog.pg_postmaster_start_time(), pg_catalog.current_setting('port'),
    d.oid::pg_catalog.int8, pg_catalog.pg_backend_pid()
FROM pg_catalog.pg_database d
WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
"""
SESSION = """
SELECT FROM pg_catalog.pg_stat_activity a
WHERE a.pid OPERATOR(pg_catalog.=) %(pid)s::pg_catalog.int4
    AND a.datid OPERATOR(pg_catalog.=) %(datid)s::pg_catalog.oid
"""
SETTINGS = (
    ("lock_timeout", LOCK_TIMEOUT),
    ("search_path", "pg_catalog"),
    ("DateStyle", "ISO"),
    ("jit", "off"),
)
# The planner looks at no constraint, and policies of a table are an error instead of being applied.
SETTINGS_OF_SAMPLE = (*SETTINGS, ("constraint_exclusion", "off"), ("row_security", "off"))


def is_trusted(connection: psycopg.Connection, schema: str, function: str, extension: str) -> bool:
    """Return true if the function belongs to the extension and to a superuser.

    Then no other role has put a function of its own in its place.
    """
    row = connection.execute(
        TRUSTED, {"schema": schema, "function": function, "extension": extension}
    ).fetchone()
    return row is not None and row[0] is True


def is_same(one: psycopg.Connection, other: psycopg.Connection) -> bool:
    """Return true if both connections are to the same database of the same instance.

    The query needs no privilege.  Each session sees the other one only if they share an instance;
    the start of the server and the OID of the database make sure of it if process numbers are
    reused.
    """
    seen = []
    for connection in (one, other):
        row = connection.execute(INSTANCE).fetchone()
        assert row is not None
        seen.append(row)
    if seen[0][:-1] != seen[1][:-1]:
        return False
    for connection, (*_, datid, _), (*_, pid) in ((one, *seen), (other, *reversed(seen))):
        found = connection.execute(SESSION, {"pid": pid, "datid": datid}).fetchone()
        if found is None:
            return False
    return True


def alignment(code: str) -> int:
    return {"c": 1, "s": 2, "i": 4}.get(code, 8)


class Target:
    """A connection in one transaction, which is READ ONLY and REPEATABLE READ.

    Samples come later, each in a READ ONLY transaction of its own.
    """

    def __init__(self, text: str, budget: float) -> None:
        self.deadline = time.monotonic() + budget
        self.connection = connect(text, "the database")
        info = self.connection.info
        if info.server_version < OLDEST:
            major = info.server_version // 10000
            self.close()
            raise AdviseError(f"the server has PostgreSQL {major}, 15 or later is needed")
        self.connection.read_only = True
        self.connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self.version = info.server_version
        self.info = {"host": info.host, "port": info.port}
        for name, value in (
            ("statement_timeout", f"{max(int(budget * 1000), 1)}ms"),
            *SETTINGS,
        ):
            self.connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
        self.row = self.connection.execute(
            "SELECT current_setting('block_size')::int4, current_database(),"
            " current_setting('server_version'), pg_is_in_recovery(),"
            " pg_encoding_max_length(d.encoding) = 1, pg_encoding_to_char(d.encoding)::text,"
            " current_setting('default_index_item_alignment', true),"
            " current_setting('default_toast_compression')"
            " FROM pg_database d WHERE d.datname = current_database()"
        ).fetchone()
        assert self.row is not None
        self.block, self.database, self.version_text, self.standby = self.row[:4]
        self.single_byte, self.encoding, alignments, self.toast_compression = self.row[4:]
        self.patched = alignments is not None
        self.default_alignment = alignments

    def close(self) -> None:
        close(self.connection)

    def left(self) -> float:
        """Return the seconds that are left of the budget."""
        return self.deadline - time.monotonic()

    def rows(self, query: str, **parameters: Any) -> list[Any]:
        with self.connection.cursor(row_factory=namedtuple_row) as cursor:
            return cursor.execute(query, parameters or None).fetchall()

    def measured(self, query: str, **parameters: Any) -> list[Any]:
        """Run a query that asks for sizes of files.

        The query takes a lock for a moment.  If another session holds such a lock for longer, take
        the sizes from pg_class.
        """
        try:
            with self.connection.transaction():
                return self.rows(query.replace("{measure}", "true"), **parameters)
        except psycopg.errors.LockNotAvailable:
            return self.rows(query.replace("{measure}", "false"), **parameters)

    def tables(self) -> list[Table]:
        """Return all tables, the largest first."""
        found = [self.table(row) for row in self.measured(TABLES, block=self.block)]
        return sorted(found, key=lambda table: (-table.bytes, table.oid))

    @staticmethod
    def table(row: Any) -> Table:
        given = row._asdict()
        given["options"] = options(given.pop("reloptions"))
        given["updates"] = given["updates"] or 0
        return Table(**given)

    def describe(self, tables: Sequence[Table]) -> None:
        """Read columns, statistics and indexes of the tables, with one query for each."""
        oids = [table.oid for table in tables]
        columns: dict[int, list[Column]] = defaultdict(list)
        for row in self.rows(COLUMNS, tables=oids):
            columns[row.relation].append(column(row))
        expressions: dict[int, dict[int, Column]] = defaultdict(dict)
        for row in self.rows(EXPRESSIONS, tables=oids):
            expressions[row.relation][row.attnum - 1] = column(row)
        equal = {row[0] for row in self.rows(EQUAL_CLASSES)}
        fuzzy = {row[0] for row in self.rows(NONDETERMINISTIC)}
        indexes: dict[int, list[Index]] = defaultdict(list)
        for row in self.measured(INDEXES, tables=oids, block=self.block):
            indexes[row.relation].append(index(row, equal, fuzzy, expressions[row.oid]))
        for table in tables:
            table.columns = columns[table.oid]
            table.indexes = indexes[table.oid]

    def key_names(self) -> dict[str, set[int]]:
        """Return the tables whose primary key is one integer column, by its name."""
        names: dict[str, set[int]] = defaultdict(set)
        for name, relation in self.rows(KEY_NAMES):
            names[name].add(relation)
        return names

    def end_catalogs(self) -> None:
        """End the transaction of the catalogs, before samples are read."""
        self.connection.rollback()
        # a check of the catalogs must see what the planner sees
        self.connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED

    @contextmanager
    def reading(self, table: Table, seconds: float) -> Iterator[None]:
        """Begin a transaction in which select() may be run for this table.

        Raise NoSample if the server could run code of the table's owner as this role.
        """
        with self.connection.transaction():
            for name, value in (
                ("statement_timeout", f"{int(seconds * 1000)}ms"),
                *SETTINGS_OF_SAMPLE,
            ):
                self.connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
            self.connection.execute(NO_VIEWS)
            # This locks the table and plans nothing.  LOCK TABLE needs more than the privilege to
            # read all columns.
            statement = sql.Identifier(f"advise {table.oid}")
            self.connection.execute(
                sql.SQL("PREPARE {0} AS {1}; DEALLOCATE {0}").format(
                    statement, self.select(table, (), sampled(100))
                )
            )
            if not self.rows(SAME, table=table.oid, relation=table.relation, schema=table.schema)[
                0
            ][0]:
                raise NoSample("another relation has its name now")
            if self.rows(CALLS_CODE, table=table.oid)[0][0]:
                raise NoSample(
                    "an index or a statistics object calls a function that does not come with"
                    " PostgreSQL, and the planner could run it"
                )
            yield

    def has_extension(self) -> bool:
        return is_trusted(self.connection, "dense", "report", "pg_dense")

    def select(
        self, table: Table, columns: Sequence[Column], clause: sql.Composable
    ) -> sql.Composed:
        """Return a statement that reads rows of the table.

        A value of a type of an extension becomes a text of the same length.  No code of such a
        type is run, because its owner could be anybody.
        """
        return sql.SQL("SELECT {} FROM ONLY {} {}").format(
            sql.SQL(", ").join(
                sql.SQL("{}" if column.core else FILLER).format(sql.Identifier(column.name))
                for column in columns
            ),
            sql.Identifier(table.schema, table.relation),
            clause,
        )


def sampled(share: float, seed: int = 0) -> sql.Composed:
    """Return the clause that reads this share of the pages, in percent.

    All samples have it, also those of all pages: the server refuses it for a view.
    """
    return sql.SQL("TABLESAMPLE pg_catalog.system ({}) REPEATABLE ({})").format(
        sql.Literal(share), sql.Literal(seed)
    )


def column(row: Any) -> Column:
    given = row._asdict()
    del given["relation"]
    given["alignment"] = alignment(given["alignment"])
    for name in ("frequencies", "common", "bounds"):
        given[name] = given[name] or []
    return Column(**given)


def index(row: Any, equal: set[int], fuzzy: set[int], expressions: dict[int, Column]) -> Index:
    attnums = [int(attnum) for attnum in row.attnums.split()]
    classes = [int(oid) for oid in row.classes.split()]
    collations = [int(oid) for oid in row.collations.split()]
    columns = [
        IndexColumn(
            attnum,
            row.lengths[i],
            alignment(row.alignments[i]),
            i < len(classes) and classes[i] in equal and collations[i] not in fuzzy,
        )
        for i, attnum in enumerate(attnums)
    ]
    return Index(
        row.oid,
        f"{plain_ident(row.schema)}.{plain_ident(row.name)}",
        row.method,
        row.bytes,
        columns,
        row.keys,
        row.unique,
        row.primary,
        row.usable,
        row.partial,
        row.rows,
        options(row.reloptions),
        expressions,
    )
