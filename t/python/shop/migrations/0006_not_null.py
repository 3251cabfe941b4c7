"""Make columns NOT NULL, with a default and without, and set a default of a column."""
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0005_data")]

    operations = [
        migrations.AlterField(
            "product", "weight", models.DecimalField(max_digits=7, decimal_places=3, default="0.5")
        ),
        migrations.AlterField("job", "message", models.TextField(default="none")),
        migrations.AlterField(
            "product", "cost", models.DecimalField(max_digits=12, decimal_places=4, null=False)
        ),
        migrations.RunSQL(
            "ALTER TABLE shop_order ALTER COLUMN city SET DEFAULT 'Berlin'",
            "ALTER TABLE shop_order ALTER COLUMN city DROP DEFAULT",
        ),
    ]
