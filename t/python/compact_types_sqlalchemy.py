"""Register the names of compact types with SQLAlchemy, as an application with these types must do.

SQLAlchemy's own tests load this file as a plugin of pytest (-p compact_types_sqlalchemy).  An
application has the same lines in the place where it makes its engine.
"""

from functools import partial

from sqlalchemy.dialects.postgresql import CHAR, VARCHAR
from sqlalchemy.dialects.postgresql.base import PGDialect

PGDialect.ischema_names["compact_text"] = VARCHAR
for length in range(1, 65):
    PGDialect.ischema_names[f"compact_char{length}"] = partial(CHAR, length)
