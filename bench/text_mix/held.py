"""The held-out columns: kinds of strings on which neither codec was tuned.

The frozen mix was the measure for the dictionaries of compact_text and for the rules of training.
So what it shows may be too good.  These columns were written later, and only as a check.

Four columns are real: about 1,000 messages each of PostgreSQL's catalogs in Greek, Korean and
Spanish, and 10,000 SQL statements of PostgreSQL's regression tests.  They come from the source tree
that sources.py reads.

All other columns are synthetic.  A generator with a fixed seed fills templates with the words of
held_words.py, with random numbers and with random bytes.  So a dictionary can learn the templates,
and an application's own strings may gain less.  Digits, hexadecimal digits and base64 are uniformly
random.  In real columns, they often follow each other in order, or repeat.  Networks, vendors of
interfaces and versions of browsers look like existing ones, but their shares are invented.

is_for_training() says which values a dictionary may be trained on.  Equal values are on the same
side, so no whole value is on both sides.
"""

import functools
import hashlib
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass

from bench.text_mix import Column, Dice, made, real, sources
from bench.text_mix import held_words as words

COUNT = 10_000

# The columns with a promise of their own
PROMISED = ("json", "log", "user_agent", "arabic", "greek", "hindi", "ipv6", "status")

BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
ZONES = ["+00:00", "+01:00", "+02:00", "-05:00", "-04:00", "-08:00", "+05:30", "+09:00"]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def is_for_training(value: str) -> bool:
    """Return true for one half of all strings, the same half on every machine."""
    return hashlib.md5(value.encode()).digest()[0] < 128


# --- web -------------------------------------------------------------------


def clock(d: Dice) -> str:
    return f"{d.number(0, 23):02d}:{d.number(0, 59):02d}:{d.number(0, 59):02d}"


def day(d: Dice) -> str:
    return f"{d.number(2021, 2025)}-{d.number(1, 12):02d}-{d.number(1, 28):02d}"


def ipv4(d: Dice) -> str:
    return f"{d.number(1, 223)}.{d.number(0, 255)}.{d.number(0, 255)}.{d.number(1, 254)}"


def request_path(d: Dice) -> str:
    slug = "-".join(d.one(words.PATH_WORDS) for _ in range(d.number(1, 4)))
    part = d.common(words.PATH_PARTS)
    return d.common(
        [
            f"/{part}/{slug}-{d.number(1, 99999)}",
            f"/{part}/{d.number(1, 999999)}",
            f"/{part}",
            f"/{d.one(['en', 'de', 'fr'])}/{part}/{slug}",
            f"/assets/{d.one(['main', 'vendor', 'chunk'])}-{d.hex(8)}.{d.one(['js', 'css'])}",
            f"/media/{day(d)[:7].replace('-', '/')}/{slug}.{d.one(['jpg', 'webp', 'avif'])}",
            f"/{part}?sort={d.one(['price', 'date', 'name'])}&page={d.number(1, 40)}",
            f"/graphql?operation={d.one(words.OBJECTS)}&hash={d.hex(16)}",
        ]
    )


def user_agent(d: Dice) -> str:
    major, build = d.one(words.CHROMES).split(".")
    chrome, plain = f"{major}.0.{build}.{d.number(20, 230)}", f"{major}.0.0.0"
    firefox, ios, phone = f"{d.number(98, 141)}.0", (d.number(14, 18), d.number(0, 7)), d.one(words.PHONES)  # fmt: skip
    android, code = d.number(9, 15), d.one(words.BUILDS)
    khtml = "(KHTML, like Gecko)"
    webkit = f"AppleWebKit/537.36 {khtml}"
    apple = f"AppleWebKit/605.1.15 {khtml}"
    mac = f"Intel Mac OS X {d.number(10, 14)}_{d.number(0, 15)}_{d.number(0, 7)}"
    return d.common(
        [
            f"Mozilla/5.0 (Linux; Android {android}; {phone}) {webkit} Chrome/{chrome} Mobile Safari/537.36",
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {webkit} Chrome/{chrome} Safari/537.36",
            f"Mozilla/5.0 (iPhone; CPU iPhone OS {ios[0]}_{ios[1]}_{d.number(1, 3)} like Mac OS X) {apple} Version/{ios[0]}.{ios[1]} Mobile/15E148 Safari/604.1",
            f"Mozilla/5.0 (Linux; Android {android}; {phone} Build/{code}; wv) {webkit} Version/4.0 Chrome/{chrome} Mobile Safari/537.36",
            f"Mozilla/5.0 (Macintosh; {mac}) {apple} Version/{ios[0]}.{ios[1]} Safari/605.1.15",
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{firefox}) Gecko/20100101 Firefox/{firefox}",
            f"Mozilla/5.0 (iPhone; CPU iPhone OS {ios[0]}_{ios[1]} like Mac OS X) {apple} CriOS/{chrome} Mobile/15E148 Safari/604.1",
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {webkit} Chrome/{plain} Safari/537.36 Edg/{major}.0.{d.number(2000, 3300)}.{d.number(20, 130)}",
            f"Mozilla/5.0 (Linux; Android {android}; SAMSUNG {phone}) {webkit} SamsungBrowser/{d.number(20, 28)}.0 Chrome/{plain} Mobile Safari/537.36",
            f"Mozilla/5.0 (Macintosh; {mac}) {webkit} Chrome/{chrome} Safari/537.36 OPR/{d.number(98, 120)}.0.0.0",
            f"Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:{firefox}) Gecko/20100101 Firefox/{firefox}",
            f"Mozilla/5.0 (iPhone; CPU iPhone OS {ios[0]}_{ios[1]} like Mac OS X) {apple} Mobile/15E148 [FBAN/FBIOS;FBAV/{d.number(380, 520)}.0.0.{d.number(20, 60)}.{d.number(70, 120)};FBBV/{d.number(400000000, 700000000)}]",
            f"Dalvik/2.1.0 (Linux; U; Android {android}; {phone} Build/{code})",
            f"okhttp/{d.number(3, 5)}.{d.number(0, 14)}.{d.number(0, 3)}",
            f"python-requests/2.{d.number(20, 32)}.{d.number(0, 5)}",
            f"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/{chrome} Safari/537.36",
        ]
    )


def log(d: Dice) -> str:
    """Return a line of Apache's combined format."""
    when = f"{d.number(1, 28):02d}/{d.one(MONTHS)}/2025:{clock(d)} {d.one(['+0200', '+0200', '+0100', '+0000'])}"
    who = d.one(["-", "-", "-", "-", d.one(words.GIVEN_NAMES)])
    method = d.common(["GET", "GET", "GET", "POST", "HEAD", "PUT"])
    protocol = d.one(["HTTP/1.1", "HTTP/1.1", "HTTP/2.0"])
    code = d.common(["200", "200", "200", "304", "301", "404", "403", "500", "206"])
    size = "-" if code == "304" else str(d.number(150, 180_000))
    referrer = d.common(
        [f"https://{d.common(words.SITES)}{request_path(d)}", "-", d.common(words.SEARCHES)]
    )
    return f'{ipv4(d)} - {who} [{when}] "{method} {request_path(d)} {protocol}" {code} {size} "{referrer}" "{user_agent(d)}"'


def json(d: Dice) -> str:
    """Return one of three kinds of events, with objects and lists in objects."""
    customer = f"cus_{d.text(BASE64, 14, 14)}"
    if d.chance(45):
        items = ",".join(
            f'{{"sku":"{d.text("ABCDEFGHJKLMNPRSTUVWXYZ", 2, 3)}-{d.number(1000, 9999)}","quantity":{d.number(1, 6)},"unit_amount":{d.number(99, 49999)}}}'
            for _ in range(d.number(1, 3))
        )
        return (
            f'{{"id":"evt_{d.text(BASE64, 24, 24)}","type":"{d.common(words.EVENT_TYPES)}","created":{d.number(1_640_000_000, 1_760_000_000)},"livemode":true,'
            f'"data":{{"object":{{"customer":{{"id":"{customer}","email":"{email(d)}"}},"currency":"{d.common(["eur", "usd", "gbp", "sek"])}","items":[{items}],'
            f'"status":"{d.one(words.STATES)}"}}}},"request":{{"ip":"{ipv4(d)}","idempotency_key":{d.one(["null", chr(34) + d.hex(32) + chr(34)])}}}}}'
        )
    if d.chance(50):
        readings = ",".join(
            f'{{"sensor":"{d.one(words.SENSORS)}","value":{d.number(-20, 1100)}.{d.number(0, 9)},"quality":"{d.common(["good", "good", "uncertain", "bad"])}"}}'
            for _ in range(d.number(1, 4))
        )
        return (
            f'{{"device":{{"id":"{mac(d)}","model":"TH-{d.number(100, 140)}","firmware":"{d.number(1, 4)}.{d.number(0, 12)}.{d.number(0, 9)}"}},'
            f'"time":"{day(d)}T{clock(d)}Z","battery":{d.number(5, 100)},"rssi":-{d.number(40, 110)},"readings":[{readings}]}}'
        )
    return (
        f'{{"timestamp":"{iso_offset(d)}","actor":{{"type":"{d.common(["user", "service", "admin"])}","name":"{d.one(words.GIVEN_NAMES)}.{d.one(words.FAMILY_NAMES)}",'
        f'"ip":"{ipv4(d)}"}},"action":"{d.common(words.AUDIT_ACTIONS)}","target":{{"kind":"{d.one(words.OBJECTS)}","id":{d.number(1, 9_999_999)}}},'
        f'"result":"{d.common(["success", "success", "failure", "denied"])}","context":{{"service":"{d.one(words.SERVICES)}","env":"{d.one(words.ENVIRONMENTS)}",'
        f'"trace_id":"{d.hex(32)}"}}}}'
    )


def ipv6(d: Dice) -> str:
    """Return an address in canonical form, of a client whose interface has a random number, its MAC address, or a small number."""
    high, low = d.common(words.NETWORKS).split(":")
    network = int(high, 16) << 16 | int(low, 16)
    subnet = d.number(0, 0xFFFF) << 16 | d.one([0, 0, 1, d.number(0, 255), d.number(0, 0xFFFF)])
    if d.chance(65):
        interface = d.bits()
    elif d.chance(60):
        octets = bytes.fromhex(mac(d).replace(":", ""))
        interface = int.from_bytes(
            bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:], "big"
        )
    else:
        interface = d.one([1, 2, d.number(1, 255), d.number(1, 0xFFFF)])
    return str(ipaddress.IPv6Address(network << 96 | subnet << 64 | interface))


def status(d: Dice) -> str:
    """Return a status as several services report it: an object, its state, and often a reason."""
    value = f"{d.one(words.OBJECTS)}.{d.common(words.STATES)}"
    return value + (f":{d.common(words.REASONS)}" if d.chance(60) else "")


# --- people ----------------------------------------------------------------


@dataclass(frozen=True)
class Language:
    """The words of a language, and patterns of sentences with places for them."""

    first_names: list[str]
    last_names: list[str]
    # whole sentences, and sentences that are put together of parts
    sentences: list[str]
    patterns: list[str]
    parts: dict[str, list[str]]

    def name(self, d: Dice) -> str:
        return f"{d.common(self.first_names)} {d.common(self.last_names)}"

    def sentence(self, d: Dice) -> str:
        text = d.one(self.patterns if d.chance(60) else self.sentences)
        for part, entries in self.parts.items():
            text = text.replace(f"{{{part}}}", d.one(entries))
        return text.replace("{name}", self.name(d)).replace("{n}", str(d.number(2, 9000)))


ARABIC = Language(
    words.ARABIC_FIRST_NAMES,
    words.ARABIC_LAST_NAMES,
    words.ARABIC_SENTENCES,
    [
        "{verb} {thing} {adjective} {time}",
        "{verb} {thing} {adjective} من {city} {time} {reason}",
        "{verb} {thing} {time} {reason}",
        "قال {name}: {verb} {thing} {adjective}",
        "{thing} {adjective} في {city} {reason}",
        "{verb} {thing} رقم {n} مع {name} يوم {day}",
    ],
    {
        "verb": words.ARABIC_VERBS,
        "thing": words.ARABIC_THINGS,
        "adjective": words.ARABIC_ADJECTIVES,
        "city": words.ARABIC_CITIES,
        "day": words.ARABIC_DAYS,
        "time": words.ARABIC_TIMES,
        "reason": words.ARABIC_REASONS,
    },
)
HINDI = Language(
    words.HINDI_FIRST_NAMES,
    words.HINDI_LAST_NAMES,
    words.HINDI_SENTENCES,
    [
        "{time} {adjective} {thing} {verb}",
        "{time} {city} से {adjective} {thing} {verb}, {reason}",
        "{reason} {thing} {time} {verb}",
        "{name} ने कहा कि {adjective} {thing} {verb}",
        "{city} में {adjective} {thing} {verb} {reason}",
        "{thing} नंबर {n} {day} को {name} के पास {verb}",
    ],
    {
        "verb": words.HINDI_VERBS,
        "thing": words.HINDI_THINGS,
        "adjective": words.HINDI_ADJECTIVES,
        "city": words.HINDI_CITIES,
        "day": words.HINDI_DAYS,
        "time": words.HINDI_TIMES,
        "reason": words.HINDI_REASONS,
    },
)


def arabic(d: Dice) -> str:
    """Return a full name, or one or two sentences."""
    if d.chance(40):
        # Most names contain that of the father, too.
        father = f"{d.common(words.ARABIC_FIRST_NAMES)} " if d.chance(60) else ""
        return father + ARABIC.name(d)
    return ARABIC.sentence(d) + (f". {ARABIC.sentence(d)}" if d.chance(40) else "")


def hindi(d: Dice) -> str:
    """Return a full name, or one or two sentences."""
    if d.chance(40):
        return HINDI.name(d).replace(" ", " कुमार " if d.chance(30) else " ")
    return HINDI.sentence(d) + (f"। {HINDI.sentence(d)}" if d.chance(40) else "")


def email(d: Dice) -> str:
    given, family = d.one(words.GIVEN_NAMES), d.one(words.FAMILY_NAMES)
    local = d.one([f"{given}.{family}", f"{given[0]}.{family}", f"{given}{d.number(1, 99)}", f"{family}{given[0]}", f"{given}_{family}{d.number(1, 9)}", f"{given}+{d.one(words.SERVICES)}"])  # fmt: skip
    company = f"{d.one(words.COMPANIES)}{d.one(['', '-'])}{d.one(words.COMPANY_KINDS)}.{d.common(words.DOMAINS)}"
    return f"{local}@{d.common(words.FREE_MAIL) if d.chance(50) else company}"


def phone(d: Dice) -> str:
    return d.one(
        [
            f"+49 {d.number(30, 89)} {d.number(1_000_000, 99_999_999)}",
            f"+49 17{d.number(0, 9)} {d.number(1_000_000, 9_999_999)}",
            f"+33 {d.number(1, 7)} {d.number(10, 99)} {d.number(10, 99)} {d.number(10, 99)} {d.number(10, 99)}",
            f"+44 7{d.number(100, 999)} {d.number(100_000, 999_999)}",
            f"+48 {d.number(500, 899)} {d.number(100, 999)} {d.number(100, 999)}",
            f"+1 {d.number(201, 989)} {d.number(200, 999)} {d.number(1000, 9999)}",
        ]
    )


def address(d: Dice) -> str:
    street = d.common(words.GERMAN_STREETS) + d.one(words.GERMAN_STREET_KINDS)
    letter = d.one(["", "", "", "", "a", "b"])
    return f"{street} {d.number(1, 180)}{letter}, {d.number(1067, 99998):05d} {d.common(words.GERMAN_TOWNS)}"


def iban(d: Dice) -> str:
    return f"DE{d.number(10, 98)} " + " ".join(f"{d.number(0, 9999):04d}" for _ in range(4)) + f" {d.number(0, 99):02d}"  # fmt: skip


# --- numbers and identifiers -------------------------------------------------


def iso_offset(d: Dice) -> str:
    return f"{day(d)}T{clock(d)}.{d.number(0, 999):03d}{d.common(ZONES)}"


def mac(d: Dice) -> str:
    tail = d.hex(6)
    return f"{d.common(words.VENDORS)}:{tail[:2]}:{tail[2:4]}:{tail[4:]}"


def money(d: Dice) -> str:
    whole, cents = d.one([d.number(1, 99), d.number(100, 9999), d.number(1000, 999_999)]), d.number(0, 99)  # fmt: skip
    english = f"{whole:,}.{cents:02d}"
    european = english.translate(str.maketrans(",.", ".,"))
    return d.one(
        [f"${english}", f"£{english}", f"{european} €", f"{english} CHF", f"USD {english}"]
    )


def token(d: Dice) -> str:
    return d.text(BASE64 + "-_", 43, 43)


def uuid_path(d: Dice) -> str:
    uuid = f"{d.hex(8)}-{d.hex(4)}-4{d.hex(3)}-{d.one(list('89ab'))}{d.hex(3)}-{d.hex(12)}"
    return f"/{d.common(words.PATH_PARTS)}/{uuid}/{d.one(words.PATH_WORDS)}"


def prefixed_id(d: Dice) -> str:
    return d.one(["cus", "ord", "inv", "pay"]) + "_" + d.text(BASE64, 16, 16)


def version(d: Dice) -> str:
    plain = f"{d.number(0, 12)}.{d.number(0, 40)}.{d.number(0, 25)}"
    suffix = ["", f"-rc.{d.number(1, 5)}", f"+build.{d.number(100, 9999)}", f"-beta.{d.number(1, 9)}", f"-SNAPSHOT-{day(d).replace('-', '')}"]  # fmt: skip
    return plain + d.common(suffix)


def coordinates(d: Dice) -> str:
    return f"{d.number(35, 60)}.{d.number(0, 999_999):06d}, {d.number(-10, 30)}.{d.number(0, 999_999):06d}"


def hostname(d: Dice) -> str:
    kind, site = d.common(words.HOST_KINDS), d.one(words.SITES_OF_HOSTS)
    return d.common(
        [
            f"{kind}-{d.number(1, 40):02d}.{d.one(words.ENVIRONMENTS)}.{site}.{d.common(words.COMPANIES)}.net",
            f"ip-10-{d.number(0, 63)}-{d.number(0, 255)}-{d.number(1, 254)}.{site}.compute.internal",
            f"{d.one(words.SERVICES)}-{d.hex(10)}-{d.text('bcdfghjklmnpqrstvwxz2456789', 5, 5)}",
            f"{kind}{d.number(1, 9)}.{d.common(words.COMPANIES)}-{d.one(words.COMPANY_KINDS)}.{d.common(words.DOMAINS)}",
        ]
    )


def path(d: Dice) -> str:
    directory = d.common(words.DIRECTORIES)
    if directory.endswith("releases"):
        directory += f"/{day(d).replace('-', '')}{clock(d).replace(':', '')}/public"
    return f"{directory}/{day(d).replace('-', '/')}/{d.one(words.FILE_STEMS)}_{d.hex(12)}.{d.common(words.FILE_ENDINGS)}"


def stack_frame(d: Dice) -> str:
    if d.chance(30):
        return f"at {d.one(words.FRAMEWORK_FRAMES)}:{d.number(20, 1400)})"
    name = d.one(words.CLASSES) + d.one(words.CLASS_KINDS)
    return f"at {d.common(words.PACKAGES)}.{name}.{d.one(words.METHODS)}({name}.java:{d.number(15, 700)})"


def counters(name: str) -> tuple[str, ...]:
    """Return the numbers of orders, in order, some of which are missing."""
    d, number, found = Dice(name), 0, []
    for _ in range(COUNT):
        number += d.common([1, 1, 1, 2, 3])
        found.append(f"ORD-{number:06d}")
    return tuple(found)


# --- real ------------------------------------------------------------------


def greek() -> list[str]:
    """Return the Greek messages; names of SQL, which are not translated, are left out."""
    return [message for message in sources.messages("el") if not message.isascii()]


def statements() -> list[str]:
    """Return the statements of PostgreSQL's regression tests that are one line of up to 300 bytes."""
    # A file whose name has a second dot may have another encoding than UTF-8.
    names = [
        name for name in sources.files() if re.fullmatch(r"src/test/regress/sql/\w+\.sql", name)
    ]
    text = sources.pristine("show", "--no-textconv", *(f"pristine:{name}" for name in names))
    found = re.findall(r"^(?:SELECT|INSERT|UPDATE|DELETE|WITH) .{12,290};$", text, re.M | re.I)
    return sources.spread(list(dict.fromkeys(found)), COUNT)


# --- the columns -----------------------------------------------------------

COLUMNS: dict[str, tuple[str, Callable[[str], tuple[str, ...]]]] = {
    "json": ("made", made(json, COUNT)),
    "log": ("made", made(log, COUNT)),
    "user_agent": ("made", made(user_agent, COUNT)),
    "arabic": ("made", made(arabic, COUNT)),
    "greek": ("real", real(greek)),
    "hindi": ("made", made(hindi, COUNT)),
    "ipv6": ("made", made(ipv6, COUNT)),
    "status": ("made", made(status, COUNT)),
    "korean": ("real", real(lambda: sources.messages("ko"))),
    "spanish": ("real", real(lambda: sources.messages("es"))),
    "sql": ("real", real(statements)),
    "email": ("made", made(email, COUNT)),
    "phone": ("made", made(phone, COUNT)),
    "address": ("made", made(address, COUNT)),
    "iban": ("made", made(iban, COUNT)),
    "iso_offset": ("made", made(iso_offset, COUNT)),
    "mac": ("made", made(mac, COUNT)),
    "counter": ("made", counters),
    "money": ("made", made(money, COUNT)),
    "token": ("made", made(token, COUNT)),
    "uuid_path": ("made", made(uuid_path, COUNT)),
    "prefixed_id": ("made", made(prefixed_id, COUNT)),
    "version": ("made", made(version, COUNT)),
    "coordinates": ("made", made(coordinates, COUNT)),
    "hostname": ("made", made(hostname, COUNT)),
    "path": ("made", made(path, COUNT)),
    "stack_frame": ("made", made(stack_frame, COUNT)),
}


@functools.cache
def column(name: str) -> Column:
    kind, values = COLUMNS[name]
    # The mix has columns of the same names, with another seed.
    return Column(name, kind, values(f"held.{name}"))


def columns() -> tuple[Column, ...]:
    return tuple(column(name) for name in COLUMNS)
