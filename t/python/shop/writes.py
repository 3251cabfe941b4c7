"""
Change the shop's data with Django, on one of its connections.
"""
import decimal

from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections, models, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Concat, Greatest, Lower, Upper
from shop.models import (
    Category,
    Counter,
    Country,
    Customer,
    Job,
    Order,
    OrderLine,
    Product,
    Review,
    Setting,
)

D = decimal.Decimal


def writes(see, using):
    customers = Customer.objects.using(using)
    products = Product.objects.using(using)
    orders = Order.objects.using(using)
    lines = OrderLine.objects.using(using)
    counters = Counter.objects.using(using)
    settings = Setting.objects.using(using)
    jobs = Job.objects.using(using)
    tag = using

    def safely(function):
        with transaction.atomic(using=using):
            return function()

    def write(name, function):
        see(name, safely, function)

    def again(model, **key):
        return model.objects.using(using).get(**key)

    # one row at a time
    write(
        "create",
        lambda: customers.create(
            email=f"{tag}@new.example.org",
            name="New Customer",
            token=f"{tag:t>64}",
            credit=D("12.5"),
            points=7,
        ),
    )
    write("create, as read", lambda: again(Customer, email=f"{tag}@new.example.org"))

    def save():
        one = customers.get(email=f"{tag}@new.example.org")
        one.name, one.credit, one.points, one.notes = (
            "Changed " + one.name,
            D("9999999.99"),
            2147483647,
            "x" * 100000,
        )
        one.preferences = {"nested": {"list": [1, 2.5, None]}}
        one.save()
        one.refresh_from_db()
        return one

    write("save", save)
    write(
        "save, F",
        lambda: customers.filter(email=f"{tag}@new.example.org").update(
            name=Concat("name", Value(" & "), Upper("status")),
            credit=F("credit") - D("0.01"),
            points=F("points") - 1,
        ),
    )
    write("save, F, as read", lambda: again(Customer, email=f"{tag}@new.example.org"))

    def increase():
        one = products.get(sku="SKU-000010")
        one.stock, one.price = F("stock") + 1000000, F("price") * 2
        one.save(update_fields=["stock", "price"])
        one.refresh_from_db()
        return one.stock, one.price

    write("save of expressions", increase)
    write(
        "no change",
        lambda: customers.filter(pk=12).update(
            name=F("name"), token=F("token"), credit=F("credit")
        ),
    )
    write("swap", lambda: products.filter(pk=12).update(title=F("maker"), maker=F("title")))
    write("swap, as read", lambda: again(Product, pk=12))
    write(
        "get_or_create",
        lambda: [
            products.get_or_create(
                sku=f"NEW-{tag}",
                defaults=dict(
                    category_id=2, title="New", description="d", maker="m", price=D("1.10")
                ),
            )
            for _ in range(2)
        ],
    )
    write(
        "update_or_create",
        lambda: [
            counters.update_or_create(
                name=f"visits/{tag}",
                defaults={"value": F("value") + 1},
                create_defaults={"value": 1, "label": "v"},
            )[1]
            for _ in range(3)
        ],
    )
    write("update_or_create, as read", lambda: again(Counter, name=f"visits/{tag}"))

    # Write values outside the range of the existing values.  A name that ends in "." belongs to a
    # value that must be refused.  If it is not refused, the change is rolled back.
    for name, values in {
        "largest": dict(
            price=D("999999.99"),
            stock=2147483647,
            reserved=9223372036854775807,
            rating=5,
            weight=D("9999.999"),
            cost=D("99999999.9999"),
        ),
        "smallest": dict(
            price=D("0"),
            stock=0,
            reserved=-9223372036854775808,
            rating=1,
            weight=D("-9999.999"),
            cost=D("-99999999.9999"),
        ),
        "longest": dict(
            title="t" * 120,
            maker="ü" * 80,
            subtitle="李" * 120,
            sku="s" * 20 if tag == "default" else "u" * 20,
        ),
        "odd texts": dict(
            title="", maker=" ", subtitle="\x01\x02", description="\x7f\x1f a\tb\n" + "é" * 2500
        ),
        "long text": dict(
            description="".join(f"{i} words and {i * i} numbers, " for i in range(3000))
        ),
        "rounded": dict(price=D("1.005"), weight=D("2.00049"), cost=D("1.23456789")),
        "nulls": dict(subtitle=None, weight=None, cost=None, rating=None),
        "price too large.": dict(price=D("1000000")),
        "price too large when rounded.": dict(price=D("999999.995")),
        "price negative.": dict(price=D("-1")),
        "price nan.": dict(price=D("NaN")),
        "price infinite.": dict(price=float("inf")),
        "price text.": dict(price="12.3x"),
        "stock too large.": dict(stock=2147483648),
        "stock negative.": dict(stock=-1),
        "rating 6.": dict(rating=6),
        "rating 300.": dict(rating=300),
        "rating too large.": dict(rating=40000),
        "title too long.": dict(title="t" * 121),
        "title too long, blanks.": dict(title="t" * 120 + "  "),
        "sku of another.": dict(sku="SKU-000033"),
        "null.": dict(title=None),
        "nul byte.": dict(maker="a\x00b"),
        "category of none.": dict(category_id=12345),
        "surrogate.": dict(maker="\ud800"),
    }.items():

        def update():
            seen = products.filter(pk=40).update(**values), again(Product, pk=40)
            if name[-1] == ".":
                transaction.set_rollback(True, using=using)
            return seen

        write(name, update)
    write(
        "category of none, now",
        lambda: (
            products.filter(pk=40).update(category_id=12345),
            connections[using].check_constraints(),
        ),
    )
    for name, values in {
        "quantity 0.": dict(quantity=0),
        "quantity 5000": dict(quantity=5000),
        "quantity 5001.": dict(quantity=5001),
        "quantity 70000.": dict(quantity=70000),
        "position 200": dict(position=200),
        "position 201.": dict(position=201),
        "position taken.": dict(position=1),
        "position 40000.": dict(position=40000),
        "discount": dict(discount=D("9.999")),
        "discount 10.": dict(discount=10),
        "quantity, expression": dict(quantity=F("quantity") * 500),
        "quantity, too large.": dict(quantity=F("quantity") * 5000000),
        "price of product": dict(price=F("price") / 3),
        "quantity of price": dict(quantity=F("price") / 10 + 1),
        "number": dict(quantity="17"),
        "fraction": dict(quantity=F("quantity") * D("1.5")),
    }.items():

        def update():
            seen = lines.filter(order=10, position__gt=1).update(**values)
            if name[-1] == ".":
                transaction.set_rollback(True, using=using)
            return seen

        write(name, update)
    write("lines, as read", lambda: lines.filter(order=10).order_by("position"))

    # constraints
    def protected(one):
        try:
            one.delete()
        except models.ProtectedError as error:
            return (product.sku for product in error.protected_objects)

    write(
        "duplicate",
        lambda: customers.create(email="customer.8@shop1.example.org", name="Twice", token=""),
    )
    write("check", lambda: customers.create(email=f"no.name.{tag}@example.org", name="", token=""))
    write("unique of two", lambda: settings.create(scope="user:1", name="setting.0", value="x"))
    write(
        "protected", lambda: sorted(protected(Category.objects.using(using).get(slug="category-1")))
    )
    write("set null", lambda: products.get(pk=45 if tag == "default" else 46).delete())
    write("cascade", lambda: customers.get(pk=50 if tag == "default" else 51).delete())
    write("country gone", lambda: Country.objects.using(using).filter(code="is").delete())
    write(
        "delete by condition",
        lambda: Review.objects.using(using)
        .filter(title__startswith="a", stars__lt=3, pk__gt=200)
        .delete(),
    )
    write(
        "delete by product",
        lambda: Review.objects.using(using).filter(product__maker__startswith="quality").delete(),
    )
    write(
        "create with a key",
        lambda: Country.objects.using(using).create(code=tag[0] + "1", name="Old Country"),
    )
    write(
        "change of a key",
        lambda: Country.objects.using(using).filter(code=tag[0] + "1").update(code=tag[0] + "2"),
    )
    write("change of a key, as read", lambda: again(Country, code=tag[0] + "2"))
    write(
        "change of a long key",
        lambda: counters.filter(name="page/free").update(name=f"page/{tag}/free", label=F("name")),
    )
    write(
        "full_clean",
        lambda: Customer(email="not an address", name="x" * 61, token="t").full_clean(),
    )
    write(
        "full_clean, taken",
        lambda: Customer(email="customer.8@shop1.example.org", name="n", token="t").full_clean(),
    )

    # many rows at a time
    def page(i, value, **more):
        return Counter(
            name=f"page/{tag}/{i}", value=value, amount=D(value) / 4, label=f"label {value}", **more
        )

    write("bulk_create", lambda: len(counters.bulk_create([page(i, i) for i in range(20)])))
    write("bulk_create, conflict", lambda: counters.bulk_create([page(30, 1), page(3, 77)]))
    write(
        "bulk_create, ignored",
        lambda: len(
            counters.bulk_create([page(i, 500) for i in range(10, 25)], ignore_conflicts=True)
        ),
    )
    write(
        "bulk_create, updated",
        lambda: len(
            counters.bulk_create(
                [page(i, 900 + i) for i in range(15, 40)],
                update_conflicts=True,
                unique_fields=["name"],
                update_fields=["value", "amount", "label"],
            )
        ),
    )
    write(
        "bulk_create, twice the same",
        lambda: counters.bulk_create(
            [page(1, 1), page(1, 2)],
            update_conflicts=True,
            unique_fields=["name"],
            update_fields=["value"],
        ),
    )
    write(
        "bulk_create, large",
        lambda: len(
            counters.bulk_create(
                [
                    page(
                        99,
                        D("999999.99") // 1,
                    )
                ]
            )
        ),
    )
    write(
        "counters, as read",
        lambda: counters.filter(name__startswith=f"page/{tag}").order_by("name"),
    )
    write(
        "settings",
        lambda: len(
            settings.bulk_create(
                [
                    Setting(scope=f"user:{i}", name=f"setting.{i % 3}", value=f"new of {tag} {i}")
                    for i in range(8, 14)
                ],
                update_conflicts=True,
                unique_fields=["scope", "name"],
                update_fields=["value"],
            )
        ),
    )
    write(
        "settings, as read",
        lambda: settings.filter(value__startswith="new of").order_by("scope", "name"),
    )
    write(
        "products by sku",
        lambda: len(
            products.bulk_create(
                [
                    Product(
                        category_id=2,
                        sku=f"SKU-{i:06d}",
                        title=f"Again {i}",
                        description="",
                        maker="bulk",
                        price=D(i),
                    )
                    for i in range(195, 206)
                ],
                update_conflicts=True,
                unique_fields=["sku"],
                update_fields=["title", "price"],
            )
        ),
    )

    def bulk_update():
        found = list(products.filter(pk__range=(60, 75)).order_by("pk"))
        for one in found:
            one.title, one.price, one.stock = one.title + "!", one.pk * D("1.25"), one.pk * 10
            one.weight = None if one.pk % 2 else D(one.pk)
        return products.bulk_update(found, ["title", "price", "stock", "weight"])

    write("bulk_update", bulk_update)
    write("bulk_update, as read", lambda: products.filter(pk__range=(60, 75)).order_by("pk"))
    write(
        "update with case",
        lambda: orders.filter(pk__lt=100).update(
            state=Case(
                When(total__gt=50000, then=Value("paid")),
                When(city="Paris", then=Value("sent")),
                default="state",
            ),
            total=Greatest(F("total"), Value(D("100.00"))),
        ),
    )
    write(
        "update by join",
        lambda: orders.filter(customer__name__startswith="Anna").update(
            currency="USD", street=Lower("street")
        ),
    )
    write(
        "update by subquery",
        lambda: products.filter(pk=80).update(
            title=Customer.objects.using(using).filter(pk=8).values("name"),
            price=lines.filter(pk=7).values("price"),
        ),
    )
    write("update by subquery, as read", lambda: again(Product, pk=80))

    # transactions
    def nested():
        customers.filter(pk=20).update(name="outer")
        try:
            with transaction.atomic(using=using):
                customers.filter(pk=20).update(name="inner")
                customers.create(email="customer.8@shop1.example.org", name="fails", token="")
        except Exception as error:
            inner = type(error).__name__
        return inner, customers.get(pk=20).name

    write("savepoint", nested)

    def cancelled():
        customers.filter(pk=21).update(name="gone", credit=D("1.11"))
        seen = customers.get(pk=21).name, customers.get(pk=21).credit
        transaction.set_rollback(True, using=using)
        return seen

    write("rollback", cancelled)
    write("rollback, as read", lambda: again(Customer, pk=21))

    # a queue from which two sessions take jobs
    def take(session, kind):
        found = list(
            Job.objects.using(session)
            .select_for_update(skip_locked=True)
            .filter(state="waiting", kind=kind)
            .order_by("pk")[:3]
        )
        for one in found:
            one.state, one.attempts, one.message = (
                "running",
                one.attempts + 1,
                f"taken by {session}",
            )
            one.save(update_fields=["state", "attempts", "message"])
        return [one.pk for one in found]

    def two():
        with transaction.atomic(using=using), transaction.atomic(using="other"):
            return [take(session, "mail") for session in (using, "other", using, "other")]

    see("skip locked", two)
    see(
        "queue, as read",
        lambda: jobs.order_by("pk").values_list("pk", "state", "attempts", "message"),
    )

    def nowait():
        with transaction.atomic(using=using):
            first = counters.select_for_update().get(name="page/the").value
            with transaction.atomic(using="other"):
                return first, Counter.objects.using("other").select_for_update(nowait=True).get(
                    name="page/the"
                )

    see("nowait", nowait)

    def of():
        with transaction.atomic(using=using):
            return [
                o.number
                for o in orders.select_for_update(of=("self",), no_key=True)
                .select_related("customer")
                .filter(customer__status="new", state="open")
                .order_by("number")[:5]
            ]

    see("for update of", of)

    def serial():
        with transaction.atomic(using=using), connections[using].cursor() as cur:
            cur.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            cur.execute(
                "UPDATE shop_counter SET value = value + 1 WHERE name = %s RETURNING value, label",
                ["page/quick"],
            )
            return cur.fetchall()

    see("serializable", serial)

    # Django's own applications
    write(
        "user",
        lambda: User.objects.using(using)
        .create(
            username=f"user.{tag}",
            email="u@example.org",
            first_name="f" * 150,
            last_name="l",
            password="!",
        )
        .username,
    )
    write(
        "user, as read",
        lambda: User.objects.using(using)
        .filter(username__startswith="u")
        .order_by("username")
        .values_list("username", "first_name", "email"),
    )
    write("user, twice", lambda: User.objects.using(using).create(username="staff3"))
    write(
        "permissions",
        lambda: sorted(User.objects.using(using).get(username="staff1").get_all_permissions()),
    )
    write(
        "groups",
        lambda: list(
            Group.objects.using(using)
            .filter(user__username__startswith="staff")
            .distinct()
            .values_list("name", flat=True)
        ),
    )


def sessions(see):
    """Change sessions, which Django keeps on its default connection."""

    def change():
        store = SessionStore(session_key="key0003" + "x" * 24)
        store["cart"]["items"].append("y" * 3000)
        store.modified = True
        store.save()
        return SessionStore(session_key="key0003" + "x" * 24).load()

    see("session", change)
    see("session, gone", lambda: SessionStore(session_key="key0004" + "x" * 24).delete())
    see("session, none", lambda: SessionStore(session_key="key0004" + "x" * 24).load())
    see("session, clear", lambda: SessionStore.clear_expired())
