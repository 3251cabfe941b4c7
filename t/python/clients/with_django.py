"""Use compact types and split tables with Django, with the application pg_dense.django.

	python -m clients.with_django DATABASE LATE PLAIN < SAMPLES

LATE has no compact types yet: a migration creates them.
"""

import datetime
import decimal
import io
import re
import sys

import django
from django.conf import settings

from clients.samples import UTC, check, samples

database, late, plain = sys.argv[1:]
D = decimal.Decimal


def configured(name: str, **options) -> dict:
    return {"ENGINE": "django.db.backends.postgresql", "NAME": name, "OPTIONS": options}


settings.configure(
    DATABASES={
        "default": configured(database),
        "bound": configured(database, server_side_binding=True),
        "late": configured(late),
        "plain": configured(plain),
        "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
    },
    INSTALLED_APPS=["django.contrib.postgres", "django.contrib.contenttypes", "pg_dense.django"],
    USE_TZ=True,
    TIME_ZONE="Asia/Tokyo",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.postgres.aggregates import ArrayAgg
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, connections, models
from django.db.migrations.writer import MigrationWriter
from django.db.models import F, Max, Sum, Value
from django.db.models.functions import Coalesce, Concat
from django.db.transaction import atomic

from pg_dense.django import fields

FIELDS = {
    "int1": fields.Int1Field(),
    "uint1": fields.UInt1Field(),
    "uint2": fields.UInt2Field(db_index=True),
    "uint3": fields.UInt3Field(null=True),
    "uint4": fields.UInt4Field(),
    "seconds4tz": fields.Seconds4Field(),
    "decimal4": fields.CompactDecimalField(max_digits=9, decimal_places=2),
    "decimal8": fields.CompactDecimalField(max_digits=10, decimal_places=2),
    "text": fields.CompactTextField(),
    "limited": fields.CompactTextField(max_length=60, unique=True),
    "padded": fields.CompactCharField(max_length=24),
}


class Item(models.Model):
    locals().update(FIELDS)

    class Meta:
        app_label = "shop"
        db_table = "item"


class Child(models.Model):
    item = models.ForeignKey(Item, models.CASCADE, to_field="limited")

    class Meta:
        app_label = "shop"
        db_table = "child"


def output_of(*arguments) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def inspected(table: str, **options) -> dict:
    """Return the fields that inspectdb writes for a table."""
    out = output_of("inspectdb", table)
    return dict(re.findall(r"^    (\w+) = models\.(.*)$", out, re.MULTILINE))


def values() -> None:
    """Read all values with both ways to bind parameters, from tables that Django did not make."""
    for sample in everything:
        for alias in ("default", "bound"):
            with atomic(alias), connections[alias].cursor() as cursor:
                cursor.execute(f"CREATE TEMP TABLE p (id int, v {sample.type}) ON COMMIT DROP")
                rows = list(enumerate([*sample.values, None]))
                cursor.executemany("INSERT INTO p VALUES (%s, %s)", rows)
                cursor.execute("SELECT v, ARRAY[v, v] FROM p ORDER BY id")
                found = cursor.fetchall()
            expected = [*sample.loaded, None]
            if sample.kind == "timestamptz":
                # Django compares times, whatever their time zone is.
                found = [(v, [a.astimezone(UTC) for a in l]) if v else (v, l) for v, l in found]
                found = [(v.astimezone(UTC) if v else v, l) for v, l in found]
            check(f"{sample.type}, {alias}: values", found, [(v, [v, v]) for v in expected])


def models_with_fields() -> None:
    """A table with the fields of the package: DDL, rows, queries."""
    with connection.schema_editor() as editor:
        editor.create_model(Item)
        editor.create_model(Child)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 1"
            " AND attrelid = 'item'::regclass UNION ALL SELECT 'item_id', atttypid::regtype::text"
            " FROM pg_attribute WHERE attname = 'item_id' AND attrelid = 'child'::regclass"
        )
        found = dict(cursor.fetchall())
    expected = {
        "int1": "int1",
        "uint1": "uint1",
        "uint2": "uint2",
        "uint3": "uint3",
        "uint4": "uint4",
        "seconds4tz": "seconds4tz",
        "decimal4": "compact_decimal4_2",
        "decimal8": "compact_decimal8_2",
        "text": "compact_text",
        "limited": "compact_text(60)",
        "padded": "compact_char24",
        "item_id": "compact_text",
    }
    check("types of the server", found, expected)

    first = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    rows = [
        Item(
            int1=-i,
            uint1=255 - i,
            uint2=65535 - i,
            uint3=16777215 - i,
            uint4=2**32 - 1 - i,
            seconds4tz=first + datetime.timedelta(hours=i),
            decimal4=D(i) / 4,
            decimal8=D(i) / 4 + 1,
            text=f"text {i}",
            limited=f"limited {i}",
            padded=f"padded {i}",
        )
        for i in range(4)
    ]
    Item.objects.bulk_create(rows)
    Child.objects.create(item=Item.objects.get(limited="limited 1"))
    item = Item.objects.get(uint2=65534)
    check(
        "values of a model",
        (item.int1, item.uint1, item.uint3, item.uint4, item.decimal4, item.decimal8, item.text),
        (-1, 254, 16777214, 2**32 - 2, D("0.25"), D("1.25"), "text 1"),
    )
    check("padded value of a model", item.padded, "padded 1".ljust(24))
    check(
        "computed",
        list(Item.objects.order_by("id").values_list(F("uint4") - 2**32, F("uint4") * 2)[:1]),
        [(-1, 2**33 - 2)],
    )
    check("time of a model", item.seconds4tz.astimezone(UTC), first + datetime.timedelta(hours=1))
    item.uint2 = F("uint2") - 1000
    item.decimal4 = F("decimal4") + D("0.5")
    item.save()
    item.refresh_from_db()
    check("changed", (item.uint2, item.decimal4), (64534, D("0.75")))
    Item.objects.bulk_update([Item(pk=item.pk, uint1=7)], ["uint1"])
    objects = Item.objects
    for name, got, expected in (
        ("bulk_update", objects.get(pk=item.pk).uint1, 7),
        ("child", Child.objects.filter(item__uint3=16777214).count(), 1),
        ("greater", objects.filter(uint2__gt=64534).count(), 3),
        ("in", objects.filter(limited__in=["limited 0", "x"]).count(), 1),
        ("beyond the type", objects.filter(uint1__lt=70000).count(), 4),
        ("starts with", objects.filter(text__startswith="text").count(), 4),
        ("contains, any case", objects.filter(text__icontains="EXT 2").count(), 1),
        ("padded", objects.filter(padded="padded 2").count(), 1),
        ("decimal", objects.filter(decimal8__lte=D("1.255")).count(), 2),
        ("year", objects.filter(seconds4tz__year=2026).count(), 4),
        ("sum", objects.aggregate(x=Sum("uint2"))["x"], 65535 + 64534 + 65533 + 65532),
        ("sum of uint4", objects.aggregate(x=Sum("uint4"))["x"], 4 * (2**32 - 1) - 6),
        ("in a list", objects.filter(uint4__in=[2**32 - 1, 5, -1]).count(), 1),
        ("sum of decimals", objects.aggregate(x=Sum("decimal8"))["x"], D("5.50")),
        ("max", objects.aggregate(x=Max("limited"))["x"], "limited 3"),
        ("array", objects.aggregate(x=ArrayAgg("uint3", order_by="id"))["x"][0], 16777215),
        ("array of texts", objects.aggregate(x=ArrayAgg("text", order_by="id"))["x"][3], "text 3"),
        (
            "concatenated",
            objects.annotate(x=Concat("text", Value("!"), output_field=models.TextField()))
            .values_list("x", flat=True)
            .order_by("id")[0],
            "text 0!",
        ),
        (
            "default",
            objects.aggregate(x=Coalesce(Max("uint3", filter=models.Q(pk=0)), 5))["x"],
            5,
        ),
    ):
        check(f"model: {name}", got, expected)
    for field, bad in (("int1", 128), ("uint1", 256), ("uint2", -1), ("uint4", 2**32)):
        try:
            Item._meta.get_field(field).clean(bad, None)
            check(f"{field}: {bad}", None, "an error")
        except ValidationError:
            check(f"{field}: {bad}", True, True)
    try:
        fields.CompactDecimalField(max_digits=19, decimal_places=2).db_type(connection)
        check("too many digits", None, "an error")
    except ValueError:
        check("too many digits", True, True)
    # a migration can name each field
    for name, field in FIELDS.items():
        text = MigrationWriter.serialize(field)[0]
        check(f"{name}: in a migration", text.startswith("pg_dense.django.fields."), True)

    expected = {
        "id": "BigAutoField(primary_key=True)",
        "int1": "SmallIntegerField()",
        "uint1": "SmallIntegerField()",
        "uint2": "IntegerField()",
        "uint3": "IntegerField(blank=True, null=True)",
        "uint4": "BigIntegerField()",
        "seconds4tz": "DateTimeField()",
        "decimal4": "DecimalField(max_digits=9, decimal_places=2)",
        "decimal8": "DecimalField(max_digits=18, decimal_places=2)",
        "text": "TextField()",
        "limited": "CharField(unique=True, max_length=60)",
        "padded": "CharField(max_length=24)",
    }
    check("inspectdb", inspected("item"), expected)
    with connection.schema_editor() as editor:
        editor.delete_model(Child)
        editor.delete_model(Item)
    with atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE times (a seconds4, b serial)")
        cursor.execute(
            "CREATE SEQUENCE s; CREATE TABLE numbered (a uint3 PRIMARY KEY DEFAULT nextval('s'))"
        )
    check("inspectdb of seconds4", inspected("times")["a"], "DateTimeField(blank=True, null=True)")
    check("inspectdb of a sequence", inspected("numbered")["a"], "AutoField(primary_key=True)")
    with atomic(), connection.cursor() as cursor:
        cursor.execute("DROP TABLE times, numbered; DROP SEQUENCE s")


def split_tables() -> None:
    """A split table is a table with its own key and constraints."""
    with connection.cursor() as cursor:
        introspection = connection.introspection
        tables = {info.name: info.type for info in introspection.get_table_list(cursor)}
        for method in ("shared_key", "surrogate_key", "row_pointer"):
            table = f"split_{method}"
            names = sorted(name for name in tables if name.startswith(table))
            check(f"{method}: tables", [(name, tables[name]) for name in names], [(table, "t")])
            key = introspection.get_primary_key_columns(cursor, table)
            check(f"{method}: key", key, ["b", "a"])
            found = introspection.get_constraints(cursor, table)
            found = {
                name: (one["columns"], one["primary_key"])
                for name, one in found.items()
                if one["unique"]
            }
            expected = {f"{table}_pkey": (["b", "a"], True), f"{table}_note_key": (["note"], False)}
            check(f"{method}: constraints", found, expected)
            found = introspection.get_constraints(cursor, f"child_{method}").values()
            found = [one["foreign_key"][0] for one in found if one["foreign_key"]]
            check(f"{method}: foreign key", found, [table])
            relations = introspection.get_relations(cursor, f"child_{method}")
            check(f"{method}: relations", {t for _, t in relations.values()}, {table})
            relations = introspection.get_relations(cursor, table)
            check(f"{method}: to itself", relations["parent"], ("note", table))
            expected = {
                "pk": "CompositePrimaryKey('b', 'a')",
                "note": "CharField(unique=True, max_length=60, blank=True, null=True)",
            }
            found = inspected(table)
            check(f"{method}: inspectdb", {name: found.get(name) for name in expected}, expected)
        check("another view", tables["plain_view"], "v")
        check(
            "key of another view", introspection.get_primary_key_columns(cursor, "plain_view"), None
        )


def other_databases() -> None:
    with connections["plain"].cursor() as cursor:
        check("no compact type", len(connections["plain"].introspection.get_table_list(cursor)), 0)
    with connections["other"].cursor() as cursor:
        cursor.execute("SELECT 1")
        check("SQLite", cursor.fetchone(), (1,))

    # types that a migration has created
    query = "SELECT '5'::uint2"
    with connections["late"].cursor() as cursor:
        cursor.execute("CREATE EXTENSION compact_types")
        cursor.execute(query)
        check("before a migration", cursor.fetchone(), ("5",))
    call_command("migrate", database="late", verbosity=0)
    with connections["late"].cursor() as cursor:
        cursor.execute(query)
        check("after a migration", cursor.fetchone(), (5,))


everything = samples()
values()
models_with_fields()
split_tables()
other_databases()
