"""
Write what the application sees, as lines of JSON.

Each value has its Python type beside it, so that '1.50' and Decimal('1.50') differ.
"""
import datetime
import decimal
import json
import re
import uuid

import sqlalchemy
from django.db import models


CATALOGS = re.compile(
    r"\b(?:FROM|JOIN)\s+(?:pg_catalog\.)?(?:pg_(?!typeof)|vertical_partition\.)", re.IGNORECASE
)


def canonical(value):
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        # replace a long text by its length and a hash
        return "str " + (value if len(value) < 300 else f"{len(value)} {hash_of(value)}")
    if isinstance(value, (float, decimal.Decimal, uuid.UUID)):
        return f"{type(value).__name__} {value}"
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return f"{type(value).__name__} {value.isoformat()}"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"bytes {bytes(value).hex()}"
    if isinstance(value, models.Model):
        return {
            "model "
            + type(value).__name__: {
                field.attname: canonical(getattr(value, field.attname))
                for field in value._meta.concrete_fields
            }
        }
    if isinstance(value, models.QuerySet):
        return [canonical(one) for one in value]
    if isinstance(value, sqlalchemy.Row):
        return [canonical(one) for one in value]
    if isinstance(value, dict):
        return {"dict": [[canonical(key), canonical(one)] for key, one in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(json.dumps(canonical(one)) for one in value)}
    if isinstance(value, (list, tuple)) or hasattr(value, "__iter__"):
        return [canonical(one) for one in value]
    return f"{type(value).__name__} {value}"


def hash_of(value):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, value))


def error_of(error):
    """Return the parts of an exception that an application checks: class, SQLSTATE and names."""
    cause = error
    while cause is not None and not hasattr(cause, "sqlstate"):
        cause = getattr(cause, "orig", None) or cause.__cause__
    what = {"error": type(error).__name__}
    if cause is not None:
        what["sqlstate"] = cause.sqlstate
        for name in ("schema_name", "table_name", "column_name", "constraint_name"):
            if getattr(cause.diag, name) is not None:
                what[name] = getattr(cause.diag, name)
        Transcript.messages.append(str(cause.diag.message_primary))
    else:
        what["text"] = str(error)
    return what


class Transcript:
    # messages of errors, which help to understand a difference
    messages = []

    def __init__(self, file):
        self.file = file
        self.counts = []
        self.catalogs = []
        self.texts = []
        self.prefix = ""

    def statement(self, text, rowcount):
        """Record a statement and its row count.  Count queries on the catalogs separately."""
        (self.catalogs if CATALOGS.search(str(text)) else self.counts).append(rowcount)
        self.texts.append(str(text))

    def see(self, name, function, *args, **kwargs):
        """Call a function, and write the value that it returns or the exception that it raises."""
        self.counts.clear()
        self.catalogs.clear()
        self.texts.clear()
        Transcript.messages.clear()
        try:
            result = canonical(function(*args, **kwargs))
        except Exception as error:
            result = error_of(error)
        # "statements" and "messages" help to understand a difference, and are not compared
        line = {
            "step": self.prefix + name,
            "result": result,
            "rows": self.counts,
            "catalogs": self.catalogs,
            "statements": self.texts[:3],
            "messages": Transcript.messages,
        }
        print(json.dumps(line), file=self.file, flush=True)
