# Test how a program that uses psycopg 3 sees the compact types: without any registration, in text
# and in binary format, with server-side binding, COPY and pipelines.
#
# 	python3 compact_types_psycopg.py CONNINFO < SAMPLES
#
# SAMPLES is JSON: a list of {type, wide, kind, literals}.  Print TAP lines without numbers, "ok -
# NAME" or "not ok - NAME".  The calling test counts them.
import datetime
import json
import sys

import psycopg
from clients.samples import value_of


def check(name, got, expected):
    if got == expected and type(got) is type(expected):
        print(f"ok - {name}")
    else:
        print(f"not ok - {name}: got {got!r}, expected {expected!r}")


def back(kind, value):
    """
    Return the Python value of a result.

    psycopg does not know the types' OIDs, and returns the text form as str.
    """
    if value is None:
        return None
    if kind == "string":
        return value.rstrip(" ")
    if kind in ("timestamp", "timestamptz"):
        # only Python 3.11 and later accept "+00"
        value = value + ":00" if kind == "timestamptz" else value
        return datetime.datetime.fromisoformat(value)
    return value_of(kind, value)


def run(conn, sample):
    type_, wide, kind = sample["type"], sample["wide"], sample["kind"]
    values = [value_of(kind, literal) for literal in sample["literals"]]
    cur = conn.cursor()

    # psycopg sends parameters to the server as parameters.  psycopg declares the type that
    # belongs to the Python type, or no type for a str, and the server converts the value.
    cur.execute(f"CREATE TEMP TABLE p (id int, v {type_})")
    for i, value in enumerate(values):
        cur.execute("INSERT INTO p VALUES (%s, %s)", (i, value))
    cur.execute("INSERT INTO p VALUES (%s, %s)", (len(values), None))
    cur.execute("SELECT v FROM p ORDER BY id")
    rows = [row[0] for row in cur.fetchall()]
    check(f"{type_}: text results are strings", {type(r) for r in rows[:-1]}, {str})
    check(f"{type_}: values come back", [back(kind, r) for r in rows], values + [None])

    # a parameter on each side of a comparison, prepared or not, in text and in binary format
    for prepare in (False, True):
        for placeholder in ("%s", "%b", "%t"):
            found = []
            for value in values:
                for query in (
                    f"SELECT id FROM p WHERE v = {placeholder}",
                    f"SELECT id FROM p WHERE {placeholder} = v",
                ):
                    cur.execute(query, (value,), prepare=prepare)
                    found.extend(row[0] for row in cur.fetchall())
            check(
                f"{type_}: {placeholder}, prepare={prepare}",
                found,
                [i for i in range(len(values)) for _ in range(2)],
            )

    # an explicit cast of the result gives Python's own type
    cur.execute(f"SELECT v::{wide} FROM p ORDER BY id LIMIT 1")
    value = cur.fetchone()[0]
    check(f"{type_}: cast to {wide}", value.rstrip() if kind == "string" else value, values[0])

    # lists: = ANY (array)
    cur.execute("SELECT count(*) FROM p WHERE v = ANY(%s)", (values,))
    check(f"{type_}: list", cur.fetchone()[0], len(values))

    # many rows at once, which psycopg sends as a pipeline
    cur.executemany("UPDATE p SET id = id + %s WHERE v = %s", [(100, v) for v in values])
    check(f"{type_}: executemany", cur.rowcount, len(values))

    # COPY, in text and in binary format
    cur.execute(f"CREATE TEMP TABLE c (v {type_})")
    with cur.copy("COPY c FROM STDIN") as copy:
        for value in values:
            copy.write_row((value,))
        copy.write_row((None,))
    with cur.copy("COPY c TO STDOUT") as copy:
        copied = [back(kind, row[0]) for row in copy.rows()]
    check(f"{type_}: COPY", copied, values + [None])
    data = b""
    with cur.copy("COPY c TO STDOUT (FORMAT binary)") as copy:
        for chunk in copy:
            data += chunk
    cur.execute(f"CREATE TEMP TABLE c2 (v {type_})")
    with cur.copy("COPY c2 FROM STDIN (FORMAT binary)") as copy:
        copy.write(data)
    cur.execute("SELECT count(*) FROM c2 JOIN c USING (v)")
    check(f"{type_}: binary COPY", cur.fetchone()[0], len(values))

    # a binary result of a type that psycopg does not know is bytes
    binary = conn.cursor(binary=True)
    binary.execute("SELECT v FROM c LIMIT 1")
    raw = binary.fetchone()[0]
    check(f"{type_}: unregistered binary result", type(raw), bytes)

    # a result of a registered type is a Python value
    info = psycopg.types.TypeInfo.fetch(conn, type_)
    check(
        f"{type_}: TypeInfo",
        (info.name, info.oid > 16384, info.array_oid > 16384),
        (type_, True, True),
    )
    info.register(conn)
    adapters = conn.adapters
    own = {
        "string": "text",
        "int": "int8",
        "numeric": "numeric",
        "timestamp": "timestamp",
        "timestamptz": "timestamptz",
    }[kind]
    adapters.register_loader(
        info.oid, adapters.get_loader(adapters.types[own].oid, psycopg.pq.Format.TEXT)
    )
    cur = conn.cursor()
    cur.execute("SELECT v, ARRAY[v, NULL] FROM c LIMIT 1")
    value, array = cur.fetchone()
    if kind == "string":
        value, array[0] = value.rstrip(), array[0].rstrip()
    check(f"{type_}: registered", [value] + array, [values[0], values[0], None])
    conn.rollback()

    if "bad" not in sample:
        return

    # the connection works after an error
    try:
        conn.execute(f"SELECT %s::text::{type_}", (sample["bad"],))
        check(f"{type_}: error", None, sample["bad"])
    except psycopg.errors.DataError as error:
        check(f"{type_}: error", error.sqlstate, sample["sqlstate"])
    conn.rollback()


with psycopg.connect(sys.argv[1]) as connection:
    connection.execute("SET timezone = 'UTC'")
    connection.commit()
    for one in json.load(sys.stdin):
        run(connection, one)
