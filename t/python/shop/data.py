"""Write the shop's first data, which are the same in each run."""
import datetime
import decimal
import random
import uuid

from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone
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

UTC = datetime.timezone.utc
WORDS = (
    "the quick brown fox jumps over a lazy dog while every customer of this shop looks for good "
    "quality and a fair price with free delivery in all regions"
).split()
NAMES = (
    "Anna Bauer",
    "Jürgen Groß",
    "Zoë Ångström",
    "O'Brien, Pat",
    "İbrahim Çelik",
    "李雷",
    "Мария Иванова",
    "john smith",
    "John Smith",
    "  two  blanks",
    "100% wool_mill",
    "back\\slash",
)


def words(chance, count):
    return " ".join(chance.choice(WORDS) for _ in range(count))


def text(chance, short, large):
    """Return words.  If "large" is true, they may be too long to be stored in the row."""
    return words(chance, chance.choice((600, 2000, 9000)) if large else short)


def money(chance, limit):
    return decimal.Decimal(chance.randrange(limit)) / 100


def write():
    chance = random.Random(1)
    Country.objects.bulk_create(
        Country(code=code, name=name, vat=vat)
        for code, name, vat in (
            ("de", "Germany", "0.190"),
            ("fr", "France", "0.200"),
            ("us", "United States", None),
            ("is", "Ísland", "0.240"),
        )
    )
    Customer.objects.bulk_create(
        [
            Customer(
                email=f"customer.{i}@shop{i % 7}.example.org",
                name=NAMES[i % len(NAMES)] + (f" {i}" if i >= len(NAMES) else ""),
                nickname=None if i % 3 == 0 else f"nick_{i % 50}",
                phone=f"+49 30 {1000000 + i * 77}" if i % 4 else "",
                status=("new", "active", "blocked")[i % 3],
                token=uuid.uuid5(uuid.NAMESPACE_URL, str(i)).hex,
                birthday=None
                if i % 5 == 0
                else datetime.date(1950, 1, 1) + datetime.timedelta(days=i * 37),
                newsletter=i % 2 == 0,
                points=i % 90,
                credit=money(chance, 100000),
                notes=text(chance, i % 12, i % 40 == 11),
                preferences={"theme": "dark" if i % 2 else "light", "size": i % 9}
                | (
                    {"seen": [chance.randrange(10**9) for _ in range(900)]} if i % 60 == 5 else {}
                ),
                tags=WORDS[i % 9 : i % 9 + i % 4],
                country_id=("de", "fr", "us", None)[i % 4],
            )
            for i in range(300)
        ],
        batch_size=100,
    )
    top = Category.objects.create(name="All", slug="all")
    categories = [
        Category.objects.create(name=f"Category {i}", slug=f"category-{i}", parent=top)
        for i in range(8)
    ]
    Product.objects.bulk_create(
        [
            Product(
                category=categories[i % 8],
                sku=f"SKU-{i:06d}",
                title=words(chance, 3 + i % 5).title(),
                subtitle=None if i % 4 else words(chance, 4),
                description=text(chance, 10 + i % 40, i % 10 == 3),
                maker=f"{WORDS[i % 20]} & sons",
                price=money(chance, 90000),
                cost=None if i % 6 == 0 else money(chance, 50000),
                weight=None if i % 3 == 0 else decimal.Decimal(i) / 8,
                stock=i % 60,
                reserved=i % 5,
                rating=None if i % 2 else 1 + i % 5,
                active=i % 9 != 0,
                attributes={"color": ("red", "green", None)[i % 3], "sizes": [i % 4, i % 5]},
            )
            for i in range(200)
        ]
    )
    customers, products = list(Customer.objects.all()), list(Product.objects.order_by("pk"))
    orders = Order.objects.bulk_create(
        [
            Order(
                customer=customers[i * 7 % 300],
                number=f"2026-{i:06d}",
                state=("open", "paid", "sent")[i % 3],
                street=f"{words(chance, 2).title()} Street {i % 99}",
                city=("Berlin", "München", "Paris", "Reykjavík")[i % 4],
                ip=None if i % 3 == 0 else f"10.1.{i % 200}.{i % 250}",
                shipped=None
                if i % 3 < 2
                else datetime.datetime(2026, 3, 1 + i % 28, 12, 30, tzinfo=UTC),
                due=datetime.date(2026, 4, 1 + i % 30),
                total=money(chance, 9000000),
            )
            for i in range(400)
        ]
    )
    OrderLine.objects.bulk_create(
        [
            OrderLine(
                order=order,
                position=position,
                product=products[(i * 13 + position) % 200],
                quantity=1 + (i + position) % 9,
                price=products[(i * 13 + position) % 200].price,
                discount=None if i % 4 else decimal.Decimal("0.125"),
                text=f"{products[(i * 13 + position) % 200].title}, size {position}",
            )
            for i, order in enumerate(orders)
            for position in range(1, 2 + i % 5)
        ]
    )
    Review.objects.bulk_create(
        [
            Review(
                product=products[i % 200],
                customer=customers[i],
                stars=1 + i % 5,
                title=words(chance, i % 4),
                body=text(chance, 5 + i % 60, i % 30 == 9),
            )
            for i in range(300)
        ]
    )
    Job.objects.bulk_create(
        [
            Job(
                kind=("mail", "invoice", "export")[i % 3],
                payload={"number": i, "text": text(chance, 3, i % 9 == 4)},
                message=None if i % 2 else words(chance, 6),
            )
            for i in range(60)
        ]
    )
    Counter.objects.bulk_create(
        [
            Counter(
                name=f"page/{word}", value=i, amount=money(chance, 1000), label=words(chance, 3)
            )
            for i, word in enumerate(sorted(set(WORDS)))
        ]
    )
    Setting.objects.bulk_create(
        [
            Setting(
                scope=f"user:{i % 10}",
                name=f"setting.{i // 10}",
                value=text(chance, 8, i % 16 == 3),
            )
            for i in range(80)
        ]
    )
    # data of Django's own applications
    for i in range(20):
        user = User(
            username=f"staff{i}",
            first_name=WORDS[i],
            last_name=WORDS[-i],
            email=f"staff{i}@example.org",
            password=f"pbkdf2_sha256$1000000$salt{i}$"
            + uuid.uuid5(uuid.NAMESPACE_URL, f"p{i}").hex,
        )
        user.save()
    Group.objects.create(name="managers").user_set.add(*User.objects.filter(pk__lt=5))
    for i in range(20):
        Session.objects.create(
            session_key=f"key{i:04d}" + "x" * 24,
            expire_date=timezone.now() + datetime.timedelta(days=14),
            session_data=SessionStore().encode(
                {
                    "cart": {
                        "items": list(range(i)),
                        "note": words(chance, 5),
                        "seen": [
                            chance.randrange(10**9) for _ in range(1000 if i % 5 == 2 else 0)
                        ],
                    }
                }
            ),
        )
