"""
Do the work of the shop's batch programs, which use psycopg alone: parameters with and without a
type, in text and in binary format, prepared or not, executemany, pipelines and COPY.
"""
import decimal
import hashlib
import io

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

D = decimal.Decimal


def driver(see, connect):
    conn = connect()
    conn.autocommit = True

    for kind, cursor in (
        ("server", psycopg.Cursor),
        ("client", psycopg.ClientCursor),
        ("raw", psycopg.RawCursor),
    ):

        def run(statement, parameters=(), **how):
            if cursor is psycopg.RawCursor:
                for i in range(len(parameters)):
                    statement = statement.replace("%s", f"${i + 1}", 1)
            with cursor(conn) as cur:
                cur.execute(statement, parameters, **how)
                return cur.rowcount, cur.fetchall() if cur.description else None

        for prepare in (False, True):

            def look(name, statement, *parameters):
                see(
                    f"{kind}, prepare={prepare}: {name}",
                    run,
                    statement,
                    parameters,
                    prepare=prepare,
                )

            look(
                "text",
                "SELECT id, name FROM shop_customer WHERE name = %s ORDER BY id",
                "John Smith",
            )
            look(
                "text, blanks",
                "SELECT id, name FROM shop_customer WHERE name = %s ORDER BY id",
                "John Smith ",
            )
            look(
                "text on the left",
                "SELECT id FROM shop_customer WHERE %s = name ORDER BY id",
                "John Smith",
            )
            look(
                "range", "SELECT count(*) FROM shop_customer WHERE name BETWEEN %s AND %s", "A", "K"
            )
            look("like", "SELECT count(*) FROM shop_customer WHERE name LIKE %s", "J%")
            look(
                "in",
                "SELECT id FROM shop_customer WHERE name IN (%s, %s) ORDER BY id",
                "Anna Bauer",
                "李雷",
            )
            look(
                "any",
                "SELECT id FROM shop_customer WHERE name = ANY(%s) ORDER BY id",
                ["Anna Bauer", "李雷"],
            )
            look(
                "decimal", "SELECT id FROM shop_product WHERE price > %s ORDER BY id", D("700.005")
            )
            look(
                "decimal as text",
                "SELECT id FROM shop_product WHERE price > %s ORDER BY id",
                "700.005",
            )
            look(
                "decimals",
                "SELECT id FROM shop_product WHERE weight = ANY(%s) ORDER BY id",
                [D("1.125"), D("2.1255"), D("5")],
            )
            look(
                "decimals in",
                "SELECT id FROM shop_product WHERE weight IN (%s, %s) ORDER BY id",
                D("1.125"),
                D("2.1255"),
            )
            look(
                "texts in, of decimals",
                "SELECT id FROM shop_product WHERE weight IN (%s, %s) ORDER BY id",
                "1.125",
                "2.1255",
            )
            look("float", "SELECT id FROM shop_product WHERE price > %s ORDER BY id", 700.5)
            look("integer", "SELECT id FROM shop_product WHERE stock = %s ORDER BY id", 57)
            look(
                "integer, large",
                "SELECT id FROM shop_product WHERE stock < %s ORDER BY id LIMIT 3",
                2**40,
            )
            look(
                "integer for a decimal",
                "SELECT id FROM shop_product WHERE price < %s ORDER BY id",
                20,
            )
            look("integer for a text", "SELECT id FROM shop_customer WHERE token = %s", 5)
            look(
                "none",
                "SELECT id FROM shop_product WHERE weight IS NOT DISTINCT FROM %s ORDER BY id LIMIT 3",
                None,
            )
            look(
                "limit",
                "SELECT id FROM shop_product ORDER BY price DESC, id LIMIT %s OFFSET %s",
                3,
                2,
            )
            look("concatenation", "SELECT title || %s FROM shop_product ORDER BY id LIMIT 2", "?")
            look(
                "coalesce",
                "SELECT coalesce(subtitle, %s) FROM shop_product ORDER BY id LIMIT 5",
                "none",
            )
            look(
                "coalesce of decimal",
                "SELECT coalesce(weight, %s) FROM shop_product ORDER BY id LIMIT 5",
                D("0.5"),
            )
            look(
                "coalesce of decimal, digits",
                "SELECT coalesce(weight, %s) FROM shop_product ORDER BY id LIMIT 5",
                D("0.12345"),
            )
            look(
                "case",
                "SELECT CASE WHEN price > %s THEN title ELSE %s END FROM shop_product ORDER BY id LIMIT 5",
                D("300"),
                "cheap",
            )
            look(
                "result of a parameter",
                "SELECT %s, price + %s FROM shop_product ORDER BY id LIMIT 2",
                "x",
                D("1.5"),
            )
            look(
                "row",
                "SELECT id FROM shop_product WHERE (title, price) > (%s, %s) ORDER BY title, price, id LIMIT 3",
                "M",
                D("5"),
            )
            look(
                "jsonb",
                "SELECT id FROM shop_product WHERE attributes @> %s ORDER BY id LIMIT 3",
                Jsonb({"color": "red"}),
            )
            look(
                "update",
                "UPDATE shop_product SET price = %s, title = %s WHERE sku = %s RETURNING price, title, sku",
                D("5.55"),
                "Updated",
                "SKU-000100",
            )
            look(
                "update by expression",
                "UPDATE shop_product SET price = price * %s, stock = stock + %s WHERE sku = %s RETURNING price, stock",
                D("1.1"),
                5,
                "SKU-000100",
            )
            look(
                "upsert",
                """INSERT INTO shop_counter (name, value, amount, label) VALUES (%s, %s, %s, %s)
                ON CONFLICT (name) DO UPDATE SET value = shop_counter.value + EXCLUDED.value,
                    label = left(EXCLUDED.label || shop_counter.label, 80), amount = EXCLUDED.amount
                RETURNING name, value, amount, label""",
                "driver",
                3,
                D("1.25"),
                "l",
            )
            look(
                "upsert, condition",
                """INSERT INTO shop_counter (name, value, amount, label) VALUES (%s, 1, 1, '')
                ON CONFLICT (name) DO UPDATE SET value = 0 WHERE shop_counter.label < EXCLUDED.name RETURNING *""",
                "driver",
            )
            look(
                "insert of a select",
                """INSERT INTO shop_counter (name, value, amount, label)
                SELECT %s || sku, stock, price, left(title, 80) FROM shop_product WHERE id < 6 ON CONFLICT DO NOTHING RETURNING name, amount""",
                f"{kind}/",
            )
            look(
                "merge",
                """MERGE INTO shop_setting s USING (VALUES (%s, %s)) v(scope, value) ON s.scope = v.scope AND s.name = 'setting.1'
                WHEN MATCHED THEN UPDATE SET value = v.value || s.value""",
                "user:5",
                "m",
            )
            look("too long", "UPDATE shop_product SET title = %s WHERE id = 1", "x" * 201)
            look(
                "too large for four bytes",
                "UPDATE shop_product SET price = %s WHERE id = 1",
                D("1e9"),
            )
            look("not a number", "UPDATE shop_product SET price = %s WHERE id = 1", "much")
            look(
                "delete",
                "DELETE FROM shop_counter WHERE name LIKE %s AND amount >= %s",
                f"{kind}/SKU-00000%",
                D("0"),
            )

    # the driver's formats
    with conn.cursor() as cur:

        def look(name, statement, parameters):
            def run():
                cur.execute(statement, parameters)
                return cur.fetchall()

            see("format: " + name, run)

        for placeholder in ("%t", "%b"):
            look(
                placeholder + " text",
                f"SELECT id FROM shop_customer WHERE name = {placeholder} ORDER BY id",
                ("Anna Bauer",),
            )
            look(
                placeholder + " decimal",
                f"SELECT id FROM shop_product WHERE price >= {placeholder} ORDER BY id",
                (D("650"),),
            )
            look(
                placeholder + " integer",
                f"SELECT id FROM shop_product WHERE stock = {placeholder} ORDER BY id",
                (12,),
            )
            look(
                placeholder + " insert",
                f"INSERT INTO shop_counter VALUES ({placeholder}, {placeholder}, {placeholder}, {placeholder}) RETURNING name, value, amount, label",
                ("format" + placeholder, 5, D("12.125"), "l"),
            )
    for table, columns in (
        ("shop_product", "sku, title, price, weight, stock, rating, active"),
        ("shop_customer", "name, token, credit, birthday, points"),
        ("shop_orderline", "position, quantity, price, text"),
    ):

        def binary():
            with conn.cursor(binary=True) as cur:
                return cur.execute(
                    f"SELECT {columns} FROM {table} WHERE id IN (4, 8, 15) ORDER BY id"
                ).fetchall()

        see("binary results of " + table, binary)
        see(
            "descriptions of " + table,
            lambda: [
                (c.name, c.type_display)
                for c in conn.execute(f"SELECT {columns} FROM {table} LIMIT 0").description
            ],
        )

    def unprepared():
        with psycopg.connect("") as other:
            return other.execute(
                "SELECT title, price, rating FROM shop_product ORDER BY id LIMIT 3"
            ).fetchall()

    see("without loaders", unprepared)
    see(
        "dictionaries",
        lambda: conn.cursor(row_factory=dict_row)
        .execute("SELECT sku, price FROM shop_product ORDER BY id LIMIT 2")
        .fetchall(),
    )

    # many rows at once
    def many():
        with conn.transaction(), conn.cursor() as cur:
            cur.executemany(
                "INSERT INTO shop_counter VALUES (%s, %s, %s, %s)",
                [(f"many/{i}", i, D(i) / 8, f"many {i}") for i in range(50)],
            )
            inserted = cur.rowcount
            cur.executemany(
                "UPDATE shop_counter SET amount = amount + %s WHERE name = %s RETURNING amount",
                [(D("0.25"), f"many/{i}") for i in range(5)],
                returning=True,
            )
            results = []
            while True:
                results.append(cur.fetchall())
                if not cur.nextset():
                    return inserted, results

    see("executemany", many)

    def pipeline():
        with conn.pipeline(), conn.cursor() as cur:
            cur.execute("SELECT count(*) FROM shop_counter WHERE label LIKE %s", ("many%",))
            first = cur.fetchone()
            cur.execute(
                "SELECT max(name), min(amount) FROM shop_counter WHERE name LIKE %s", ("many%",)
            )
            return first, cur.fetchone()

    see("pipeline", pipeline)

    def cursor():
        with conn.transaction(), conn.cursor("named", scrollable=True) as cur:
            cur.execute("SELECT sku, price FROM shop_product WHERE maker > %s ORDER BY sku", ("f",))
            rows = cur.fetchmany(3)
            cur.scroll(5)
            return rows, cur.fetchmany(2)

    see("named cursor", cursor)

    # COPY
    def copy_out(options):
        def run():
            with conn.cursor() as cur, cur.copy(
                f"COPY (SELECT sku, title, price, weight, maker FROM shop_product ORDER BY id LIMIT 50) TO STDOUT {options}"
            ) as copy:
                return b"".join(bytes(block) for block in copy)

        return run

    for options in ("", "(FORMAT csv, HEADER)", "(FORMAT binary)"):
        see("COPY TO " + options, lambda: str(hash_bytes(copy_out(options)())))

    def copy_rows():
        with conn.cursor() as cur, cur.copy("COPY shop_counter FROM STDIN") as copy:
            for i in range(20):
                copy.write_row((f"copy/{i}", i, D(i) / 8, f"copied\t{i}\\"))
        return cur.rowcount

    see("COPY FROM", copy_rows)

    def copy_csv():
        with conn.cursor() as cur, cur.copy(
            "COPY shop_counter (name, value, amount, label) FROM STDIN (FORMAT csv)"
        ) as copy:
            copy.write('csv/1,5,1.005,"a, b"\n csv/2 ,6,2.004,ü\n')
        return cur.rowcount

    see("COPY FROM csv", copy_csv)

    def copy_binary():
        data = io.BytesIO()
        with conn.cursor() as cur:
            with cur.copy(
                "COPY (SELECT 'again/' || name, value, amount, label FROM shop_counter WHERE name LIKE 'copy/%') TO STDOUT (FORMAT binary)"
            ) as copy:
                for block in copy:
                    data.write(block)
            with cur.copy("COPY shop_counter FROM STDIN (FORMAT binary)") as copy:
                copy.write(data.getvalue())
        return cur.rowcount

    see("COPY FROM binary", copy_binary)

    def copy_typed():
        with conn.cursor() as cur, cur.copy(
            "COPY shop_counter (name, value, amount, label) FROM STDIN (FORMAT binary)"
        ) as copy:
            copy.set_types(["text", "int8", "numeric", "text"])
            copy.write_row(("typed/1", 5, D("7.25"), "binary"))
        return cur.rowcount

    see("COPY FROM binary, types", copy_typed)

    def copy_back():
        with conn.cursor() as cur, cur.copy(
            "COPY (SELECT name, amount FROM shop_counter WHERE name LIKE 'typed/%') TO STDOUT (FORMAT binary)"
        ) as copy:
            copy.set_types(["text", "numeric"])
            return list(copy.rows())

    see("COPY TO binary, types", copy_back)

    def copy_bad(line):
        def run():
            with conn.transaction(force_rollback=True), conn.cursor() as cur:
                with cur.copy("COPY shop_counter FROM STDIN") as copy:
                    copy.write(line)
                return cur.rowcount

        return run

    see("COPY FROM, too long", copy_bad("x" * 81 + "\t1\t1\tl\n"))
    see("COPY FROM, too large", copy_bad("large\t1\t1000000\tl\n"))
    see("COPY FROM, no number", copy_bad("large\t1\tone\tl\n"))
    see("COPY FROM, twice", copy_bad("copy/1\t1\t1\tl\n"))
    see(
        "counters at the end",
        lambda: conn.execute("SELECT * FROM shop_counter ORDER BY name").fetchall(),
    )

    # statements that are prepared before a column changes
    see(
        "composite",
        lambda: conn.execute("SELECT c FROM shop_counter c WHERE name = 'csv/1'").fetchall(),
    )
    see(
        "array of texts",
        lambda: conn.execute(
            "SELECT array_agg(name ORDER BY name), array_agg(amount ORDER BY name) FROM shop_counter WHERE name LIKE 'copy/1%'"
        ).fetchall(),
    )
    see(
        "DO",
        lambda: conn.execute(
            "DO $$ DECLARE r shop_product%ROWTYPE; t text; p numeric(8,2); BEGIN SELECT * INTO r FROM shop_product WHERE id = 3; t := r.title; p := r.price; IF r.price > 0 THEN r.title := t || 'x'; END IF; UPDATE shop_product SET title = r.title, price = p + 1 WHERE id = 3; END $$"
        ).rowcount,
    )
    conn.close()


def hash_bytes(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}"
