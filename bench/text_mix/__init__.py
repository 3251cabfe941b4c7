"""The frozen mix: 34 columns of short strings, and six tables full of them.

What compact_text saves depends on the strings, so the strings are fixed.  Real strings are read
from the server's release and the machine's package index (see sources.py).  A generator with a
fixed seed makes the other strings from the words of words.py.  digests.txt has the SHA-256 of each
column and table.  columns() and rows() raise an error if a digest differs.

Two kinds of columns and tables may differ: those that are made from the package index, which
differs between machines, and those that are made from the release, if tools/source got a newer
release than the pinned one.  On a machine without a package index, its columns and its table are
left out.  state() says all this in one line, which a study prints.

    bench/text_mix/freeze			compare everything with digests.txt
    bench/text_mix/freeze --write	write it anew: earlier figures cannot be compared any more

No part of the mix was used to train the dictionaries of compact_text: see
compact_types/dictionary/README.md.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.text_mix import sources, words
from bench.text_mix.sources import MixError as MixError

HERE = Path(__file__).resolve().parent
DIGESTS = HERE / "digests.txt"
SEED = 20251121

Row = tuple[str | None, ...]


class Dice:
    """Random choices that are the same in every Python release."""

    def __init__(self, name: str) -> None:
        self.state = int.from_bytes(hashlib.sha256(f"{SEED} {name}".encode()).digest()[:8], "big")

    def bits(self) -> int:
        # splitmix64
        self.state = self.state + 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        z = (z ^ z >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        return z ^ z >> 31

    def number(self, low: int, high: int) -> int:
        return low + self.bits() % (high - low + 1)

    def chance(self, percent: int) -> bool:
        return self.number(1, 100) <= percent

    def one(self, items: list[str]) -> str:
        return items[self.bits() % len(items)]

    def common(self, items: list[str]) -> str:
        """Choose an item, the first ones more often: the lesser of two random positions."""
        return items[min(self.bits() % len(items), self.bits() % len(items))]

    def hex(self, digits: int) -> str:
        return "".join(f"{self.bits():016x}" for _ in range(digits // 16 + 1))[:digits]

    def text(self, alphabet: str, low: int, high: int) -> str:
        return "".join(alphabet[self.bits() % len(alphabet)] for _ in range(self.number(low, high)))


# --- one value of a synthetic column ---------------------------------------


def first_name(d: Dice) -> str:
    return d.common(words.FIRST_NAMES)


def last_name(d: Dice) -> str:
    return d.common(words.LAST_NAMES)


def name(d: Dice) -> str:
    return f"{first_name(d)} {last_name(d)}"


def email_of(d: Dice, first: str, last: str) -> str:
    first, last = first.lower(), last.lower()
    local = d.one([f"{first}.{last}", f"{first}.{last}", f"{first[0]}{last}", f"{first}{d.number(1, 99)}", f"{first}_{last}", last + first[0],
                   f"{first}{last}{d.number(1960, 2005)}", f"{first}.{last}{d.number(1, 999)}"])  # fmt: skip
    return f"{local}@{d.common(words.MAIL_DOMAINS)}"


def email(d: Dice) -> str:
    return email_of(d, first_name(d), last_name(d))


def street(d: Dice) -> str:
    way = f"{d.number(1, 9999)} {d.one(['', '', '', 'N ', 'S ', 'E ', 'W '])}{d.common(words.STREETS)} {d.common(words.STREET_KINDS)}"
    return way + (
        d.one([" Apt ", " Suite ", " Unit ", " #"]) + str(d.number(1, 420)) if d.chance(25) else ""
    )


def city(d: Dice) -> str:
    return d.common(words.CITIES)


def phone(d: Dice) -> str:
    area, exchange, line = d.number(201, 989), d.number(200, 999), d.number(0, 9999)
    return d.one(
        [
            f"+1-{area}-{exchange}-{line:04d}",
            f"({area}) {exchange}-{line:04d}",
            f"{area}-{exchange}-{line:04d}",
        ]
    )


def slug(d: Dice, least: int, most: int) -> str:
    return "-".join(d.one(words.NOUNS + words.ADJECTIVES) for _ in range(d.number(least, most)))


def url(d: Dice) -> str:
    thing = d.one(words.PRODUCT_THINGS).lower().replace(" ", "-")
    return d.one([f"/products/{thing}-{d.number(1000, 99999)}", f"/products/{thing}?color={d.one(['black', 'white', 'blue', 'red', 'green'])}&size={d.one(['s', 'm', 'l', 'xl'])}",
                  f"/blog/{d.number(2018, 2025)}/{d.number(1, 12):02d}/{slug(d, 3, 6)}", f"/search?q={d.one(words.PRODUCT_THINGS).replace(' ', '+')}&page={d.number(1, 20)}",
                  f"/api/v2/customers/{d.number(1, 999999)}/orders", f"/api/v2/orders/{d.number(1, 9999999)}", "/cart", "/checkout/shipping", "/account/orders",
                  f"/static/js/app.{d.hex(8)}.js", f"/static/css/main.{d.hex(8)}.css", f"/images/{thing}-{d.number(1, 8)}.webp", "/", "/favicon.ico", "/robots.txt",
                  f"/support/articles/{d.number(100, 9999)}-{slug(d, 2, 5)}", f"/login?next=/account/{d.one(words.NOUNS)}s"])  # fmt: skip


def user_agent(d: Dice) -> str:
    chrome = f"{d.number(108, 131)}.0.0.0"
    firefox = f"{d.number(102, 132)}.0"
    ios = d.number(15, 18), d.number(0, 6)
    webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"
    return d.common([
        f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {webkit} Chrome/{chrome} Safari/537.36",
        f"Mozilla/5.0 (iPhone; CPU iPhone OS {ios[0]}_{ios[1]} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{ios[0]}.{ios[1]} Mobile/15E148 Safari/604.1",
        f"Mozilla/5.0 (Linux; Android 10; K) {webkit} Chrome/{chrome} Mobile Safari/537.36",
        f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {webkit} Chrome/{chrome} Safari/537.36",
        f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{ios[0]}.{ios[1]} Safari/605.1.15",
        f"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{firefox}) Gecko/20100101 Firefox/{firefox}",
        f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {webkit} Chrome/{chrome} Safari/537.36 Edg/{chrome}",
        f"Mozilla/5.0 (X11; Linux x86_64; rv:{firefox}) Gecko/20100101 Firefox/{firefox}",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        f"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.{d.number(0, 2)}; +https://openai.com/gptbot)",
        f"curl/8.{d.number(0, 11)}.{d.number(0, 1)}", f"python-httpx/0.{d.number(23, 28)}.{d.number(0, 2)}", "Prometheus/2.45.3"])  # fmt: skip


def referrer(d: Dice) -> str:
    shop = (
        "https://www."
        + d.one(["brightwater-shop", "northwindtraders", "contoso", "globex-outlet"])
        + ".com"
    )
    return d.common([shop + url(d), "https://www.google.com/", shop + "/", shop + url(d), "https://www.bing.com/", "https://www.facebook.com/",
                     f"https://www.google.com/search?q={slug(d, 2, 4).replace('-', '+')}", "https://duckduckgo.com/", f"https://t.co/{d.text('abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMN0123456789', 10, 10)}",
                     f"https://www.reddit.com/r/{d.one(words.NOUNS)}s/comments/{d.hex(7)}/{slug(d, 3, 6).replace('-', '_')}/", f"https://mail.google.com/mail/u/0/?tab={d.hex(2)}",
                     f"https://www.pinterest.com/pin/{d.number(10 ** 11, 10 ** 12)}/"])  # fmt: skip


def timestamp(d: Dice) -> str:
    return f"{d.number(2019, 2025)}-{d.number(1, 12):02d}-{d.number(1, 28):02d} {d.number(0, 23):02d}:{d.number(0, 59):02d}:{d.number(0, 59):02d}"


def iso_timestamp(d: Dice) -> str:
    return timestamp(d).replace(" ", "T") + d.one(["Z", "Z", f".{d.number(0, 999):03d}Z", "+00:00"])


def date(d: Dice) -> str:
    return timestamp(d)[:10]


def ip(d: Dice) -> str:
    return f"{d.number(1, 223)}.{d.number(0, 255)}.{d.number(0, 255)}.{d.number(1, 254)}"


def uuid(d: Dice) -> str:
    h = d.hex(32)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) % 4]}{h[17:20]}-{h[20:]}"


def event(d: Dice) -> str:
    kind = d.common(words.EVENTS)
    body = d.one([
        f'"product_id":{d.number(100, 99999)},"name":"{product(d)}","price":{d.number(1, 400)}.{d.number(0, 99):02d},"currency":"{d.one(["USD", "EUR", "GBP"])}"',
        f'"path":"{url(d)}","referrer":"{referrer(d)}","load_ms":{d.number(50, 4000)}',
        f'"order_id":"{order_number(d)}","total":{d.number(5, 900)}.{d.number(0, 99):02d},"items":{d.number(1, 9)},"coupon":{d.one(["null", chr(34) + "WELCOME10" + chr(34)])}',
        f'"query":"{slug(d, 1, 3).replace("-", " ")}","results":{d.number(0, 900)},"position":{d.number(1, 30)}',
        f'"device":{{"type":"{d.one(["mobile", "desktop", "tablet"])}","os":"{d.one(["iOS 17", "Android 14", "Windows 11", "macOS 14"])}"}},"country":"{d.one(["US", "DE", "GB", "FR", "JP"])}"',
        f'"success":{d.one(["true", "false"])},"reason":"{d.one(words.STATUSES)}","attempt":{d.number(1, 4)}'])  # fmt: skip
    return f'{{"event":"{kind}","user_id":{d.number(1, 999999)},"ts":"{iso_timestamp(d)}",{body}}}'


def log_line(d: Dice) -> str:
    query = f"{d.one(words.NOUNS)}s"
    return d.one([
        f"{timestamp(d)}.{d.number(0, 999):03d} UTC [{d.number(300, 65000)}] LOG:  duration: {d.number(0, 9000)}.{d.number(0, 999):03d} ms  statement: SELECT * FROM {query} WHERE id = {d.number(1, 99999)}",
        f"{timestamp(d)}.{d.number(0, 999):03d} UTC [{d.number(300, 65000)}] ERROR:  duplicate key value violates unique constraint \"{query}_pkey\"",
        f"{iso_timestamp(d)} INFO  {d.one(words.NOUNS)}-service - {d.one(words.VERBS)} {d.one(words.NOUNS)} {d.number(1, 99999)} in {d.number(1, 900)}ms",
        f"{iso_timestamp(d)} WARN  retrying {d.one(words.NOUNS)} upload, attempt {d.number(2, 5)} of 5: connection reset by peer",
        f"{d.one(['Jan', 'Mar', 'Jun', 'Sep', 'Nov'])} {d.number(10, 28)} {timestamp(d)[11:]} web-{d.number(1, 9)} sshd[{d.number(300, 65000)}]: Accepted publickey for deploy from {ip(d)} port {d.number(1024, 65535)} ssh2",
        f"{d.one(['Feb', 'Apr', 'Jul', 'Oct', 'Dec'])} {d.number(10, 28)} {timestamp(d)[11:]} db-{d.number(1, 4)} kernel: [{d.number(1000, 999999)}.{d.number(0, 999999):06d}] eth0: link up, {d.one(['1000', '10000'])} Mbps, full duplex",
        f"{ip(d)} - - [{d.number(10, 28)}/Nov/2025:{timestamp(d)[11:]} +0000] \"GET {url(d)} HTTP/1.1\" {d.one(['200', '304', '404', '302'])} {d.number(0, 90000)}",
        f"level={d.one(['info', 'warn', 'error'])} ts={iso_timestamp(d)} caller={d.one(words.NOUNS)}.go:{d.number(20, 900)} msg=\"{d.one(words.NOUNS)} {d.one(words.VERBS)}\" component={d.one(words.NOUNS)}"])  # fmt: skip


def order_number(d: Dice) -> str:
    return f"{d.number(2020, 2025)}-{d.number(1, 9999999):07d}"


def sku(d: Dice) -> str:
    return (
        d.text("ABCDEFGHKLMNPRSTWX", 3, 3)
        + f"-{d.number(100, 9999)}-"
        + d.one(["BLK", "WHT", "RED", "BLU", "S", "M", "L", "XL", "01", "02"])
    )


def product(d: Dice) -> str:
    title = f"{d.one(words.PRODUCT_BRANDS)} {d.one(words.PRODUCT_THINGS)}"
    for _ in range(d.number(0, 2)):
        title += d.one([", ", " - ", " "]) + d.one(words.PRODUCT_TRAITS)
    return title


def phrase(d: Dice) -> str:
    noun, verb = d.one(words.NOUNS), d.one(words.VERBS)
    who = d.one(
        [
            "customer",
            "the manager",
            "we",
            "they",
            "she",
            "he",
            last_name(d),
            "sales",
            "support",
            "driver",
        ]
    )
    return d.one([f"{who} {verb} the {d.one(words.ADJECTIVES)} {noun}", f"{who} {verb} about {noun}", f"{noun} {verb} on {d.number(1, 12)}/{d.number(1, 28)}",
                  f"please have the {noun} {verb} before {d.one(['Friday', 'noon', 'the end of the month', 'Tuesday'])}", f"{d.one(words.ADJECTIVES)} {noun}, {verb} twice",
                  f"{noun} is {d.one(words.ADJECTIVES)} and {d.one(words.ADJECTIVES)}", f"waiting for {noun} from {last_name(d)}", f"call back re {noun} {d.number(100, 99999)}"])  # fmt: skip


def note(d: Dice) -> str:
    text = phrase(d)
    if d.chance(50):
        text += d.one(["; ", ", ", ". ", " and "]) + phrase(d)
    return text[0].upper() + text[1:] + d.one([".", "", ""])


def filled(d: Dice, template: str, names: list[str], day: str) -> str:
    place = d.one(words.JAPANESE_PLACES)
    return (
        template.replace("{n}", str(d.number(5, 20000)))
        .replace("{d}", day)
        .replace("{name}", d.one(names))
        .replace("{place}", place)
    )


def german_note(d: Dice) -> str:
    if d.chance(50):
        return d.one(sources.messages("de"))
    return filled(
        d, d.one(words.GERMAN_NOTES), words.GERMAN_NAMES, f"{d.number(1, 28)}.{d.number(1, 12)}."
    )


def french_note(d: Dice) -> str:
    if d.chance(50):
        return d.one(sources.messages("fr"))
    return filled(
        d, d.one(words.FRENCH_NOTES), words.FRENCH_NAMES, f"{d.number(1, 28)}/{d.number(1, 12):02d}"
    )


def russian_note(d: Dice) -> str:
    if d.chance(50):
        return d.one(sources.messages("ru"))
    return filled(
        d,
        d.one(words.RUSSIAN_NOTES),
        words.RUSSIAN_NAMES,
        f"{d.number(1, 28):02d}.{d.number(1, 12):02d}",
    )


def japanese_note(d: Dice) -> str:
    if d.chance(50):
        return d.one(sources.messages("ja"))
    text = "".join(d.one(words.JAPANESE_NOTES) for _ in range(d.number(1, 2)))
    return filled(d, text, words.JAPANESE_NAMES, f"{d.number(1, 12)}月{d.number(1, 28)}日")


def japanese_address(d: Dice) -> str:
    text = d.one(words.JAPANESE_PLACES) + d.one(
        [
            f"{d.number(1, 8)}丁目{d.number(1, 30)}番{d.number(1, 20)}号",
            f"{d.number(1, 8)}-{d.number(1, 30)}-{d.number(1, 20)}",
        ]
    )
    return text + (
        f" {d.one(words.JAPANESE_BUILDINGS)}{d.number(101, 909)}号室" if d.chance(40) else ""
    )


def review(d: Dice) -> str:
    parts = [d.one(words.REVIEW_OPENINGS)] + [
        d.one([d.one(words.REVIEW_OPENINGS), phrase(d).capitalize()]) for _ in range(d.number(0, 2))
    ]
    return ". ".join(part.strip() for part in [*parts, d.one(words.REVIEW_CLOSINGS)]) + d.one(
        [".", "!", ""]
    )


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SYLLABLES = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]


def tpcc_last_name(d: Dice) -> str:
    number = (d.number(0, 255) | d.number(0, 999)) % 1000
    return SYLLABLES[number // 100] + SYLLABLES[number // 10 % 10] + SYLLABLES[number % 10]


# --- the columns -----------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column of the mix.  The values of a real column were written by somebody else."""

    name: str
    kind: str
    values: tuple[str, ...]


def real(items: Callable[[], list[str]]) -> Callable[[str], tuple[str, ...]]:
    return lambda name: tuple(items())


def made(value: Callable[[Dice], str], count: int = 4000) -> Callable[[str], tuple[str, ...]]:
    def values(name: str) -> tuple[str, ...]:
        dice = Dice(name)
        return tuple(value(dice) for _ in range(count))

    return values


COLUMNS: dict[str, tuple[str, Callable[[str], tuple[str, ...]]]] = {
    "description": ("real", real(lambda: [row[4] for row in sources.packages()])),
    "home_page": ("real", real(lambda: [row[3] for row in sources.packages()])),
    "file_path": ("real", real(sources.paths)),
    "email": ("made", made(email)),
    "name": ("made", made(name)),
    "street": ("made", made(street)),
    "city": ("made", made(city)),
    "phone": ("made", made(phone)),
    "url": ("made", made(url)),
    "user_agent": ("made", made(user_agent)),
    "referrer": ("made", made(referrer)),
    "json_event": ("made", made(event)),
    "log_line": ("made", made(log_line)),
    "uuid": ("made", made(uuid)),
    "sha256": ("made", made(lambda d: d.hex(64))),
    "hex_id": ("made", made(lambda d: d.hex(16))),
    "timestamp": ("made", made(iso_timestamp)),
    "date": ("made", made(date)),
    "ip_address": ("made", made(ip)),
    "order_number": ("made", made(order_number)),
    "sku": ("made", made(sku)),
    "status": ("made", made(lambda d: d.common(words.STATUSES))),
    "media_type": ("made", made(lambda d: d.common(words.MEDIA_TYPES))),
    "tpcc_string_24": ("made", made(lambda d: d.text(LETTERS, 24, 24))),
    "tpcc_c_data": ("made", made(lambda d: d.text(LETTERS, 300, 500), 2000)),
    "tpcc_last_name": ("made", made(tpcc_last_name)),
    "product": ("made", made(product)),
    "note": ("made", made(note)),
    "review": ("made", made(review)),
    "german_note": ("half real", made(german_note)),
    "french_note": ("half real", made(french_note)),
    "russian_note": ("half real", made(russian_note)),
    "japanese_note": ("half real", made(japanese_note)),
    "japanese_address": ("made", made(japanese_address)),
}


# --- the tables ------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A table of the mix.

    columns has names and types.  A compact variant replaces the type "text".  The generator gives
    one row at a time, without an end.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    row: Callable[[Dice, int], Row]
    count: int

    def create(self, text_type: str = "text") -> str:
        definitions = ", ".join(
            f"{name} {text_type if type_ == 'text' else type_}" for name, type_ in self.columns
        )
        return f"CREATE TABLE {self.name} ({definitions})"


def user_row(d: Dice, i: int) -> Row:
    first, last = first_name(d), last_name(d)
    account = f"{first.lower()}{d.number(1, 9999)}"
    return (str(i), timestamp(d) + "+00", timestamp(d) + "+00", uuid(d), account, f"{first} {last}", email_of(d, first, last),
            d.common(["active", "active", "trial", "suspended", "closed"]), d.common(["en-US", "en-US", "en-GB", "de-DE", "fr-FR", "ja-JP", "es-MX"]),
            d.common(["America/New_York", "America/Los_Angeles", "America/Chicago", "Europe/Berlin", "Europe/Paris", "Asia/Tokyo"]), ip(d), user_agent(d),
            f"https://static.example.net/avatars/{d.hex(2)}/{account}.jpg" if d.chance(60) else None, review(d) if d.chance(40) else None)  # fmt: skip


def contact_row(d: Dice, i: int) -> Row:
    first, last = first_name(d), last_name(d)
    return (str(i), timestamp(d) + "+00", date(d), d.common(["active", "active", "trial", "suspended", "closed"]), first, last, email_of(d, first, last),
            phone(d), street(d), city(d), d.one(words.STATES), f"{d.number(501, 99950):05d}", d.common(words.COUNTRIES),
            note(d) if d.chance(30) else None)  # fmt: skip


def web_log_row(d: Dice, i: int) -> Row:
    return (str(i), timestamp(d) + "+00", d.common(["200", "200", "304", "404", "302", "500"]), str(d.number(0, 90000)), ip(d),
            d.common(["GET", "GET", "GET", "POST", "HEAD"]), url(d), referrer(d) if d.chance(70) else None, user_agent(d))  # fmt: skip


def package_row(d: Dice, i: int) -> Row:
    packages = sources.packages()
    package, version, section, home_page, description = packages[i % len(packages)]
    plain = version.split(":")[-1]
    letter = package[:4] if package.startswith("lib") else package[:1]
    return (str(i), str(d.number(10, 90000)), package, version, section, d.common(["optional", "optional", "optional", "required", "important"]),
            d.one(["amd64", "all"]), home_page, description, f"pool/main/{letter}/{package}/{package}_{plain}_amd64.deb", d.hex(64))  # fmt: skip


def event_row(d: Dice, i: int) -> Row:
    return (
        str(i),
        timestamp(d) + "+00",
        str(d.number(1, 999999)),
        uuid(d),
        d.common(words.EVENTS),
        d.common(["web", "ios", "android", "api"]),
        event(d),
    )


def note_ja_row(d: Dice, i: int) -> Row:
    return (
        str(i),
        timestamp(d) + "+00",
        d.one(words.JAPANESE_NAMES),
        japanese_address(d),
        d.one(["対応中", "完了", "保留", "未着手"]),
        japanese_note(d),
    )


ALL_TABLES = (
    Table("users", (("id", "bigint"), ("created_at", "timestamptz"), ("last_login_at", "timestamptz"), ("public_id", "text"), ("login", "text"),
                    ("name", "text"), ("email", "text"), ("status", "text"), ("locale", "text"), ("time_zone", "text"), ("last_login_ip", "text"),
                    ("last_user_agent", "text"), ("avatar", "text"), ("about", "text")), user_row, 20000),
    Table("contacts", (("id", "bigint"), ("created_at", "timestamptz"), ("birthday", "date"), ("status", "text"), ("first_name", "text"),
                    ("last_name", "text"), ("email", "text"), ("phone", "text"), ("street", "text"), ("city", "text"), ("state", "text"),
                    ("postal_code", "text"), ("country", "text"), ("note", "text")), contact_row, 20000),
    Table("web_log", (("id", "bigint"), ("at", "timestamptz"), ("status", "integer"), ("bytes", "integer"), ("client", "text"), ("method", "text"),
                      ("path", "text"), ("referrer", "text"), ("user_agent", "text")), web_log_row, 20000),
    Table("packages", (("id", "integer"), ("installed_size", "integer"), ("package", "text"), ("version", "text"), ("section", "text"),
                       ("priority", "text"), ("architecture", "text"), ("home_page", "text"), ("description", "text"), ("filename", "text"),
                       ("sha256", "text")), package_row, 20000),
    Table("events", (("id", "bigint"), ("at", "timestamptz"), ("user_id", "integer"), ("session", "text"), ("kind", "text"), ("source", "text"),
                     ("payload", "text")), event_row, 20000),
    Table("notes_ja", (("id", "bigint"), ("created_at", "timestamptz"), ("author", "text"), ("address", "text"), ("status", "text"), ("body", "text")),
          note_ja_row, 20000),
)  # fmt: skip


# --- frozen ----------------------------------------------------------------

FROM_INDEX = ("column.description", "column.home_page", "table.packages")
FROM_RELEASE = (
    "column.file_path",
    "column.german_note",
    "column.french_note",
    "column.russian_note",
    "column.japanese_note",
    "table.notes_ja",
)


def digest_of_column(values: tuple[str, ...]) -> str:
    return hashlib.sha256("".join(value + "\n" for value in values).encode()).hexdigest()


def digest_of_table(table: Table) -> str:
    lines = (
        "\t".join("\\N" if value is None else value for value in row) + "\n"
        for row in unchecked_rows(table, 1000)
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@functools.cache
def digest(name: str) -> str:
    """Return the digest of column.NAME or table.NAME, as this machine makes it."""
    kind, _, name = name.partition(".")
    if kind == "column":
        return digest_of_column(unchecked_column(name).values)
    return digest_of_table(next(table for table in ALL_TABLES if table.name == name))


@functools.cache
def digests() -> dict[str, str]:
    return dict(line.split() for line in DIGESTS.read_text().splitlines())


def names() -> list[str]:
    """Return all names that digests.txt must have, also those that this machine cannot make."""
    return [f"column.{name}" for name in COLUMNS] + [f"table.{table.name}" for table in ALL_TABLES]


def here(name: str) -> bool:
    return name not in FROM_INDEX or bool(sources.packages())


def may_differ(name: str) -> bool:
    return name in FROM_INDEX or (
        name in FROM_RELEASE and sources.release() != sources.pinned_release()
    )


def is_frozen(name: str) -> bool:
    return digests().get(name) == digest(name)


def check(name: str) -> None:
    if not here(name):
        raise MixError(
            f"this machine has no package index of Debian, which {name} of the text mix is made of"
        )
    if not may_differ(name) and not is_frozen(name):
        raise MixError(
            f"{name} of the text mix is not what {DIGESTS.name} says: no figure would compare with any other"
        )


def listed(names: Sequence[str]) -> str:
    """Return the names of columns and tables as a text, with the word "table" before a table."""
    return ", ".join(name.removeprefix("column.").replace("table.", "table ") for name in names)


def state() -> str:
    """Return one line: "as frozen", or what this machine leaves out, and what differs."""
    found = []
    if not here(FROM_INDEX[0]):
        found.append(
            f"left out, because this machine has no package index of Debian: {listed(FROM_INDEX)}"
        )
    for origin, owner in (
        (FROM_INDEX, "this machine's package index"),
        (FROM_RELEASE, f"PostgreSQL {sources.release()}"),
    ):
        other = [name for name in origin if may_differ(name) and here(name) and not is_frozen(name)]
        if other:
            found.append(
                f"as {owner} has it, not as frozen: {listed(other)} (figures may differ in the third digit)"
            )
    return "; ".join(found) or "as frozen"


@functools.cache
def unchecked_column(name: str) -> Column:
    kind, values = COLUMNS[name]
    return Column(name, kind, values(name))


def unchecked_rows(table: Table, count: int) -> Iterator[Row]:
    dice = Dice(table.name)
    for i in range(1, count + 1):
        yield table.row(dice, i)


@functools.cache
def column(name: str) -> Column:
    """Return one column, checked against its digest, in less time than all columns take."""
    check(f"column.{name}")
    return unchecked_column(name)


@functools.cache
def columns() -> tuple[Column, ...]:
    """Return those of the 34 columns that this machine can make, checked against their digests."""
    return tuple(column(name) for name in COLUMNS if here(f"column.{name}"))


def tables() -> tuple[Table, ...]:
    """Return those of the six tables that this machine can make."""
    return tuple(table for table in ALL_TABLES if here(f"table.{table.name}"))


def rows(table: Table, count: int | None = None) -> Iterator[Row]:
    """Return the rows as text, with None for null.

    The first thousand rows are checked against the digest.
    """
    check(f"table.{table.name}")
    return unchecked_rows(table, table.count if count is None else count)
