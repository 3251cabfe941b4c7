"""Register the names of compact types with SQLAlchemy, as core's types.

SQLAlchemy's own tests load this file as a plugin of pytest (-p compact_types_sqlalchemy).  They
expect core's types and dialect, so they do not use the package in clients/python.
"""

from functools import partial

from sqlalchemy.dialects.postgresql import CHAR, VARCHAR
from sqlalchemy.dialects.postgresql.base import PGDialect

PGDialect.ischema_names["compact_text"] = VARCHAR
for length in range(1, 65):
    PGDialect.ischema_names[f"compact_char{length}"] = partial(CHAR, length)
