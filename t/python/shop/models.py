"""
The web shop's tables, as they are after the first migrations (migrations/0001 to 0002).  Only SQL,
SQLAlchemy and the historical models of the migrations see the changes of later migrations.
"""
import itertools
import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

numbers = itertools.count(1)


def next_uuid():
    """Return a UUID for a default, as uuid4() does, but the same UUIDs in each run."""
    return uuid.uuid5(uuid.NAMESPACE_OID, str(next(numbers)))


class Country(models.Model):
    code = models.CharField(max_length=2, primary_key=True)
    name = models.CharField(max_length=60)
    vat = models.DecimalField(max_digits=5, decimal_places=3, null=True)


class Customer(models.Model):
    class Status(models.TextChoices):
        NEW = "new"
        ACTIVE = "active"
        BLOCKED = "blocked"

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=60)
    nickname = models.CharField(max_length=40, null=True, db_index=True)
    phone = models.CharField(max_length=30, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.NEW)
    public_id = models.UUIDField(default=next_uuid, unique=True)
    # a token of 64 characters, as many applications store it
    token = models.CharField(max_length=64)
    joined = models.DateTimeField(auto_now_add=True)
    seen = models.DateTimeField(auto_now=True)
    birthday = models.DateField(null=True)
    newsletter = models.BooleanField(default=False)
    points = models.PositiveIntegerField(default=0)
    credit = models.DecimalField(max_digits=9, decimal_places=2, default=0)
    notes = models.TextField(blank=True)
    preferences = models.JSONField(default=dict)
    tags = ArrayField(models.CharField(max_length=20), default=list)
    country = models.ForeignKey(Country, models.SET_NULL, null=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(name=""), name="customer_has_name")]
        indexes = [models.Index(fields=["status", "joined"], name="customer_status")]


class Category(models.Model):
    name = models.CharField(max_length=50)
    slug = models.SlugField(unique=True)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="children")


class Product(models.Model):
    category = models.ForeignKey(Category, models.PROTECT)
    # The column has a unique constraint (see below), so Django makes no index for patterns.
    sku = models.CharField(max_length=20)
    title = models.CharField(max_length=120)
    subtitle = models.CharField(max_length=120, null=True)
    description = models.TextField()
    maker = models.CharField(max_length=80)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    cost = models.DecimalField(max_digits=12, decimal_places=4, null=True)
    weight = models.DecimalField(max_digits=7, decimal_places=3, null=True)
    stock = models.PositiveIntegerField(default=0)
    reserved = models.BigIntegerField(default=0)
    rating = models.SmallIntegerField(null=True)
    active = models.BooleanField(default=True)
    attributes = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sku"], name="product_sku"),
            models.CheckConstraint(condition=Q(price__gte=0), name="product_price"),
            models.CheckConstraint(condition=Q(rating__range=(1, 5)), name="product_rating"),
        ]
        indexes = [
            models.Index(F("category"), F("price").desc(), name="product_by_price"),
            models.Index(fields=["maker", "title"], name="product_by_maker"),
        ]


class Order(models.Model):
    customer = models.ForeignKey(Customer, models.CASCADE, related_name="orders")
    number = models.CharField(max_length=24, unique=True)
    state = models.CharField(max_length=12, default="open")
    currency = models.CharField(max_length=3, default="EUR")
    street = models.CharField(max_length=100)
    city = models.CharField(max_length=60)
    ip = models.GenericIPAddressField(null=True)
    placed = models.DateTimeField(auto_now_add=True)
    shipped = models.DateTimeField(null=True)
    due = models.DateField(null=True)
    total = models.DecimalField(max_digits=12, decimal_places=2, default=0)

    class Meta:
        indexes = [models.Index(fields=["state"], name="order_open", condition=Q(state="open"))]


class OrderLine(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    position = models.PositiveSmallIntegerField()
    product = models.ForeignKey(Product, models.SET_NULL, null=True)
    quantity = models.PositiveIntegerField()
    price = models.DecimalField(max_digits=8, decimal_places=2)
    discount = models.DecimalField(max_digits=4, decimal_places=3, null=True)
    text = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "position"], name="line_position"),
            models.CheckConstraint(condition=Q(quantity__range=(1, 5000)), name="line_quantity"),
            models.CheckConstraint(
                condition=Q(position__range=(1, 200)), name="line_position_range"
            ),
        ]


class Review(models.Model):
    product = models.ForeignKey(Product, models.CASCADE, related_name="reviews")
    customer = models.ForeignKey(Customer, models.CASCADE)
    stars = models.SmallIntegerField()
    title = models.CharField(max_length=100, default="")
    body = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        unique_together = [("product", "customer")]


class Job(models.Model):
    """A queue, from which several sessions take jobs."""

    kind = models.CharField(max_length=30)
    payload = models.JSONField()
    state = models.CharField(max_length=10, default="waiting")
    attempts = models.PositiveSmallIntegerField(default=0)
    message = models.TextField(null=True)


class Counter(models.Model):
    """Counters with a text as the primary key.  Upserts change them."""

    name = models.CharField(max_length=80, primary_key=True)
    value = models.BigIntegerField(default=0)
    amount = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    label = models.CharField(max_length=80, default="")


class Setting(models.Model):
    """Settings, which upserts find by their unique columns, not by the primary key."""

    scope = models.CharField(max_length=40)
    name = models.CharField(max_length=60)
    value = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "name"], name="setting_name")]
