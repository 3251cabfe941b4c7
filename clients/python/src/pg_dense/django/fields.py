"""Model fields whose columns have a compact type.

No field is needed for a column that convert() or compact_types.auto has made compact.  With these
fields, migrations write the compact type.
"""

from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from ..catalog import DIGITS


class _NarrowField(models.IntegerField):
    compact_type: str
    range: tuple[int, int]

    @property
    def validators(self) -> list[Any]:
        low, high = self.range
        return [*super().validators, MinValueValidator(low), MaxValueValidator(high)]

    def db_type(self, connection: Any) -> str:
        return self.compact_type


class Int1Field(_NarrowField):
    compact_type, range = "int1", (-(2**7), 2**7 - 1)


class UInt1Field(_NarrowField):
    compact_type, range = "uint1", (0, 2**8 - 1)


class UInt2Field(_NarrowField):
    compact_type, range = "uint2", (0, 2**16 - 1)


class UInt3Field(_NarrowField):
    compact_type, range = "uint3", (0, 2**24 - 1)


class UInt4Field(_NarrowField, models.BigIntegerField):
    compact_type, range = "uint4", (0, 2**32 - 1)


class Seconds4Field(models.DateTimeField):
    """A DateTimeField without fractions of a second, from 1970 to 2106: seconds4tz."""

    def db_type(self, connection: Any) -> str:
        return "seconds4tz"


class CompactDecimalField(models.DecimalField):
    """A DecimalField of up to 18 digits, in 4 bytes if there are at most 9: compact_decimalW_S."""

    def db_type(self, connection: Any) -> str:
        width = next((w for w, digits in DIGITS.items() if self.max_digits <= digits), None)
        if width is None:
            raise ValueError(f"no compact_decimal has {self.max_digits} digits")
        return f"compact_decimal{width}_{self.decimal_places}"


class CompactTextField(models.TextField):
    """A TextField whose column also checks max_length: compact_text, or compact_text(n)."""

    def db_type(self, connection: Any) -> str:
        return f"compact_text({self.max_length})" if self.max_length else "compact_text"


class CompactCharField(models.CharField):
    """A CharField of max_length bytes.  The value is padded with blanks: compact_charN."""

    def db_type(self, connection: Any) -> str:
        return f"compact_char{self.max_length}"
