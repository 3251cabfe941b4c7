"""Make columns longer and wider, and add columns."""
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_report")]

    operations = [
        migrations.AddField("product", "brand", models.CharField(max_length=40, default="acme")),
        migrations.AddField("product", "warranty", models.PositiveSmallIntegerField(default=24)),
        migrations.AddField(
            "product",
            "shipping",
            models.DecimalField(max_digits=6, decimal_places=2, default="4.90"),
        ),
        migrations.AlterField("product", "title", models.CharField(max_length=200)),
        migrations.AlterField(
            "product", "price", models.DecimalField(max_digits=10, decimal_places=2)
        ),
        migrations.AlterField("customer", "phone", models.CharField(max_length=50, blank=True)),
        migrations.AlterField("customer", "notes", models.CharField(max_length=4000)),
        migrations.AlterField("orderline", "quantity", models.BigIntegerField()),
        migrations.AlterField("review", "title", models.TextField(default="")),
        migrations.AlterField(
            "counter", "value", models.DecimalField(max_digits=20, decimal_places=0, default=0)
        ),
    ]
