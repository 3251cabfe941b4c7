from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """CREATE VIEW shop_report AS
               SELECT o.number, c.name, o.state, o.placed, count(*) AS lines
               FROM shop_order o JOIN shop_customer c ON c.id = o.customer_id
               JOIN shop_orderline l ON l.order_id = o.id
               GROUP BY o.number, c.name, o.state, o.placed""",
            "DROP VIEW shop_report",
        ),
    ]
