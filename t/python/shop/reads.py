"""
Queries of the shop, on one of Django's connections.  The queries run with the first data, after
these data were converted, and after all writes.  The rows of each query have a defined order.
"""
import datetime
import decimal

from django.contrib.postgres.aggregates import ArrayAgg, JSONBAgg, StringAgg
from django.core.paginator import Paginator
from django.db import connections, transaction
from django.db.models import (
    Avg,
    Case,
    CharField,
    Count,
    DecimalField,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Prefetch,
    Q,
    StdDev,
    Subquery,
    Sum,
    Value,
    Variance,
    When,
    Window,
)
from django.db.models.functions import (
    Cast,
    Coalesce,
    Concat,
    ExtractYear,
    Greatest,
    Left,
    Length,
    Lower,
    LPad,
    NullIf,
    Rank,
    Repeat,
    Replace,
    Reverse,
    Right,
    RowNumber,
    StrIndex,
    Substr,
    Trim,
    TruncMonth,
    Upper,
    Abs,
    Round,
    MD5,
    Lag,
)
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
UTC = datetime.timezone.utc


def reads(see, using):
    customers = Customer.objects.using(using)
    products = Product.objects.using(using)
    orders = Order.objects.using(using)
    lines = OrderLine.objects.using(using)
    reviews = Review.objects.using(using)
    counters = Counter.objects.using(using)

    # rows as they are
    see("customers", lambda: customers.order_by("pk")[:40])
    for model in (Country, Category, Product, Order, OrderLine, Review, Job, Counter, Setting):
        see(f"some of {model.__name__}", lambda: model.objects.using(using).order_by("pk")[:12])
    see(
        "arithmetic in Python",
        lambda: [
            (p.price * 2, p.price + D("0.01"), p.stock + 1, p.title.upper(), p.created.year)
            for p in products.order_by("pk")[:5]
        ],
    )
    see(
        "arithmetic of lines",
        lambda: [(one.quantity * one.price, one.position + 1) for one in lines.order_by("pk")[:9]],
    )
    see("comparison in Python", lambda: [p.price > 100 for p in products.order_by("pk")[:9]])
    see(
        "values",
        lambda: list(
            products.order_by("pk").values("sku", "price", "weight", "rating", "stock")[:9]
        ),
    )
    see("values_list", lambda: list(customers.order_by("pk").values_list("token", flat=True)[:9]))
    see("in_bulk", lambda: customers.in_bulk([3, 5, 9999]))
    see(
        "in_bulk by email",
        lambda: customers.in_bulk(["customer.7@shop0.example.org", "x"], field_name="email"),
    )
    see("get", lambda: customers.get(email="customer.8@shop1.example.org").name)
    see("get, none", lambda: customers.get(email="nobody@example.org"))
    see("get, many", lambda: customers.get(status="new"))
    see(
        "first, last",
        lambda: (products.order_by("title", "pk").first(), products.order_by("title", "pk").last()),
    )
    see("latest", lambda: orders.latest("placed", "pk").number)
    see(
        "exists",
        lambda: (customers.filter(name="李雷").exists(), customers.filter(name="nobody").exists()),
    )

    # conditions
    for name, condition in {
        "exact": Q(name="Jürgen Groß"),
        "exact, blanks": Q(name="Jürgen Groß "),
        "leading blanks": Q(name="  two  blanks"),
        "iexact": Q(name__iexact="JOHN smith"),
        "contains": Q(name__contains="a"),
        "icontains": Q(name__icontains="ÇEL"),
        "contains, escaped": Q(name__contains="100%"),
        "contains, underscore": Q(name__contains="wool_"),
        "contains, backslash": Q(name__contains="\\"),
        "contains, quote": Q(name__contains="O'B"),
        "startswith": Q(name__startswith="John"),
        "istartswith": Q(name__istartswith="john"),
        "endswith": Q(name__endswith="smith 31"),
        "iendswith": Q(name__iendswith="BAUER"),
        "regex": Q(name__regex=r"^[A-Z]\w+ B"),
        "iregex": Q(name__iregex=r"^j.*h$"),
        "in": Q(name__in=["Anna Bauer", "李雷", ""]),
        "in, empty": Q(name__in=[]),
        "gt": Q(name__gt="O"),
        "range": Q(name__range=("K", "Q")),
        "isnull": Q(nickname=None),
        "not": ~Q(nickname="nick_1"),
        "or": Q(nickname="nick_1") | Q(status="blocked", points__gt=70),
        "xor": Q(newsletter=True) ^ Q(points__lt=10),
        "array": Q(tags__contains=["quick"]),
        "array, overlap": Q(tags__overlap=["the", "fox"]),
        "array, len": Q(tags__len=3),
        "json": Q(preferences__theme="dark"),
        "json, number": Q(preferences__size__gte=7),
        "json, key": Q(preferences__has_key="size"),
        "json, contains": Q(preferences__contains={"theme": "light"}),
        "date": Q(birthday__year=1970),
        "date, range": Q(birthday__range=(datetime.date(1960, 1, 1), datetime.date(1961, 1, 1))),
        "credit": Q(credit__gt=500),
        "credit, decimal": Q(credit__lte=D("99.995")),
        "credit, in": Q(credit__in=[D("1.50"), 3, D("22.125")]),
        "credit, float": Q(credit__gt=499.5),
        "points": Q(points__in=[1, 2, 300, 100000]),
        "points, large": Q(points__lt=2147483647),
        "uuid": Q(public_id__isnull=False),
        "F": Q(name__gt=F("token")),
        "F, mixed": Q(points__gt=F("credit")),
        "F, concatenation": Q(email__startswith=Left("email", 3)),
        "country": Q(country__name="Germany"),
        "country, vat": Q(country__vat__gte=D("0.2")),
        "phone, empty": Q(phone=""),
        "empty string is not null": Q(notes=""),
        "token": Q(token="x" * 64),
        "long constant": Q(name="x" * 5000),
    }.items():
        see(
            "where " + name,
            lambda: list(customers.filter(condition).order_by("pk").values_list("pk", flat=True)),
        )
    for name, condition in {
        "price": Q(price__gte=D("500")),
        "price, digits": Q(price=D("123.456789")),
        "price, huge": Q(price__lt=D("1e20")),
        "price, string": Q(price__lt="99.99"),
        "price, range": Q(price__range=(100, D("200.5"))),
        "cost": Q(cost__lt=F("price")),
        "cost, arithmetic": Q(price__gt=F("cost") * 2 + 1),
        "weight": Q(weight=D("1.125")),
        "weight, null": Q(weight__isnull=True),
        "stock": Q(stock__gt=F("reserved") * 10),
        "rating": Q(rating__in=(1, 5)),
        "title": Q(title__icontains="fox"),
        "attribute": Q(attributes__color="red"),
        "attribute, element": Q(attributes__sizes__0=3),
        "description": Q(description__search="lazy dog"),
        "created": Q(created__date=datetime.date(2026, 1, 2)),
        "created, hour": Q(created__hour__lt=6),
        "category": Q(category__parent__slug="all", pk__lt=20),
        "reviews": Q(reviews__stars=5),
        "sku": Q(sku="SKU-000017"),
        "sku, in": Q(sku__in=["SKU-000001", "SKU-000002"]),
        "maker, title": Q(maker="fox & sons", title__gt="F"),
        "price, percentage": Q(price__gt=F("cost") * Value(D("1.19"))),
    }.items():
        see(
            "products, " + name,
            lambda: list(products.filter(condition).order_by("pk").values_list("pk", flat=True)),
        )
    see("wrong date", lambda: list(customers.filter(birthday="1999-99-99")))
    see("wrong number", lambda: list(products.filter(price__gt="many")))
    see("infinity", lambda: list(products.filter(price__gt=float("inf"))))
    see("nan", lambda: list(products.filter(price__lt=D("NaN")).values_list("pk", flat=True)))

    # grouping
    see(
        "annotate",
        lambda: customers.annotate(n=Count("orders"))
        .filter(n__gt=1)
        .order_by("-n", "pk")
        .values_list("pk", "name", "n")[:20],
    )
    see(
        "annotate, all columns",
        lambda: [
            (c.pk, c.name, c.n, c.m)
            for c in customers.annotate(
                n=Count("orders", distinct=True), m=Max("orders__total")
            ).order_by("pk")[:20]
        ],
    )
    see(
        "group by name",
        lambda: list(
            customers.values("status")
            .annotate(
                n=Count("*"),
                s=Sum("points"),
                c=Sum("credit"),
                a=Avg("points"),
                first=Min("name"),
                last=Max("name"),
            )
            .order_by("status")
        ),
    )
    see(
        "group by maker",
        lambda: list(
            products.values("maker")
            .annotate(
                n=Count("pk"),
                s=Sum("price"),
                m=Avg("price"),
                x=Max("price"),
                w=Sum("weight"),
                t=Sum("stock"),
            )
            .order_by("maker")
        ),
    )
    see(
        "having",
        lambda: list(
            products.values("category__name")
            .annotate(s=Sum("price"))
            .filter(s__gt=9000)
            .order_by("category__name")
        ),
    )
    see(
        "revenue",
        lambda: list(
            lines.values("order__state")
            .annotate(r=Sum(F("quantity") * F("price")))
            .order_by("order__state")
        ),
    )
    see(
        "revenue, discount",
        lambda: lines.aggregate(
            r=Sum(F("quantity") * F("price") * (1 - Coalesce("discount", D("0"))))
        ),
    )
    see(
        "revenue, wrapped",
        lambda: lines.aggregate(
            r=Sum(
                ExpressionWrapper(
                    F("quantity") * F("price"),
                    output_field=DecimalField(max_digits=14, decimal_places=2),
                )
            )
        ),
    )
    see(
        "aggregates",
        lambda: products.aggregate(
            Count("pk"),
            Sum("price"),
            Avg("price"),
            Min("price"),
            Max("price"),
            Sum("stock"),
            Max("stock"),
            Avg("rating"),
            Min("title"),
            Max("title"),
            Max("created"),
            Sum("weight"),
            Min("weight"),
            n=Count("maker", distinct=True),
        ),
    )
    see(
        "deviation",
        lambda: {
            k: round(float(v), 6)
            for k, v in products.aggregate(
                a=StdDev("price"),
                b=Variance("stock"),
                c=StdDev("weight"),
                d=Variance("price", sample=True),
            ).items()
        },
    )
    see(
        "aggregate of none",
        lambda: products.filter(pk=-1).aggregate(Sum("price"), Max("title"), n=Count("*")),
    )
    see(
        "aggregate, default",
        lambda: products.filter(pk=-1).aggregate(
            s=Sum("price", default=0), t=Max("price", default=D("0"))
        ),
    )
    see(
        "aggregate, filter",
        lambda: products.aggregate(
            a=Count("pk", filter=Q(price__gt=300)), b=Sum("price", filter=Q(active=True))
        ),
    )
    see(
        "distinct",
        lambda: list(products.order_by("maker").values_list("maker", flat=True).distinct()),
    )
    see(
        "distinct on",
        lambda: list(
            orders.order_by("city", "-total", "pk").distinct("city").values_list("city", "total")
        ),
    )
    see("distinct prices", lambda: products.values("price").distinct().count())
    see("string_agg", lambda: list(categories_of(products)))
    see(
        "array_agg",
        lambda: products.filter(pk__lt=9).aggregate(
            a=ArrayAgg("title", order_by="pk"),
            b=ArrayAgg("price", order_by="pk"),
            c=ArrayAgg("stock", order_by="pk"),
            d=JSONBAgg("title", order_by="pk"),
            e=JSONBAgg("price", order_by="pk"),
        ),
    )
    see(
        "order by text",
        lambda: list(customers.order_by("name", "pk").values_list("name", flat=True)[:60]),
    )
    see(
        "order by text, descending",
        lambda: list(customers.order_by("-name", "pk").values_list("pk", flat=True)),
    )
    see(
        "order by nulls",
        lambda: list(
            products.order_by(F("weight").desc(nulls_last=True), "pk").values_list("pk", "weight")[
                :20
            ]
        ),
    )
    see(
        "order by price",
        lambda: list(products.order_by("price", "pk").values_list("pk", flat=True)),
    )
    see("dates", lambda: list(orders.dates("placed", "day")))
    see(
        "months",
        lambda: list(
            orders.annotate(m=TruncMonth("shipped"))
            .values("m")
            .annotate(n=Count("*"))
            .order_by("m")
        ),
    )
    see(
        "years",
        lambda: list(
            customers.annotate(y=ExtractYear("birthday"))
            .values_list("y")
            .annotate(n=Count("*"))
            .order_by("y")
        ),
    )

    # functions
    functions = {
        "lower": Lower("name"),
        "upper": Upper("name"),
        "length": Length("name"),
        "concat": Concat("name", Value(" <"), "email", Value(">"), output_field=CharField()),
        "substr": Substr("name", 2, 3),
        "left": Left("token", 5),
        "right": Right("token", 5),
        "trim": Trim("name"),
        "replace": Replace("name", Value("a"), Value("4")),
        "position": StrIndex("name", Value("n")),
        "reverse": Reverse("name"),
        "lpad": LPad("name", 20, Value("*")),
        "repeat": Repeat("status", 2),
        "md5": MD5("name"),
        "coalesce": Coalesce("nickname", "name"),
        "coalesce, value": Coalesce("nickname", Value("none")),
        "coalesce, email": Coalesce("nickname", "email", output_field=CharField()),
        "nullif": NullIf("status", Value("new")),
        "greatest": Greatest("name", "token"),
        "greatest, value": Greatest("name", Value("K")),
        "cast to integer": Cast(Length("name"), CharField()),
        "case": Case(
            When(points__gt=50, then=Value("many")),
            When(status="new", then="status"),
            default="name",
        ),
        "case, number": Case(When(newsletter=True, then="points"), default=Value(-1)),
        "cast credit": Cast("credit", IntegerField()),
        "cast points": Cast("points", CharField()),
        "coalesce credit": Coalesce("credit", Value(0), output_field=DecimalField()),
        "coalesce credit, decimal": Coalesce("credit", D("0.00")),
        "coalesce credit, digits": Coalesce("credit", D("0.125")),
        "nullif credit": NullIf("credit", Value(D("0"))),
        "greatest credit": Greatest("credit", Value(D("100.5"))),
        "greatest credit, integer": Greatest("credit", Value(100), output_field=DecimalField()),
        "case credit": Case(
            When(points__gt=50, then="credit"), default=Value(0), output_field=DecimalField()
        ),
        "case credit, decimal": Case(When(points__gt=50, then="credit"), default=Value(D("0.00"))),
        "round": Round("credit", 1),
        "abs": Abs(F("credit") - 500),
        "negative": -F("credit"),
        "sum": F("credit") + F("points"),
        "product": F("credit") * F("points"),
        "quotient": F("credit") / (F("points") + 1),
        "modulo": F("credit") % 7,
        "power": F("points") ** 2,
        "points": F("points") % 1000 * 1000000,
        "bits": F("points").bitand(6),
        "country name": Coalesce("country__name", Value("?")),
    }
    for name, expression in functions.items():
        see(
            "function " + name,
            lambda: list(
                customers.annotate(x=expression).order_by("pk").values_list("x", flat=True)[:25]
            ),
        )
    product_functions = {
        "coalesce weight": Coalesce("weight", Value(0), output_field=DecimalField()),
        "coalesce weight, decimal": Coalesce("weight", D("0")),
        "coalesce weight, price": Coalesce("weight", "price"),
        "coalesce cost, price": Coalesce("cost", "price"),
        "greatest cost, price": Greatest("cost", "price"),
        "margin": F("price") - F("cost"),
        "share": (F("price") - F("cost")) / F("price"),
        "value": F("stock") * F("price"),
        "free": F("stock") - F("reserved"),
        "subtitle": Coalesce("subtitle", "title"),
        "subtitle, maker": Coalesce("subtitle", "maker", Value("")),
        "case text": Case(
            When(rating=5, then="title"), When(rating=1, then="maker"), default=Value("")
        ),
        "case sku": Case(When(active=True, then="sku"), default=None),
        "case price": Case(When(active=True, then="price"), default="cost"),
        "case of price, default": Case(
            When(active=True, then=F("price") * D("0.9")), default=F("price")
        ),
        "rank": Window(Rank(), partition_by="category", order_by=F("price").desc()),
        "row number": Window(RowNumber(), order_by=("title", "pk")),
        "running": Window(Sum("price"), order_by="pk"),
        "lag": Window(Lag("price"), order_by="pk"),
        "lag, default": Window(Lag("title", default=Value("-")), order_by="pk"),
        "lag price, default": Window(
            Lag("price", default=Value(0)), order_by="pk", output_field=DecimalField()
        ),
    }
    for name, expression in product_functions.items():
        see(
            "function " + name,
            lambda: list(
                products.annotate(x=expression).order_by("pk").values_list("x", flat=True)[:25]
            ),
        )

    # joins, subqueries, sets
    see(
        "select_related",
        lambda: [
            (o.number, o.customer.name, o.customer.country and o.customer.country.name)
            for o in orders.select_related("customer__country").order_by("pk")[:15]
        ],
    )
    see(
        "prefetch_related",
        lambda: [
            (o.number, [(x.position, x.text, x.price) for x in o.lines.all()])
            for o in orders.prefetch_related(
                Prefetch("lines", OrderLine.objects.order_by("position"))
            ).order_by("pk")[:15]
        ],
    )
    see(
        "subquery",
        lambda: list(
            customers.annotate(
                last=Subquery(
                    Order.objects.filter(customer=OuterRef("pk"))
                    .order_by("-pk")
                    .values("number")[:1]
                )
            )
            .order_by("pk")
            .values_list("pk", "last")[:30]
        ),
    )
    see(
        "exists in",
        lambda: list(
            products.filter(
                Exists(Review.objects.filter(product=OuterRef("pk"), stars=5, title__gt=""))
            )
            .order_by("pk")
            .values_list("pk", flat=True)
        ),
    )
    see(
        "in subquery",
        lambda: customers.filter(
            pk__in=Order.objects.filter(total__gt=50000).values("customer")
        ).count(),
    )
    see(
        "in subquery of text",
        lambda: customers.filter(country__in=Country.objects.filter(name__startswith="G")).count(),
    )
    see(
        "join of texts",
        lambda: list(
            products.filter(title__in=Review.objects.values("title")).values_list("pk", flat=True)
        ),
    )
    see(
        "union",
        lambda: list(
            customers.order_by()
            .values_list("name")
            .union(products.order_by().values_list("title"))
            .order_by("name")[:40]
        ),
    )
    see(
        "union, text and text",
        lambda: list(
            products.order_by()
            .values_list("maker")
            .union(orders.order_by().values_list("number"), all=True)
            .order_by("maker")[:40]
        ),
    )
    see(
        "union of prices",
        lambda: list(
            products.order_by()
            .values_list("price")
            .union(lines.order_by().values_list("price"), orders.order_by().values_list("total"))
            .order_by("price")[:40]
        ),
    )
    see(
        "intersection",
        lambda: list(
            products.order_by()
            .values_list("price")
            .intersection(lines.order_by().values_list("price"))
            .order_by("price")[:40]
        ),
    )
    see(
        "difference",
        lambda: list(
            customers.order_by()
            .values_list("name")
            .difference(customers.order_by().filter(points__gt=3).values_list("name"))
            .order_by("name")
        ),
    )
    see(
        "dates of orders",
        lambda: list(
            orders.filter(shipped__gte=datetime.datetime(2026, 3, 20, tzinfo=UTC))
            .order_by("number")
            .values_list("number", "shipped", "due")
        ),
    )
    see(
        "reverse",
        lambda: list(
            Category.objects.using(using)
            .filter(children__product__price__gt=600)
            .distinct()
            .order_by("name")
            .values_list("name", flat=True)
        ),
    )

    # results page by page
    def keyset():
        found, after = [], ("", 0)
        while True:
            page = list(
                customers.filter(Q(name__gt=after[0]) | Q(name=after[0], pk__gt=after[1])).order_by(
                    "name", "pk"
                )[:41]
            )
            if not page:
                return found
            found.append((len(page), page[0].pk, page[-1].name))
            after = page[-1].name, page[-1].pk

    see("pages by key", keyset)

    def keyset_of_price():
        found, after = [], D("-1")
        while page := list(products.filter(price__gt=after).order_by("price", "pk")[:23]):
            found.append([one.pk for one in page])
            after = page[-1].price
        return found

    see("pages by price", keyset_of_price)

    def pages():
        paginator = Paginator(products.order_by("title", "pk"), 37)
        return [paginator.count] + [[one.pk for one in page] for page in paginator]

    see("pages by offset", pages)

    def cursor():
        with transaction.atomic(using=using):
            return [(one.sku, one.price) for one in products.order_by("sku").iterator(chunk_size=7)]

    see("iterator", cursor)
    see(
        "iterator, values",
        lambda: list(
            lines.order_by("pk").values_list("text", "quantity", "price").iterator(chunk_size=100)
        )[:50],
    )

    # SQL statements of the program
    def raw(statement, parameters=None):
        with connections[using].cursor() as cur:
            cur.execute(statement, parameters)
            return cur.fetchall()

    see(
        "raw",
        lambda: [
            (c.pk, c.name, c.shout)
            for c in Customer.objects.using(using).raw(
                "SELECT *, upper(name) AS shout FROM shop_customer WHERE name > %s ORDER BY name, id LIMIT 7",
                ["M"],
            )
        ],
    )
    see(
        "raw, parameters",
        lambda: raw(
            "SELECT id, title FROM shop_product WHERE title LIKE %s AND price < %s AND maker = %s ORDER BY id",
            ["%a%", "500", "fox & sons"],
        ),
    )
    see(
        "raw, any",
        lambda: raw(
            "SELECT id FROM shop_customer WHERE name = ANY(%s) ORDER BY id",
            [["Anna Bauer", "John Smith"]],
        ),
    )
    see(
        "raw, concatenation",
        lambda: raw(
            "SELECT title || ' / ' || maker || %s, price || '' FROM shop_product ORDER BY id LIMIT 5",
            ["!"],
        ),
    )
    see(
        "raw, coalesce",
        lambda: raw(
            "SELECT coalesce(subtitle, 'none'), coalesce(weight, 0), coalesce(cost, 0.0) FROM shop_product ORDER BY id LIMIT 9"
        ),
    )
    see(
        "raw, case",
        lambda: raw(
            "SELECT CASE WHEN price > 100 THEN price ELSE 0 END, CASE WHEN active THEN title ELSE 'off' END FROM shop_product ORDER BY id LIMIT 9"
        ),
    )
    see(
        "raw, json",
        lambda: raw(
            "SELECT json_build_object('title', title, 'price', price, 'stock', stock), to_jsonb(p.*) - 'created' FROM shop_product p ORDER BY id LIMIT 5"
        ),
    )
    see(
        "raw, row",
        lambda: raw(
            "SELECT (title, maker) < ('M', 'x'), (sku, price) FROM shop_product ORDER BY id LIMIT 3"
        ),
    )
    see(
        "raw, format",
        lambda: raw(
            "SELECT format('%%s costs %%s', title, price), concat_ws('-', sku, price, stock) FROM shop_product ORDER BY id LIMIT 5"
        ),
    )
    see(
        "raw, values",
        lambda: raw(
            "SELECT p.id FROM shop_product p JOIN (VALUES ('SKU-000003'), ('SKU-000009')) v(s) ON p.sku = v.s ORDER BY 1"
        ),
    )
    see(
        "raw, between",
        lambda: raw(
            "SELECT count(*) FROM shop_product WHERE title BETWEEN 'C' AND 'G' AND price BETWEEN 10 AND '500.005'"
        ),
    )
    see(
        "raw, percentile",
        lambda: raw(
            "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY price), percentile_disc(0.5) WITHIN GROUP (ORDER BY title), mode() WITHIN GROUP (ORDER BY maker) FROM shop_product"
        ),
    )
    see(
        "raw, rollup",
        lambda: raw(
            "SELECT maker, sum(price), grouping(maker) FROM shop_product GROUP BY ROLLUP (maker) ORDER BY 1 NULLS LAST"
        ),
    )
    see(
        "raw, regexp",
        lambda: raw(
            "SELECT regexp_replace(title, '[aeiou]', '*', 'g'), split_part(title, ' ', 2), substring(sku from '[0-9]+'), title ~* 'FOX', overlay(title placing 'X' from 1 for 2) FROM shop_product ORDER BY id LIMIT 5"
        ),
    )
    see(
        "raw, string_to_array",
        lambda: raw(
            "SELECT w, count(*) FROM shop_product, regexp_split_to_table(description, ' ') w GROUP BY w ORDER BY 2 DESC, 1 LIMIT 9"
        ),
    )
    see(
        "view",
        lambda: raw(
            "SELECT * FROM shop_report WHERE state = 'paid' AND name > 'J' ORDER BY number LIMIT 12"
        ),
    )
    see(
        "types",
        lambda: raw(
            "SELECT pg_typeof(title)::text, pg_typeof(price)::text, pg_typeof(stock)::text FROM shop_product LIMIT 1"
        ),
    )
    see(
        "group by key",
        lambda: raw(
            "SELECT id, title, price, count(*) FROM shop_product GROUP BY id ORDER BY id LIMIT 3"
        ),
    )


def categories_of(products):
    return (
        products.filter(pk__lt=40)
        .values("category__slug")
        .annotate(
            titles=StringAgg("title", ", ", ordering="pk"),
            makers=StringAgg("maker", "|", distinct=True, ordering="maker"),
        )
        .order_by("category__slug")
    )
