"""
Functions that a program calls once for each connection.

A program that reads compact types registers loaders, so that results, and arrays of them, have the
same Python types as results of the wide types.
"""
import re

from psycopg.pq import Format
from psycopg.types import TypeInfo

WIDE = {
    "compact_text": "text",
    r"compact_char\d+": "bpchar",
    r"compact_decimal[48]_\d+": "numeric",
    r"u?int[123]": "int4",
    "seconds4": "timestamp",
    "seconds4tz": "timestamptz",
}


def none(conn):
    """Leave the driver as it is."""


def split_tables(conn):
    """Change nothing in the driver, but let Django's migrations find the constraints."""
    import split_tables_django


def compact_types(conn):
    with conn.cursor() as cur:
        cur.execute(
            r"""
            SELECT t.typname, t.oid, t.typarray
            FROM pg_type t
            JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
            JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
            WHERE e.extname LIKE 'compact\_%' AND t.typarray <> 0"""
        )
        found = cur.fetchall()
    if not conn.autocommit:
        conn.commit()
    adapters = conn.adapters
    for name, oid, array in found:
        wide = [wide for pattern, wide in WIDE.items() if re.fullmatch(pattern, name)]
        if not wide:
            continue
        TypeInfo(name, oid, array).register(conn)
        for form in (Format.TEXT, Format.BINARY):
            # the binary format of the one-byte integers is that of int2
            own = "int2" if form == Format.BINARY and name in ("int1", "uint1") else wide[0]
            adapters.register_loader(oid, adapters.get_loader(adapters.types[own].oid, form))
