"""Change data in a migration."""
from django.db import migrations
from django.db.models import F, Value
from django.db.models.functions import Concat, Upper


def fill(apps, schema_editor):
    product = apps.get_model("shop", "Product")
    product.objects.filter(cost=None).update(cost=F("price") / 2)
    product.objects.filter(pk__lt=20).update(brand=Upper("manufacturer"))
    for one in (
        product.objects.filter(description__contains="the").order_by("pk").iterator(chunk_size=20)
    ):
        one.description = one.description.replace("the", "The")
        one.save(update_fields=["description"])
    customer = apps.get_model("shop", "Customer")
    customer.objects.filter(nickname=None).update(nickname=Concat(Value("user-"), F("name")))


class Migration(migrations.Migration):
    dependencies = [("shop", "0004_names")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
