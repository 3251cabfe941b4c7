"""
Run a part of a small web shop, and write the result of each step to a transcript.

    python -m shop.application PART [CLIENT]     PART = begin, go-on or migrate

The environment variables of libpq choose the server and the database.  The program prints a line of
JSON for each step.  "begin" makes the tables and the first data.  After that, the calling test may
change the tables.  "go-on" reads and writes, and "migrate" changes the tables as a new version of
the shop does.  CLIENT names a function of loaders.py that each session calls.  If it is "package",
Django and SQLAlchemy use the package of clients/python, too.
"""
import datetime
import itertools
import os
import sys

import django
import psycopg
from django.core import signing
from django.utils import timezone

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
ticks = itertools.count()
# the first day of each part
DAYS = {"begin": 1, "go-on": 20, "migrate": 40}


def clock():
    """Return the time, which advances by ten minutes with each call."""
    return datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(
        days=DAYS[part], minutes=10 * next(ticks)
    )


# Signatures must not contain the real time.
signing.TimestampSigner.timestamp = lambda self: "1"
# Set this before the models are loaded, because defaults of their columns refer to the function.
timezone.now = clock
django.setup()

from django.core.management import call_command
from django.db import connection, connections, migrations, models, transaction
from django.db.backends.signals import connection_created
from django.db.migrations.executor import MigrationExecutor
from django.db.models import F, Q
from django.db.models.functions import Lower

from shop import alchemy, data, driver, loaders, models as shop, reads, writes
from shop.transcript import Transcript


def watch(execute, statement, parameters, many, context):
    try:
        result = execute(statement, parameters, many, context)
    except Exception:
        transcript.statement(statement, "error")
        raise
    transcript.statement(statement, context["cursor"].rowcount)
    return result


def connect():
    conn = psycopg.connect("")
    prepare(conn)
    return conn


def see(prefix):
    def step(*arguments, **more):
        transcript.prefix = prefix + ": "
        transcript.see(*arguments, **more)

    return step


TABLES = (
    "shop_country",
    "shop_customer",
    "shop_category",
    "shop_product",
    "shop_order",
    "shop_orderline",
    "shop_review",
    "shop_job",
    "shop_counter",
    "shop_setting",
    "auth_user",
    "django_session",
)


def content(step):
    """Write all rows of all tables, sorted by their first columns."""
    with connection.cursor() as cur:
        for table in sorted(connection.introspection.table_names(include_views=True)):

            def rows():
                cur.execute(f'SELECT * FROM "{table}"')
                columns = [column.name for column in cur.description]
                return columns, sorted(([str(value) for value in row] for row in cur.fetchall()))

            # Omit the parts of a split table, because their rows are the rows of the view.
            if table != "django_migrations" and not table.endswith(("_hot", "_cold")):
                step(table, rows)


def begin():
    call_command("migrate", "shop", "0002", verbosity=0)
    for application in ("auth", "contenttypes", "sessions"):
        call_command("migrate", application, verbosity=0)
    with transaction.atomic():
        data.write()
    content(see("first data"))
    reads.reads(see("first reads"), "default")


def go_on():
    for using in ("default", "bound"):
        reads.reads(see(f"reads, {using}"), using)
    engine = alchemy.engine_for(transcript, connect, client)
    alchemy.numbers_of_sqlalchemy(see("Numeric"), engine)
    alchemy.reflected(see("reflected"), engine)
    for using in ("default", "bound"):
        writes.writes(see(f"writes, {using}"), using)
    writes.sessions(see("sessions"))
    driver.driver(see("driver"), connect)
    alchemy.declared(see("declared"), engine, connect)
    reads.reads(see("reads after writes"), "default")
    content(see("data"))
    introspection()


def field_of(column):
    """Return the name of the field that inspectdb would write, or None."""
    try:
        return connection.introspection.get_field_type(column.type_code, column)
    except KeyError:
        return None


def introspection():
    alchemy.reflection(see("catalogs"), alchemy.engine_for(transcript, connect, client), TABLES)
    see("Django's catalogs")("tables", lambda: sorted(connection.introspection.table_names()))
    with connection.cursor() as cur:
        for table in TABLES:
            see("Django's catalogs")(
                "columns of " + table,
                lambda: [
                    (
                        c.name,
                        c.null_ok,
                        c.default,
                        c.display_size,
                        c.precision,
                        c.scale,
                        field_of(c),
                    )
                    for c in connection.introspection.get_table_description(cur, table)
                ],
            )
            see("Django's catalogs")(
                "constraints of " + table,
                lambda: sorted(
                    (
                        name,
                        str(one["columns"]),
                        one["unique"],
                        one["primary_key"],
                        one["check"],
                        str(one["foreign_key"]),
                        one["index"],
                        str(one["orders"]) if "orders" in one else None,
                        one["type"] if "type" in one else None,
                    )
                    for name, one in connection.introspection.get_constraints(cur, table).items()
                ),
            )


def project_state(name):
    """Return the state of the models after a migration."""
    loader = MigrationExecutor(connection).loader
    return loader.project_state([("shop", loader.get_migration_by_prefix("shop", name).name)])


def tried():
    """Try changes of single tables, and roll each back, so that a failure affects no other."""

    def attempt(name, *operations):
        def change():
            state = project_state("0002")
            with transaction.atomic():
                with connection.schema_editor(atomic=False) as editor:
                    for operation in operations:
                        before, state = state, state.clone()
                        operation.state_forwards("shop", state)
                        operation.database_forwards("shop", editor, before, state)
                    for statement in editor.deferred_sql:
                        editor.execute(statement)
                    editor.deferred_sql.clear()
                transaction.set_rollback(True)

        see("tried")(name, change)

    Char, Alter, Add = models.CharField, migrations.AlterField, migrations.AddField
    attempt("longer text", Alter("product", "maker", Char(max_length=300)))
    attempt("shorter text", Alter("product", "maker", Char(max_length=75)))
    attempt("too short", Alter("product", "maker", Char(max_length=3)))
    attempt("text of varchar", Alter("product", "maker", models.TextField()))
    attempt("varchar of text", Alter("product", "description", Char(max_length=100000)))
    attempt("null", Alter("product", "maker", Char(max_length=80, null=True)))
    attempt(
        "not null",
        Alter("product", "weight", models.DecimalField(max_digits=7, decimal_places=3, default=1)),
    )
    attempt(
        "not null, still null",
        Alter("product", "weight", models.DecimalField(max_digits=7, decimal_places=3)),
    )
    attempt(
        "more digits",
        Alter("product", "price", models.DecimalField(max_digits=14, decimal_places=4)),
    )
    attempt(
        "fewer digits",
        Alter("product", "price", models.DecimalField(max_digits=7, decimal_places=1)),
    )
    attempt("integer of decimal", Alter("customer", "credit", models.IntegerField()))
    attempt("float of decimal", Alter("customer", "credit", models.FloatField()))
    attempt(
        "decimal of integer",
        Alter("product", "stock", models.DecimalField(max_digits=12, decimal_places=2)),
    )
    attempt("text of decimal", Alter("customer", "credit", Char(max_length=20)))
    attempt("integer of text", Alter("product", "title", models.IntegerField()))
    attempt("json of text", Alter("customer", "notes", models.JSONField()))
    attempt("small integer", Alter("orderline", "quantity", models.PositiveSmallIntegerField()))
    attempt("small integer, position", Alter("orderline", "position", models.BigIntegerField()))
    attempt("index of text", Alter("product", "maker", Char(max_length=80, db_index=True)))
    attempt("index of long text", Alter("product", "maker", Char(max_length=200, db_index=True)))
    attempt("unique text", Alter("customer", "token", Char(max_length=64, unique=True)))
    attempt("unique text, twice", Alter("orderline", "text", Char(max_length=150, unique=True)))
    attempt(
        "index", migrations.AddIndex("product", models.Index(fields=["title", "price"], name="one"))
    )
    attempt(
        "index of patterns",
        migrations.AddIndex(
            "product", models.Index(fields=["title"], name="one", opclasses=["varchar_pattern_ops"])
        ),
    )
    attempt(
        "index of expression",
        migrations.AddIndex(
            "product", models.Index(Lower("title").desc(), F("price") * 2, name="one")
        ),
    )
    attempt(
        "index, condition",
        migrations.AddIndex(
            "product",
            models.Index(
                fields=["price"],
                name="one",
                condition=Q(maker="x", price__gt=5) & Q(title__startswith="A"),
            ),
        ),
    )
    attempt(
        "index, include",
        migrations.AddIndex(
            "product", models.Index(fields=["sku"], name="one", include=["title", "price"])
        ),
    )
    attempt(
        "unique expression",
        migrations.AddConstraint(
            "customer", models.UniqueConstraint(Lower("token"), "name", name="one")
        ),
    )
    attempt(
        "check of text",
        migrations.AddConstraint(
            "product", models.CheckConstraint(condition=Q(maker__in=["a", "b"]), name="one")
        ),
    )
    attempt(
        "check of texts",
        migrations.AddConstraint(
            "product",
            models.CheckConstraint(
                condition=~Q(title=F("sku")) & Q(title__contains=""), name="one"
            ),
        ),
    )
    attempt(
        "check of decimals",
        migrations.AddConstraint(
            "product",
            models.CheckConstraint(
                condition=Q(weight__lt=F("price") + 1000000) & Q(price__gte="0.001") | Q(price=0),
                name="one",
            ),
        ),
    )
    attempt(
        "key of text",
        migrations.CreateModel(
            "Part",
            [
                ("id", models.BigAutoField(primary_key=True)),
                ("counter", models.ForeignKey("shop.Counter", models.CASCADE)),
            ],
        ),
    )
    attempt(
        "key of text, data",
        migrations.CreateModel(
            "Part",
            [
                ("id", models.BigAutoField(primary_key=True)),
                ("counter", models.ForeignKey("shop.Counter", models.CASCADE)),
            ],
        ),
        migrations.RunSQL(
            "INSERT INTO shop_part (counter_id) SELECT name FROM shop_counter; DELETE FROM shop_counter"
        ),
    )
    attempt(
        "key of sku",
        Add(
            "review",
            "sku",
            models.ForeignKey(
                "shop.Product",
                models.CASCADE,
                to_field="sku",
                null=True,
                related_name="+",
                db_index=False,
            ),
        ),
    )
    attempt(
        "key of number",
        Add(
            "review",
            "bill",
            models.ForeignKey("shop.Order", models.SET_NULL, to_field="number", null=True),
        ),
    )
    attempt("many to many", Add("counter", "products", models.ManyToManyField("shop.Product")))
    attempt(
        "generated",
        Add(
            "product",
            "gross",
            models.GeneratedField(
                expression=F("price") * models.Value(2),
                output_field=models.DecimalField(max_digits=12, decimal_places=4),
                db_persist=True,
            ),
        ),
    )
    attempt(
        "generated of text",
        Add(
            "product",
            "search",
            models.GeneratedField(
                expression=Lower("title"), output_field=Char(max_length=200), db_persist=True
            ),
        ),
    )
    attempt("default", Alter("product", "maker", Char(max_length=80, db_default="nobody")))
    attempt(
        "default of decimal",
        Alter(
            "product", "price", models.DecimalField(max_digits=8, decimal_places=2, db_default=5)
        ),
    )
    attempt(
        "default, longer",
        Alter("product", "maker", Char(max_length=90, db_default="nobody")),
        Alter("product", "maker", Char(max_length=95)),
    )
    attempt("collation", Alter("product", "maker", Char(max_length=80, db_collation="C")))
    attempt("comment", Alter("product", "maker", Char(max_length=80, db_comment="who makes it")))
    attempt("primary key", Alter("counter", "name", Char(max_length=100, primary_key=True)))
    attempt("view's column", Alter("order", "state", Char(max_length=30, default="open")))
    attempt(
        "remove",
        migrations.RemoveField("product", "maker"),
        migrations.RemoveField("product", "price"),
    )
    attempt(
        "rename",
        migrations.RenameField("product", "sku", "code"),
        Alter("product", "code", Char(max_length=40)),
    )
    attempt("rename a table", migrations.AlterModelTable("product", "products"))
    attempt("delete", migrations.DeleteModel("Counter"))
    attempt(
        "table like another",
        migrations.RunSQL(
            "CREATE TABLE one (LIKE shop_product INCLUDING ALL); INSERT INTO one SELECT * FROM shop_product"
        ),
    )
    attempt(
        "table as another",
        migrations.RunSQL(
            "CREATE TABLE one AS SELECT title, price, maker || 'x' AS m FROM shop_product"
        ),
    )
    attempt(
        "function",
        migrations.RunSQL(
            """
        CREATE FUNCTION one(varchar) RETURNS numeric LANGUAGE sql AS 'SELECT sum(price) FROM shop_product WHERE maker = $1';
        SELECT one(maker) FROM shop_product"""
        ),
    )
    attempt(
        "function that returns rows",
        migrations.RunSQL(
            """
        CREATE FUNCTION one() RETURNS TABLE (t varchar, p numeric) LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT title, price FROM shop_product; END';
        SELECT * FROM one()"""
        ),
    )
    attempt(
        "SQL function that returns rows",
        migrations.RunSQL(
            """
        CREATE FUNCTION one() RETURNS TABLE (t varchar, p numeric) LANGUAGE sql AS 'SELECT title, price FROM shop_product';
        SELECT * FROM one()"""
        ),
    )
    attempt(
        "overloaded function",
        migrations.RunSQL(
            """
        CREATE FUNCTION one(text) RETURNS text LANGUAGE sql AS 'SELECT $1'; CREATE FUNCTION one(numeric) RETURNS text LANGUAGE sql AS 'SELECT $1::text';
        SELECT one(title), one(price) FROM shop_product"""
        ),
    )
    attempt(
        "trigger",
        migrations.RunSQL(
            """
        CREATE FUNCTION one() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.title := left(NEW.title, 9) || ''!''; NEW.price := coalesce(NEW.price, 0) + 1; RETURN NEW; END';
        CREATE TRIGGER one BEFORE UPDATE ON shop_product FOR EACH ROW EXECUTE FUNCTION one(); UPDATE shop_product SET stock = 1"""
        ),
    )
    attempt(
        "view",
        migrations.RunSQL(
            "CREATE VIEW one AS SELECT maker, sum(price) AS s, string_agg(title, ', ') FROM shop_product GROUP BY maker; SELECT * FROM one"
        ),
    )
    attempt(
        "union view",
        migrations.RunSQL(
            "CREATE VIEW one AS SELECT title FROM shop_product UNION ALL SELECT notes FROM shop_customer; SELECT * FROM one"
        ),
    )
    attempt(
        "materialized view",
        migrations.RunSQL(
            "CREATE MATERIALIZED VIEW one AS SELECT maker, title, price FROM shop_product; CREATE UNIQUE INDEX ON one (maker, title, price) WHERE false"
        ),
    )
    attempt(
        "partition",
        migrations.RunSQL(
            """CREATE TABLE one (LIKE shop_counter) PARTITION BY LIST (name); CREATE TABLE two PARTITION OF one FOR VALUES IN ('a', 'b');
        INSERT INTO one VALUES ('a', 1, 1, '')"""
        ),
    )


def historical(name):
    """Use the models as they are after the migrations up to this one."""
    apps = project_state(name).apps
    product, customer, line = (
        apps.get_model("shop", one) for one in ("Product", "Customer", "OrderLine")
    )
    counter = apps.get_model("shop", "Counter")
    step = see(f"after {name}")
    step("products", lambda: product.objects.order_by("pk")[:15])
    step("customers", lambda: customer.objects.order_by("pk")[:15])
    step(
        "create",
        lambda: product.objects.create(
            category_id=3,
            sku=f"after-{name}",
            title="x" * 200,
            description="d",
            price="12.34",
            cost="1",
            weight="1.5",
        ),
    )
    step(
        "sum",
        lambda: product.objects.aggregate(
            models.Sum("price"), models.Max("title"), models.Avg("stock")
        ),
    )
    step(
        "update",
        lambda: product.objects.filter(pk__lt=10).update(
            price=F("price") + 1, title=Lower("title")
        ),
    )
    step("quantities", lambda: line.objects.filter(pk__lt=10).update(quantity=F("quantity") + 1))
    step(
        "counters",
        lambda: [
            counter.objects.update_or_create(
                name="page/after", defaults={"value": F("value") + 1}, create_defaults={"value": 5}
            )[1]
            for _ in range(2)
        ],
    )
    step("counter", lambda: counter.objects.get(name="page/after"))
    step(
        "where",
        lambda: product.objects.filter(title__contains="fox", price__gt=3)
        .order_by("pk")
        .values_list("pk", "title", "price"),
    )


def migrate():
    tried()
    for name in ("0003", "0004", "0005", "0006"):
        see("migrations")(name, call_command, "migrate", "shop", name, verbosity=0)
        historical(name)
    content(see("migrated data"))
    for name in ("0005", "0004", "0003", "0002"):
        see("migrations")("back to " + name, call_command, "migrate", "shop", name, verbosity=0)
    # some titles are too long for the columns of migration 0002
    see("migrations")(
        "shorter titles",
        lambda: connection.cursor()
        .execute("UPDATE shop_product SET title = left(title, 100) WHERE length(title) > 100")
        .rowcount,
    )
    see("migrations")("back to 0002 again", call_command, "migrate", "shop", "0002", verbosity=0)
    content(see("data after the way back"))
    for name in ("0003", "0004", "0005", "0006"):
        see("migrations")("again " + name, call_command, "migrate", "shop", name, verbosity=0)
    content(see("data of today"))
    introspection()


if __name__ == "__main__":
    part = sys.argv[1]
    client = sys.argv[2] if len(sys.argv) > 2 else "none"
    prepare = getattr(loaders, client)
    transcript = Transcript(sys.stdout)
    # each part uses numbers of its own
    shop.numbers = itertools.count(100000 * DAYS[part])

    if client == "package":
        from pg_dense.django.apps import know_compact_types

    def connected(connection, **_):
        if client == "package":
            know_compact_types(connection)
        connection.execute_wrappers.append(watch)

    connection_created.connect(connected, weak=False)
    {"begin": begin, "go-on": go_on, "migrate": migrate}[part]()
    connections.close_all()
