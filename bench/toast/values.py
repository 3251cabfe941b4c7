"""The values to store: from frozen generators, and SGML from the server's release.

The repository contains no part of the SGML.  The seed determines every value, so that a run can be
repeated to the byte.  The documents do not depend on the seed: JSON_DIGEST proves that they are the
same everywhere.
"""

import base64
import functools
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from bench import text_mix
from bench.text_mix import Dice, words
from bench.text_mix.sources import MixError, files, pristine, spread

# Highest number of different values.  A table has copies of these values, so that memory can hold
# all of them while the table is filled.
DISTINCT = 400

# Bytes in a chunk of the TOAST table, on every server with blocks of 8 kB
CHUNK = 1996

JSON_DIGEST = "0b422a7da0f800a5161e32858a77c9ecf9adc23b90099d336db6ced80138fdad"


@dataclass(frozen=True)
class Values:
    """Different values of one kind: text or bytea."""

    name: str
    title: str
    type: str
    items: tuple[str | bytes, ...]

    @property
    def mean(self) -> float:
        return sum(len(item) for item in self.items) / len(self.items)


class Stream:
    """A stream of bytes that look random."""

    def __init__(self, seed: object) -> None:
        self.seed = str(seed)
        self.block = 0
        self.left = b""

    def bytes(self, count: int) -> bytes:
        while len(self.left) < count:
            self.left += hashlib.shake_256(f"{self.seed} {self.block}".encode()).digest(1 << 16)
            self.block += 1
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def letters(self, count: int) -> str:
        """Return characters with 6 random bits each.

        A codec without entropy coding finds nothing to compress in them.
        """
        return base64.b64encode(self.bytes(count * 3 // 4 + 3), b"-_").decode()[:count]

    def number(self, low: int, high: int) -> int:
        return low + int.from_bytes(self.bytes(4), "big") % (high - low + 1)


def random(size: int, count: int, seed: int) -> Values:
    """Return random bytes, all 256 equally likely, as bytea, because text cannot have them."""
    stream = Stream(f"{seed} random {size}")
    return Values(
        "random", "random bytes", "bytea", tuple(stream.bytes(size) for _ in range(count))
    )


def repeated(size: int, count: int, seed: int) -> Values:
    """Return values that each repeat a line of 80 characters, another line in each value."""
    stream = Stream(f"{seed} repeated {size}")
    lines = (stream.letters(79) + "\n" for _ in range(count))
    return Values(
        "repeated",
        "a repeated line",
        "text",
        tuple((line * (size // 80 + 1))[:size] for line in lines),
    )


def half_random(size: int, count: int, seed: int) -> Values:
    stream = Stream(f"{seed} half {size}")
    half = size // 2
    items = (stream.letters(size - half) + stream.letters(1) * half for _ in range(count))
    return Values("half random", "one half compressible", "text", tuple(items))


def md5_hex(size: int, count: int, seed: int) -> Values:
    """Return values of consecutive digests, of which lz4 saves a few per cent by chance."""
    stream = Stream(f"{seed} md5 {size}")
    items = (stream.bytes((size + 1) // 2).hex()[:size] for _ in range(count))
    return Values("md5", "hexadecimal digests", "text", tuple(items))


# --- documents ----------------------------------------------------------------


def person(dice: Dice) -> dict[str, object]:
    first, last = text_mix.first_name(dice), text_mix.last_name(dice)
    return {
        "customer_id": dice.number(100_000, 9_999_999),
        "first_name": first,
        "last_name": last,
        "email": text_mix.email_of(dice, first, last),
        "phone": f"+1-{dice.number(200, 999)}-{dice.number(200, 999)}-{dice.number(0, 9999):04}",
        "newsletter": dice.chance(30),
    }


def address(dice: Dice) -> dict[str, object]:
    return {
        "street": text_mix.street(dice),
        "city": dice.common(words.CITIES),
        "postal_code": f"{dice.number(501, 99950):05}",
        "country_code": "US",
    }


def uuid(dice: Dice) -> str:
    digits = dice.hex(32)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


class Visit:
    """The data that the lines and events of an order share: the customer's session, and the day."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.day = f"2025-{dice.number(1, 12):02}-{dice.number(1, 28):02}"
        self.second = dice.number(0, 80_000)
        self.session = uuid(dice)
        self.address = ".".join(str(dice.number(1, 254)) for _ in range(4))

    def moment(self) -> str:
        """Return a time that is a little later than the one before."""
        self.second += self.dice.number(1, 90)
        hours, minutes, seconds = self.second // 3600 % 24, self.second // 60 % 60, self.second % 60
        return f"{self.day}T{hours:02}:{minutes:02}:{seconds:02}.{self.dice.number(0, 999):03}Z"

    def event(self) -> dict[str, object]:
        return {
            "type": self.dice.common(words.EVENTS),
            "occurred_at": self.moment(),
            "session_id": self.session,
            "ip_address": self.address,
            "duration_ms": self.dice.number(3, 90_000),
        }

    def line(self, number: int) -> dict[str, object]:
        dice = self.dice
        quantity, price = dice.number(1, 9), dice.number(199, 49_999)
        product = dice.number(10_000, 999_999)
        name = (
            f"{dice.common(words.PRODUCT_BRANDS)} {dice.common(words.PRODUCT_THINGS)},"
            f" {dice.common(words.PRODUCT_TRAITS)}"
        )
        review = (
            f"{dice.one(words.REVIEW_OPENINGS).strip()}. {dice.one(words.REVIEW_CLOSINGS).strip()}."
        )
        return {
            "line_number": number,
            "product_id": product,
            "name": name,
            "image_url": f"https://static.shop.example.com/images/products/{product}/front-640x480.jpg",
            "quantity": quantity,
            "unit_price": {"amount": price / 100, "currency": "USD"},
            "discount_percent": max(0, dice.number(-2, 3)) * 5,
            "tax": {"amount": round(quantity * price * 0.0825) / 100, "currency": "USD"},
            "warehouse": {
                "id": dice.number(1, 40),
                "bin": f"{dice.one(list('ABCDEFGH'))}{dice.number(1, 240):03}",
            },
            "status": dice.common(words.STATUSES),
            "review": review if dice.chance(25) else None,
        }


def order(dice: Dice) -> dict[str, object]:
    visit = Visit(dice)
    created = visit.moment()
    return {
        "order_id": uuid(dice),
        "created_at": created,
        "channel": dice.one(["web", "web", "mobile", "store", "phone"]),
        "customer": person(dice),
        "billing_address": address(dice),
        "shipping_address": address(dice),
        "lines": [visit.line(number) for number in range(1, dice.number(10, 19))],
        "events": [visit.event() for _ in range(dice.number(8, 17))],
        "payment": {
            "method": dice.common(["card", "paypal", "transfer", "voucher"]),
            "authorization": dice.hex(32),
            "captured_at": visit.moment(),
        },
    }


def measurements(dice: Dice) -> dict[str, object]:
    """Return the data that a device sends: many objects with the same keys."""
    device, second, temperature = dice.hex(12), dice.number(0, 80_000), dice.number(150, 250)
    records = []
    for _ in range(dice.number(35, 60)):
        second += dice.number(9, 11)
        temperature += dice.number(-3, 3)
        records.append(
            {
                "device_id": device,
                "recorded_at": f"2025-06-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z",
                "temperature": temperature / 10,
                "humidity": dice.number(30, 60),
                "battery_voltage": dice.number(330, 340) / 100,
                "signal_strength": -dice.number(50, 90),
                "status": "ok" if dice.chance(97) else "low_battery",
            }
        )
    return {
        "site": dice.common(words.CITIES),
        "firmware": f"2.{dice.number(0, 9)}",
        "measurements": records,
    }


@functools.cache
def documents() -> dict[str, tuple[str, ...]]:
    """Return JSON documents of about 8 kB each, with blanks where json and jsonb print them."""
    makers = {"json": order, "records": measurements}
    items = {
        name: tuple(
            json.dumps(make(Dice(f"toast {name} {number}")), ensure_ascii=False)
            for number in range(DISTINCT)
        )
        for name, make in makers.items()
    }
    found = hashlib.sha256(
        "\n".join(item for kind in items.values() for item in kind).encode()
    ).hexdigest()
    if found != JSON_DIGEST:
        raise MixError(f"the JSON documents are not as frozen, their digest is {found}")
    return items


def json_documents(name: str, count: int) -> Values:
    titles = {"json": "JSON, orders of a shop", "records": "JSON, measurements of a device"}
    return Values(name, titles[name], "text", documents()[name][:count])


@functools.cache
def manual() -> str:
    """Return the server's manual, the SGML of the release, as one text."""
    names = [
        name for name in files() if name.startswith("doc/src/sgml/") and name.endswith(".sgml")
    ]
    text = pristine("show", "--no-textconv", *(f"pristine:{name}" for name in names))
    # Remove characters that are not ASCII, such as those in names of people.  Then each character
    # is a byte, and no piece begins within a character.
    return text.encode("ascii", "ignore").decode()


def pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text) - size + 1, size):
        yield text[start : start + size]


def sgml(size: int, count: int) -> Values:
    return Values(
        "sgml",
        "PostgreSQL's manual, SGML",
        "text",
        tuple(spread(list(pieces(manual(), size)), count)),
    )
