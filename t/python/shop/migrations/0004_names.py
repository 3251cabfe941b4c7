"""Rename, remove and add columns, indexes and constraints."""
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("shop", "0003_grow")]

    operations = [
        # Remove the index before the column is renamed.  The way back would look for the old name.
        migrations.RemoveIndex("product", "product_by_maker"),
        migrations.RenameField("product", "maker", "manufacturer"),
        migrations.RemoveField("product", "subtitle"),
        migrations.RenameModel("Setting", "Preference"),
        migrations.AddIndex(
            "customer", models.Index(fields=["name", "status"], name="customer_name")
        ),
        migrations.AddIndex("customer", models.Index(Lower("name"), name="customer_name_lower")),
        migrations.AddIndex(
            "product", models.Index(F("cost").desc(nulls_last=True), name="product_cost")
        ),
        migrations.AddConstraint(
            "order",
            models.CheckConstraint(
                condition=Q(state__in=["open", "paid", "sent", "closed"]), name="order_state"
            ),
        ),
        migrations.AddConstraint(
            "orderline",
            models.CheckConstraint(
                condition=Q(discount__isnull=True) | Q(discount__gte=0, discount__lt=10),
                name="line_discount",
            ),
        ),
        migrations.AddConstraint(
            "review",
            models.UniqueConstraint(
                fields=["customer", "title"], name="review_title", condition=Q(stars=1)
            ),
        ),
        migrations.AlterUniqueTogether("review", set()),
        migrations.CreateModel(
            "Voucher",
            [
                ("id", models.BigAutoField(primary_key=True)),
                ("code", models.CharField(max_length=16, unique=True)),
                ("value", models.DecimalField(max_digits=6, decimal_places=2)),
                ("customer", models.ForeignKey("shop.Customer", models.CASCADE, null=True)),
            ],
        ),
    ]
