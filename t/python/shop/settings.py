"""
Django's settings of the web shop.  libpq's environment variables choose the server and database.
"""
import os

SECRET_KEY = "only for a test"
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.postgres",
    "shop",
]


def database(**options):
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"],
        "OPTIONS": options,
    }


DATABASES = {
    # psycopg puts parameters into the statement, which is Django's default
    "default": database(),
    # another session, and a session that sends parameters to the server separately
    "other": database(),
    "bound": database(server_side_binding=True),
}
