"""What an application with SQLAlchemy needs for compact types: their names.

A plugin of pytest (-p compact_types_sqlalchemy) for SQLAlchemy's own tests; an
application has the same lines where it makes its engine.
"""

from functools import partial

from sqlalchemy.dialects.postgresql import CHAR, VARCHAR
from sqlalchemy.dialects.postgresql.base import PGDialect

PGDialect.ischema_names["compact_text"] = VARCHAR
for length in range(1, 65):
    PGDialect.ischema_names[f"compact_char{length}"] = partial(CHAR, length)
