"""Make the training text of compact_text's dictionaries from unpacked Debian packages.

A domain is one kind of value that a column may have.  This module makes a list of
values for each domain.  generate writes each list into a file, one value per line,
and train weights the domains.  Packages do not contain some values as such
(addresses, events, lines of a web log).  This module makes such values from words
that packages contain.

The frozen mix of columns that tests the dictionaries (bench/text_mix) uses none of
these packages, and none of the code of this module.  They share only
source_is_held_out(), which says which of them may use a source package.
"""

import gettext
import gzip
import html
import json
import random
import re
import subprocess
import urllib.parse
from pathlib import Path

from bench.text_mix.sources import source_is_held_out

MAX_VALUE = 400


# --- reading files ---------------------------------------------------------

def read(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    for encoding in ("utf-8", "euc-jp", "latin-1"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return ""


def pieces(text):
    """Cut running text into values: sentences or short runs of sentences."""
    text = " ".join(text.split())
    # CJK sentences have no blank between them
    sentences = re.findall(r"[^.!?。！？]*(?:[.!?](?!\s)[^.!?。！？]*)*[.!?。！？]*\s*", text)
    value = ""
    for n, sentence in enumerate(sentences):
        value += sentence
        if len(value.encode()) > 20 + n * 37 % 150:
            yield value.strip()
            value = ""
    if value.strip():
        yield value.strip()


def paragraphs(text):
    for paragraph in re.split(r"\n\s*\n|\n%\n", text):
        yield from pieces(paragraph)


def from_html(text):
    text = re.sub(r"(?is)<(script|style|head|title).*?</\1>", " ", text)
    text = re.sub(r"(?i)</?(p|li|h\d|dt|dd|tr|div|pre|br|title)\b[^>]*>", "\n\n", text)
    return paragraphs(html.unescape(re.sub(r"<[^>]*>", "", text)))


def from_man(text):
    lines = []
    for line in text.splitlines():
        if line.startswith((".\\\"", "'\\\"", ".TH", ".so", ".ie", ".el", ".if", ".de", ".ft", ".nr", ".ta")):
            continue
        if re.match(r"[.'](SH|SS|PP|TP|IP|P|LP|HP|RS|RE|nf|fi|sp|br|Sp)\b", line):
            lines.append("\n")
        line = re.sub(r"^[.'][A-Za-z]{1,2}\b ?", "", line).replace('"', "")
        line = re.sub(r"\\f(\(..|\[.*?\]|.)|\\s[-+]?\d|\\[&|^/,c%:]", "", line)
        line = re.sub(r"\\\(em|\\\(en", "-", line).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
        line = re.sub(r"\\\((..)|\\\[.*?\]|\\\*\(..|\\\*.", "", line)
        lines.append(line)
    return paragraphs("\n".join(lines))


def from_mo(path):
    with open(path, "rb") as file:
        catalog = gettext.GNUTranslations(file)._catalog
    for msgid, text in catalog.items():
        if msgid and isinstance(text, str):
            for line in text.replace("_", "").replace("~", "").split("\n"):
                yield " ".join(line.split())


def strings(text):
    """Yield the string literals of PHP, Perl, Ruby and YAML source."""
    for quoted in re.findall(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"", text):
        yield re.sub(r"\\(['\"/])", r"\1", quoted[0] or quoted[1])


def yaml_items(text):
    for line in text.splitlines():
        line = re.sub(r"^\s*(-|[\w-]+:)\s+", "", line).strip()
        if line.startswith("["):
            yield from (item.strip(" '\"") for item in line.strip("[]").split(","))
        else:
            yield line.strip("'\"")


class Packages:
    """The unpacked packages, each in the directory top/NAME."""

    def __init__(self, top, index):
        self.top = Path(top)
        self.index = index
        self.random = random.Random(20260101)

    def files(self, package, pattern):
        found = sorted(f for f in (self.top / package).rglob(pattern) if f.is_file() and not f.is_symlink())
        if not found:
            raise SystemExit(f"corpus: package {package} has no file {pattern}")
        return [f for f in found if "/share/doc/" + package + "/copyright" not in str(f) and "changelog" not in f.name.lower()]

    def texts(self, package, pattern, how):
        for file in self.files(package, pattern):
            yield from how(read(file))

    def catalogs(self, package, language):
        for file in self.files(package, "*.mo"):
            if f"/{language}/LC_MESSAGES/" in str(file):
                yield from from_mo(file)

    def faker(self, name, language):
        """Return words of php-faker, from a list variable of one of its providers."""
        text = read(self.top / f"php-faker/usr/share/php/Faker/Provider/{language}.php")
        found = re.search(r"static \$" + name + r" = (?:\[|array\()(.*?)(?:\]|\));", text, re.S)
        return list(strings(found.group(1)))

    def novel(self, language):
        text = read(self.top / f"php-faker/usr/share/php/Faker/Provider/{language}/Text.php")
        body = text.split("<<<'EOT'", 1)[-1] if "<<<'EOT'" in text else text.split("<<<", 1)[-1]
        return paragraphs(body)

    def ffaker(self, name):
        return [w for f in self.files("ruby-ffaker", name.split("/")[-1]) if str(f).endswith("/data/" + name)
                for w in read(f).split("\n") if w]

    def locale(self, name):
        gems = self.top / "ruby-faker/usr/share/rubygems-integration/all/gems"
        for file in sorted(gems.glob("*/lib/locales/" + name)):
            yield from yaml_items(read(file))


# --- values that are made from words ---------------------------------------

def person_names(p):
    first = p.faker("firstNameMale", "en_US/Person") + p.faker("firstNameFemale", "en_US/Person") + p.ffaker("name/first_names_female") + p.ffaker("name/first_names_male")
    last = p.faker("lastName", "en_US/Person") + p.ffaker("name/last_names")
    r = p.random
    for name in first + last:
        yield name
    # the frequency of names follows a power law, but the lists do not say which names are common
    real = sorted({re.sub(r" <.*", "", m) for m in p.index["maintainer"] if " " in m and "Team" not in m})
    yield from real
    given = [n.split()[0] for n in real]
    for _ in range(12000):
        yield f"{r.choice(given if r.random() < 0.5 else first)} {r.choice(last)}"


def emails(p):
    first = p.faker("firstNameMale", "en_US/Person") + p.faker("firstNameFemale", "en_US/Person")
    last = p.faker("lastName", "en_US/Person")
    words = [w.lower() for w in p.locale("en/company.yml") if w.isalpha()]
    free = p.faker("freeEmailDomain", "Internet") + ["aol.com", "icloud.com", "outlook.com", "web.de", "gmx.de", "live.com"]
    tlds = ["com", "com", "com", "org", "net", "co.uk", "de", "fr", "io", "edu"]
    r = p.random
    for m in p.index["maintainer"]:
        yield re.sub(r".*<(.*)>.*", r"\1", m)
    for _ in range(15000):
        a, b = r.choice(first).lower(), r.choice(last).lower()
        local = r.choice([f"{a}.{b}", f"{a}.{b}", f"{a}{b}", f"{a[0]}{b}", f"{a}_{b}", a, f"{a}{r.randrange(100)}", f"{b}.{a}",
                          f"{a}.{b}{r.randrange(1960, 2010)}", "info", "sales", "support", "contact"])
        domain = r.choice(free) if r.random() < 0.5 else \
            r.choice([r.choice(words), b, r.choice(words) + r.choice(["", "-"]) + r.choice(words), "example", "mail." + r.choice(words)]) \
            + "." + r.choice(tlds)
        yield f"{local}@{domain}"


def addresses(p):
    last = p.faker("lastName", "en_US/Person") + ["Oak", "Maple", "Cedar", "Pine", "Elm", "Park", "Lake", "Hill", "Main", "Church",
                                                "Washington", "Second", "3rd", "5th", "12th", "High", "Mill", "River", "Spring"] * 25
    suffix = [s for s in p.faker("streetSuffix", "en_US/Address")]
    common = ["Street", "St", "St.", "Avenue", "Ave", "Ave.", "Road", "Rd", "Rd.", "Drive", "Dr", "Lane", "Ln", "Court", "Blvd", "Boulevard",
              "Way", "Place", "Circle"]
    states = p.faker("stateAbbr", "en_US/Address")
    cities = city_names(p)
    r = p.random
    for _ in range(15000):
        street = f"{r.randrange(1, 10 ** r.choice([2, 3, 4, 5]))} {r.choice(['', '', '', 'N ', 'S ', 'West ', 'E. '])}{r.choice(last)} " \
            f"{r.choice(common if r.random() < 0.7 else suffix)}"
        if r.random() < 0.2:
            street += r.choice([" Apt. ", ", Apt ", " Suite ", ", Suite ", " #", ", Unit "]) + str(r.randrange(1, 900))
        if r.random() < 0.3:
            street += f", {r.choice(cities)}, {r.choice(states)} {r.randrange(1000, 99999):05d}"
        yield street


def city_names(p):
    cities = re.findall(r"Name\s*: (.+)", read(p.files("miscfiles", "cities.dat.gz")[0]))
    places = [re.sub(r"^[A-Z]{3}\s+", "", a).split(",")[0].strip()
              for a in read(p.files("miscfiles", "airport.gz")[0]).splitlines()]
    return cities + [c for c in places if c.istitle()]


def made_cities(p):
    first = p.faker("firstNameMale", "en_US/Person") + p.faker("lastName", "en_US/Person")
    prefix, suffix = p.faker("cityPrefix", "en_US/Address"), p.faker("citySuffix", "en_US/Address")
    r = p.random
    yield from city_names(p)
    yield from p.locale("en/address.yml")
    for _ in range(6000):
        yield r.choice([f"{r.choice(first)}{r.choice(suffix)}", f"{r.choice(first)}{r.choice(suffix)}", f"{r.choice(prefix)} {r.choice(first)}",
                        r.choice(first) + r.choice([" City", " Springs", " Beach", " Park", " Falls", " Valley", " Heights", " Hills", " Grove"]),
                        r.choice(["San ", "Santa ", "Fort ", "Los ", "Saint ", "St. ", "El ", "Mount ", "Grand ", "Cedar ", "Lake ", "Oak "]) + r.choice(first)])


def web_paths(p):
    """Yield paths and whole URLs, as a web log has them."""
    words = [w.lower() for n in ("commerce", "company", "hobby", "food", "device", "appliance", "sport", "verbs")
             for w in p.locale(f"en/{n}.yml") if w.isalpha()]
    hosts = sorted({urllib.parse.urlsplit(h).netloc for h in p.index["homepage"]})
    extensions = [".html", ".php", ".js", ".css", ".png", ".jpg", ".gif", ".svg", ".aspx", ".xml", ".json", "/", ""]
    folders = ["images", "static", "assets", "api", "v1", "v2", "blog", "news", "category", "tag", "user", "users", "login", "search", "cart",
               "checkout", "product", "products", "shop", "account", "admin", "wp-content", "uploads", "themes", "plugins", "css", "js", "img",
               "media", "files", "docs", "download", "en", "de", "about", "contact", "feed", "archive", "item", "items", "orders", "page"]
    keys = ["id", "q", "page", "utm_source", "utm_medium", "utm_campaign", "ref", "sort", "lang", "category", "limit", "offset", "session",
            "token", "v", "query", "type", "filter", "p"]
    values = ["google", "newsletter", "cpc", "email", "organic", "asc", "desc", "price", "en", "date", "name", "facebook", "true", "1", "2"]
    r = p.random
    for _ in range(24000):
        path = "".join("/" + (r.choice(folders) if r.random() < 0.6 else "-".join(r.choices(words, k=r.choice([1, 1, 2, 3]))))
                       for _ in range(r.choice([1, 2, 2, 3, 3, 4])))
        if r.random() < 0.3:
            path += "/" + str(r.randrange(10 ** r.choice([2, 3, 4, 5, 6])))
        path += r.choice(extensions)
        if r.random() < 0.35:
            path += "?" + "&".join(r.choice(keys) + "=" + (r.choice(values + words[:50]) if r.random() < 0.6 else str(r.randrange(5000)))
                                   for _ in range(r.choice([1, 1, 2, 3])))
        kind = r.random()
        if kind < 0.5:
            yield path
        elif kind < 0.6:
            yield f"https://www.google.{r.choice(['com', 'de', 'co.uk', 'fr', 'co.jp'])}/" + r.choice(["", "search?q=" + "+".join(r.choices(words, k=3))])
        elif kind < 0.7:
            yield r.choice(["https://www.bing.com/", "https://duckduckgo.com/", "https://www.facebook.com/", "https://t.co/", "https://www.reddit.com/r/",
                            "https://twitter.com/", "https://www.linkedin.com/", "https://m.facebook.com/", "android-app://com.google.android.googlequicksearchbox/",
                            "https://www.youtube.com/watch?v=", "https://en.wikipedia.org/wiki/", "https://news.ycombinator.com/item?id=",
                            "https://search.yahoo.com/", "https://yandex.ru/", "https://www.baidu.com/link?url="]) \
                + r.choice(["", "", r.choice(words), str(r.randrange(10 ** 7))])
        else:
            yield r.choice(["https://", "https://www.", "http://"]) + \
                (r.choice(hosts) if r.random() < 0.4 else r.choice(words) + r.choice([".com", ".org", ".net", ".de", ".example.com", ".io"])) + path


def user_agents(p):
    r = p.random
    yield from (s for s in p.locale("en/internet.yml") if s.startswith("Mozilla"))
    for file in p.files("fail2ban", "apache-*"):
        yield from re.findall(r'"([A-Z][a-z]+/\d[^"]*)"', read(file))
    windows = ["Windows NT 10.0; Win64; x64", "Windows NT 6.1; Win64; x64", "Windows NT 10.0; WOW64", "Windows NT 6.1", "Windows NT 6.3; Win64; x64"]
    for _ in range(6000):
        chrome = f"{r.randrange(60, 140)}.0." + r.choice(["0.0", "0.0", f"{r.randrange(3000, 7000)}.{r.randrange(200)}"])
        mac = f"Macintosh; Intel Mac OS X 10_{r.randrange(11, 16)}_{r.randrange(8)}"
        webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"
        safari = f"AppleWebKit/{r.choice(['605.1.15', '604.1', '601.3.9'])} (KHTML, like Gecko)"
        ios = f"{r.randrange(11, 18)}_{r.randrange(8)}"
        firefox = f"{r.randrange(52, 135)}.0"
        android = f"Linux; Android {r.randrange(6, 15)}; " + r.choice(["K", f"SM-{r.choice('AGSN')}{r.randrange(100, 999)}{r.choice('FUBN')}", "Pixel " + str(r.randrange(2, 9)),
                                                                       f"Redmi Note {r.randrange(7, 13)}", f"moto g({r.randrange(5, 9)})"])
        yield r.choice([
            f"Mozilla/5.0 ({r.choice(windows)}) {webkit} Chrome/{chrome} Safari/537.36",
            f"Mozilla/5.0 ({r.choice(windows)}) {webkit} Chrome/{chrome} Safari/537.36 Edg/{chrome}",
            f"Mozilla/5.0 ({mac}) {webkit} Chrome/{chrome} Safari/537.36",
            f"Mozilla/5.0 ({mac}) {safari} Version/{r.randrange(11, 18)}.{r.randrange(7)} Safari/605.1.15",
            f"Mozilla/5.0 (X11; Linux x86_64) {webkit} Chrome/{chrome} Safari/537.36",
            f"Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:{firefox}) Gecko/20100101 Firefox/{firefox}",
            f"Mozilla/5.0 ({r.choice(windows)}; rv:{firefox}) Gecko/20100101 Firefox/{firefox}",
            f"Mozilla/5.0 ({android}) {webkit} Chrome/{chrome} Mobile Safari/537.36",
            f"Mozilla/5.0 (iPhone; CPU iPhone OS {ios} like Mac OS X) {safari} Version/{ios.replace('_', '.')} Mobile/15E148 Safari/604.1",
            f"Mozilla/5.0 (iPad; CPU OS {ios} like Mac OS X) {safari} Mobile/15E148",
            f"Mozilla/5.0 (compatible; {r.choice(['Googlebot/2.1; +http://www.google.com/bot.html', 'bingbot/2.0; +http://www.bing.com/bingbot.htm', 'YandexBot/3.0; +http://yandex.com/bots', 'AhrefsBot/7.0; +http://ahrefs.com/robot/', 'SemrushBot/7~bl; +http://www.semrush.com/bot.html'])})",
            f"Mozilla/4.0 (compatible; MSIE {r.randrange(6, 10)}.0; {r.choice(windows)}; Trident/{r.randrange(4, 7)}.0)",
            f"curl/7.{r.randrange(50, 90)}.{r.randrange(3)}", f"python-requests/2.{r.randrange(18, 32)}.{r.randrange(3)}",
            "Go-http-client/1.1", f"okhttp/{r.randrange(3, 5)}.{r.randrange(13)}.{r.randrange(3)}", f"Wget/1.{r.randrange(15, 22)}",
            f"PostmanRuntime/7.{r.randrange(20, 37)}.{r.randrange(5)}", f"Apache-HttpClient/4.5.{r.randrange(14)} (Java/1.8.0_{r.randrange(100, 400)})"])


def json_values(p):
    """Yield parts of JSON files, and events as applications write them."""
    r = p.random

    def parts(value):
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(value, separators=separators, ensure_ascii=False)
        if 10 < len(text) <= MAX_VALUE:
            yield json.dumps(value, separators=r.choice([(",", ":"), (", ", ": ")]), ensure_ascii=False)
        for child in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
            if isinstance(child, (dict, list)):
                yield from parts(child)

    models = p.files("python3-botocore", "*.json")
    for file in models[::40]:
        found = list(parts(json.loads(read(file))))
        yield from found[:: max(1, len(found) // 60)]
    words = [w for n in ("commerce", "hacker", "verbs", "color", "device", "emotion", "job") for w in p.locale(f"en/{n}.yml") if w]
    tokens = ["id", "name", "type", "status", "value", "count", "time", "date", "user", "event", "source", "target", "message", "code", "error",
              "data", "item", "order", "product", "price", "amount", "total", "currency", "quantity", "session", "device", "version", "page", "url",
              "path", "method", "host", "ip", "country", "city", "lang", "level", "duration", "title", "category", "tags", "enabled", "key", "email",
              "phone", "address", "state", "zip", "created", "updated", "result", "reason", "customer", "account", "payment", "account", "client",
              "request", "response", "size", "position", "score", "browser", "os", "platform", "referrer", "agent", "action", "label", "index"]
    styles = [lambda a, b: a, lambda a, b: a, lambda a, b: f"{a}_{b}", lambda a, b: a + b.title(), lambda a, b: a + "_id", lambda a, b: a + "_at",
              lambda a, b: a + "Id"]
    short = ["ok", "active", "pending", "failed", "success", "completed", "web", "mobile", "ios", "android", "click", "view", "login", "logout",
             "purchase", "en", "US", "GET", "POST", "info", "warning", "error", "USD", "EUR", "desktop", "chrome", "new", "admin", "guest"]

    def scalar():
        k = r.random()
        if k < 0.3:
            return r.randrange(10 ** r.choice([1, 2, 3, 4, 5, 6]))
        if k < 0.38:
            return round(r.random() * 1000, 2)
        if k < 0.46:
            return r.choice([True, False, None])
        if k < 0.56:
            return f"20{r.randrange(15, 30)}-{r.randrange(1, 13):02d}-{r.randrange(1, 29):02d}T{r.randrange(24):02d}:{r.randrange(60):02d}:{r.randrange(60):02d}" \
                + r.choice(["Z", ".%03dZ" % r.randrange(1000), "+00:00"])
        if k < 0.62:
            return "%08x-%04x" % (r.getrandbits(32), r.getrandbits(16))
        if k < 0.66:
            return ".".join(str(r.randrange(256)) for _ in range(4))
        if k < 0.86:
            return r.choice(short)
        return r.choice(words)

    def record(depth):
        return {r.choice(styles)(r.choice(tokens), r.choice(tokens)):
                record(0) if depth and r.random() < 0.15 else [scalar() for _ in range(r.randrange(4))] if r.random() < 0.05 else scalar()
                for _ in range(r.choice([2, 3, 4, 5, 6, 7]))}

    for _ in range(9000):
        yield json.dumps(record(1), separators=r.choice([(",", ":"), (", ", ": ")]))


def log_lines(p):
    logs = p.top / "fail2ban/usr/lib/python3/dist-packages/fail2ban/tests/files/logs"
    r = p.random
    real = [line for f in sorted(logs.rglob("*")) if f.is_file() for line in read(f).splitlines() if line and line[0] != "#"]
    yield from real
    messages = [m for m in list(p.catalogs("gnucash-common", "en_GB")) + list(p.catalogs("libc-l10n", "en_GB")) if 15 < len(m) < 90]
    nouns = ["connection", "request", "session", "user", "job", "worker", "cache", "queue", "transaction", "file", "service", "task", "thread",
             "message", "client", "server", "database", "query", "table", "disk", "memory", "timeout", "token", "process", "node", "backup"]
    verbs = ["started", "stopped", "failed", "completed", "received", "closed", "opened", "created", "deleted", "updated", "rejected", "accepted",
             "timed out", "not found", "retrying", "exceeded limit", "finished", "loaded", "skipped", "initialized"]
    modules = ["main", "http", "db", "auth", "scheduler", "com.example.app.Service", "org.apache.catalina.core", "worker", "api", "kernel", "sshd",
               "systemd", "nginx", "postfix/smtpd", "cron", "CRON", "django.request", "org.springframework.boot.web", "net.http", "root"]
    for _ in range(12000):
        date = f"20{r.randrange(15, 30)}-{r.randrange(1, 13):02d}-{r.randrange(1, 29):02d}"
        time = f"{r.randrange(24):02d}:{r.randrange(60):02d}:{r.randrange(60):02d}"
        level = r.choice(["INFO", "INFO", "WARN", "ERROR", "DEBUG", "LOG", "NOTICE", "WARNING", "FATAL", "info", "error"])
        text = r.choice([f"{r.choice(nouns)} {r.randrange(10 ** r.choice([2, 3, 4, 5]))} {r.choice(verbs)}", r.choice(messages),
                         f"{r.choice(nouns)} {r.choice(verbs)} in {r.randrange(5000)} ms", f"{r.choice(nouns)} {r.choice(verbs)}: {r.choice(nouns)} {r.choice(verbs)}",
                         f"{r.choice(nouns)}={r.randrange(1000)} {r.choice(nouns)}={r.randrange(1000)} duration={r.randrange(1000)}ms",
                         f"{r.choice(nouns).title()} {r.choice(verbs)} for user {r.choice(nouns)}{r.randrange(100)} from 10.{r.randrange(256)}.{r.randrange(256)}.{r.randrange(256)} port {r.randrange(1024, 65536)}"])
        yield r.choice([f"{date} {time}.{r.randrange(1000):03d} {level} [{r.choice(modules)}] {text}",
                        f"{date} {time},{r.randrange(1000):03d} {level} {r.choice(modules)}: {text}",
                        f"{date}T{time}Z {level} {r.choice(modules)} {text}", f"[{date} {time}] {r.choice(modules)}.{level}: {text}",
                        f"{date} {time} UTC [{r.randrange(100000)}] {level}:  {text}", f"{level}: {text}", text, f"[{level}] {text}",
                        f"{r.choice(['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'])} {r.randrange(1, 31):2d} {time} host{r.randrange(10)} {r.choice(modules)}[{r.randrange(65536)}]: {text}"])


def products(p):
    r = p.random
    words = {n: [w for w in p.locale(f"en/{n}.yml") if w and w[0].isupper() and len(w) < 30] for n in
             ("commerce", "appliance", "device", "food", "color", "computer", "camera", "vehicle", "house", "electrical_components", "beer", "coffee", "tea")}
    everything = [w for v in words.values() for w in v]
    nouns = ["Case", "Cover", "Cable", "Charger", "Set", "Kit", "Pack", "Bag", "Shirt", "Shoes", "Lamp", "Table", "Chair", "Battery", "Adapter", "Bottle",
             "Headphones", "Speaker", "Mouse", "Keyboard", "Monitor", "Phone", "Watch", "Toy", "Book", "Filter", "Brush", "Holder", "Light", "Jacket",
             "Camera", "Printer", "Knife", "Mug", "Pillow", "Blanket", "Organizer", "Stand", "Mat", "Gloves", "Hat", "Dress", "Socks", "Wallet"]
    adj = ["Black", "White", "Blue", "Red", "Large", "Small", "Medium", "Stainless Steel", "Wireless", "Portable", "Premium", "Professional", "Classic",
           "Mini", "Cotton", "Leather", "Wooden", "Waterproof", "Electric", "Digital", "USB", "LED", "Men's", "Women's", "Kids", "Heavy Duty", "Organic"]
    for _ in range(10000):
        title = " ".join([r.choice(everything)] * (r.random() < 0.6) + r.choices(adj, k=r.choice([1, 1, 2])) + [r.choice(nouns)])
        title += r.choice(["", "", "", f", {r.choice(adj)}", f" - {r.randrange(2, 13)} Pack", f" ({r.randrange(2, 100)} Pieces)", f" for {r.choice(everything)}",
                           f", {r.randrange(1, 64)} oz", f" {r.randrange(5, 200)}cm", f" with {r.choice(nouns)}"])
        yield title
    for n in words:
        yield from words[n]


def novel_speech(p):
    """Yield text in the first and second person, as notes and reviews have it and manuals do not."""
    yield from p.novel("en_US")
    yield from p.texts("fortunes", "*", lambda t: paragraphs(t) if "\0" not in t else ())
    subjects = ["I", "We", "The customer", "Customer", "She", "He", "They", "My wife", "You", "It", "This", "The item", "The order", "Client", "The package"]
    verbs = ["called", "was", "is", "has been", "would like", "wants", "asked for", "received", "arrived", "works", "love", "bought", "ordered", "sent",
             "needs", "will", "did not", "doesn't", "can't", "paid", "returned", "requested", "liked", "recommend", "am very happy with", "spoke to"]
    rest = ["a refund", "the invoice", "to be called back", "on time", "very well", "as described", "perfectly", "the delivery", "about the price", "late",
            "a discount", "the product", "the quality", "great", "easy to use", "by email", "by phone", "next week", "tomorrow", "yesterday", "the manager",
            "excellent", "good value for the money", "disappointed", "broken", "for my husband", "again", "not working", "too small", "the shipping address",
            "please", "thank you", "urgent", "an appointment", "a meeting", "the contract", "payment", "no problems", "so far", "highly recommended"]
    r = p.random
    for _ in range(8000):
        yield r.choice([" ", ", ", ". ", " and "]).join(
            f"{r.choice(subjects)} {r.choice(verbs)} {r.choice(rest)}" for _ in range(r.choice([1, 1, 2]))) + r.choice([".", "!", "", ""])


def codes_and_words(p):
    """Yield values of enumerations, versions and identifiers."""
    r = p.random
    words = [w.lower() for n in ("hacker", "verbs", "commerce", "device") for w in p.locale(f"en/{n}.yml") if w.isalpha()]
    status = ["active", "inactive", "pending", "completed", "cancelled", "canceled", "failed", "open", "closed", "new", "processing", "shipped",
              "delivered", "returned", "refunded", "approved", "rejected", "draft", "published", "archived", "enabled", "disabled", "paid", "unpaid",
              "on hold", "in progress", "done", "error", "success", "unknown", "expired", "suspended", "deleted", "low", "medium", "high", "normal",
              "critical", "yes", "no", "true", "false", "none", "other", "default", "male", "female", "admin", "user", "guest", "standard", "premium"]
    for s in status:
        yield from (s, s.upper(), s.title(), s.replace(" ", "_"), s.upper().replace(" ", "_"))
    for _ in range(6000):
        yield r.choice([f"{r.choice(words)}_{r.choice(words)}", f"{r.choice(words)}.{r.choice(words)}", f"{r.choice(words)}-{r.choice(words)}",
                        f"{r.choice(words).upper()}_{r.choice(words).upper()}", f"{r.choice(words)}{r.choice(words).title()}",
                        f"{r.choice('ABCDEFGHJKLMNPRSTUVWX')}{r.choice('ABCDEFGHJKLMNPRSTUVWX')}-{r.randrange(10 ** 5):05d}",
                        f"{r.choice(['ORD', 'INV', 'SKU', 'PO', 'REF', 'CUST', 'TX', 'ITEM', 'US', 'DE'])}-{r.randrange(10 ** 6)}",
                        f"v{r.randrange(10)}.{r.randrange(20)}.{r.randrange(20)}", f"{r.randrange(10)}.{r.randrange(20)}.{r.randrange(20)}-{r.choice(['rc1', 'beta', '1', 'alpha.1'])}"])


def media_types(p):
    for line in read(p.files("media-types", "mime.types")[0]).splitlines():
        if line and line[0] != "#":
            yield line.split()[0]


def file_paths(p):
    for package in sorted(f for f in p.top.iterdir() if f.is_dir()):
        # take only some files, so that no package with thousands of help pages dominates
        files = sorted(f.relative_to(package) for f in package.rglob("*") if f.is_file())
        yield from ("/" + str(f) for f in files[:: len(files) // 150 + 1])
    r = p.random
    words = [w.lower() for n in ("hacker", "commerce", "device", "job", "music") for w in p.locale(f"en/{n}.yml") if w.isalpha()]
    roots = ["/home/{}/", "/var/log/", "/var/lib/", "/etc/", "/opt/", "/srv/www/", "/tmp/", "C:\\Users\\{}\\Documents\\", "C:\\Program Files\\", "/mnt/data/",
             "/Users/{}/Downloads/", "/usr/lib/python3/dist-packages/", "/usr/include/", "/usr/lib/x86_64-linux-gnu/", "/usr/bin/", "/usr/share/"]
    ext = ["txt", "pdf", "log", "conf", "jpg", "png", "docx", "xlsx", "csv", "py", "c", "h", "so", "xml", "json", "html", "js", "tar.gz", "zip", "sh", "java"]
    for _ in range(8000):
        root = r.choice(roots).format(r.choice(words))
        yield root + ("\\" if "\\" in root else "/").join(r.choices(words, k=r.choice([1, 2, 3]))) + "." + r.choice(ext)


def japanese_addresses(p):
    zipcode = read(p.files("skkdic-extra", "SKK-JISYO.zipcode")[0])
    r = p.random
    places = re.findall(r"^\d{7} /([^/;]*)", zipcode, re.M)
    towns = [t for t in (re.sub(r".*?[都道府県].*?[市区郡](.{1,3}区)?", "", p) for p in places) if 1 < len(t) < 5]
    for place in places:
        if r.random() < 0.3:
            if r.random() < 0.5:
                # most people live in cities, so make the address one in a city
                city = re.match(r"(?:東京都|北海道|(?:京都|大阪)府|.{2,3}県).{1,6}?[市区](?:.{1,3}区)?", place)
                place = city.group(0) + r.choice(towns) if city else place
            yield place + r.choice(["", f"{r.randrange(1, 9)}-{r.randrange(1, 30)}-{r.randrange(1, 30)}", f"{r.randrange(1, 9)}丁目{r.randrange(1, 40)}番{r.randrange(1, 30)}号",
                                    f"{r.randrange(1, 3000)}番地", f"{r.randrange(1, 400)}-{r.randrange(1, 20)}", f"{r.randrange(1, 9)}丁目{r.randrange(1, 30)}-{r.randrange(1, 20)}"])


def japanese_words(p):
    r = p.random
    nouns = []
    for name in ("Noun.csv", "Noun.verbal.csv", "Noun.place.csv", "Noun.name.csv", "Noun.org.csv", "Noun.adjv.csv", "Adverb.csv", "Adj.csv", "Verb.csv"):
        words = [line.split(",")[0] for line in read(p.files("mecab-ipadic", name)[0]).splitlines()]
        nouns += words[::4]
    endings = ["です。", "ます。", "しました。", "してください。", "ください", "について", "の件", "いたします。", "お願いします。", "がありました。", "できません。", "と思います。",
               "でした。", "のため", "から", "まで", "により", "確認", "中", "済み", "予定", "希望", "連絡", "ありがとうございます。", "ません。", "ている。", "とのこと。", "！", "？"]
    particles = ["は", "が", "を", "に", "の", "の", "と", "で", "も", "、", "へ"]
    for w in r.sample(nouns, 12000):
        yield w + r.choice(particles) + r.choice(nouns) + r.choice(endings)


def common_characters():
    """Yield every character of the common sets a few times, so that no character is left out."""
    for encoding, first, last in (("euc_jp", 0xB0, 0xCF), ("gb2312", 0xB0, 0xD7), ("euc_kr", 0xB0, 0xC8), ("big5", 0xA4, 0xC6)):
        for row in range(first, last + 1):
            text = "".join(bytes([row, c]).decode(encoding, "ignore") for c in range(0xA1, 0xFF))
            for i in range(0, len(text), 16):
                yield text[i:i + 16]


def ascii_in_cjk(p):
    """Yield dates and codes, which the CJK manuals do not contain, unlike other ASCII text."""
    r = p.random
    for _ in range(3000):
        yield r.choice([f"{r.randrange(2000, 2030)}年{r.randrange(1, 13)}月{r.randrange(1, 29)}日", f"{r.randrange(1, 13)}月{r.randrange(1, 29)}日",
                        f"{r.randrange(24)}:{r.randrange(60):02d}", f"{r.randrange(100, 100000):,}円", f"No.{r.randrange(10000)}", f"〒{r.randrange(1000):03d}-{r.randrange(10000):04d}",
                        f"{r.randrange(2000, 2030)}/{r.randrange(1, 13):02d}/{r.randrange(1, 29):02d}", f"０{r.randrange(1, 9)}", f"第{r.randrange(100)}回", f"{r.randrange(1, 100)}個"])


def cyrillic_made(p):
    r = p.random
    male, last = p.faker("firstNameMale", "ru_RU/Person"), p.faker("lastName", "ru_RU/Person")
    middle = p.faker("middleNameMale", "ru_RU/Person")
    cities = p.faker("city", "ru_RU/Address")
    streets = p.faker("street", "ru_RU/Address")
    for _ in range(6000):
        yield r.choice([f"{r.choice(last)} {r.choice(male)} {r.choice(middle)}", f"{r.choice(male)} {r.choice(last)}",
                        f"ул. {r.choice(streets)}, д. {r.randrange(1, 200)}, кв. {r.randrange(1, 300)}", f"г. {r.choice(cities or last)}, ул. {r.choice(streets)}, {r.randrange(1, 150)}"])
    subjects = ["Клиент", "Заказ", "Покупатель", "Мы", "Я", "Товар", "Оплата", "Доставка", "Менеджер", "Документы", "Счёт", "Договор"]
    verbs = ["просит", "получил", "отправлен", "не пришёл", "позвонил", "будет", "готов", "ждёт", "хочет", "подтвердил", "отменён", "принят", "оплачен", "нужно"]
    rest = ["перезвонить", "завтра", "до конца недели", "по телефону", "спасибо", "возврат", "срочно", "на складе", "новый адрес", "очень хорошо", "рекомендую",
            "качество отличное", "в понедельник", "скидку", "после обеда", "пожалуйста", "без проблем", "курьером", "информацию", "с задержкой"]
    for _ in range(4000):
        yield f"{r.choice(subjects)} {r.choice(verbs)} {r.choice(rest)}" + r.choice([".", "", ", " + r.choice(rest) + "."])


def help_pages(p, language):
    for package in ("gnome-user-docs", "evolution-common"):
        for file in p.files(package, "*.page"):
            if f"/help/{language}/" in str(file):
                yield from from_html(re.sub(r"(?s)<info>.*?</info>", "", read(file)))


def stories(p, language):
    """Yield what people say to each other in games."""
    for package in ("wesnoth-1.16-data", "freeciv-data"):
        for text in p.catalogs(package, language):
            yield from pieces(text)


def catalogs(p, language, libreoffice, others):
    yield from p.catalogs("libreoffice-l10n-" + libreoffice, language)
    for package in others:
        yield from p.catalogs(package, language)


def notes_in(p, subjects, verbs, rest):
    r = p.random
    for _ in range(5000):
        yield f"{r.choice(subjects)} {r.choice(verbs)} {r.choice(rest)}" + r.choice([".", "", ", " + r.choice(rest) + ".", "!"])


GERMAN = (["Kunde", "Der Kunde", "Wir", "Ich", "Die Lieferung", "Rechnung", "Die Ware", "Bestellung", "Das Paket", "Frau Müller", "Herr", "Termin"],
          ["hat", "ist", "wurde", "möchte", "bittet um", "wartet auf", "haben", "sind", "wird", "konnte nicht", "benötigt", "wünscht", "soll", "kommt"],
          ["Rückruf", "bestellt", "geliefert", "angekommen", "nächste Woche", "am Montag", "die Rechnung", "per E-Mail", "bezahlt", "sehr zufrieden", "nicht erreicht",
           "ein Angebot", "defekt", "zurückgeschickt", "gut", "schnell", "empfehlenswert", "vielen Dank", "dringend", "eine neue Adresse", "verschoben", "vereinbart"])
FRENCH = (["Le client", "La cliente", "Nous", "Je", "La livraison", "La facture", "Le colis", "La commande", "Le produit", "Madame", "Monsieur", "Rendez-vous"],
          ["a", "est", "a été", "souhaite", "demande", "attend", "avons", "sera", "doit", "n'a pas", "était", "voudrait", "ne peut pas"],
          ["rappeler", "commandé", "livré", "arrivé", "la semaine prochaine", "lundi", "la facture", "par courriel", "payé", "très satisfait", "un devis",
           "un remboursement", "endommagé", "retourné", "bonne qualité", "rapide", "je recommande", "merci", "urgent", "l'adresse", "reporté", "avec le client"])


# --- the three dictionaries ------------------------------------------------

def domains_latin(p):
    manuals = [v for package in ("manpages",) for v in p.texts(package, "man[1-9]/*.gz", from_man)]
    manuals += list(p.texts("developers-reference", "*.html", from_html)) + list(p.texts("debian-faq", "*.html", from_html))
    manuals += list(p.texts("apache2-doc", "mod*.html", from_html))[::2] + list(p.catalogs("gnucash-common", "en_GB"))
    return {
        "descriptions": (2.0, p.index["description"]),
        "homepages": (1.4, p.index["homepage"]),
        "packages": (0.6, p.index["package"]),
        "names": (1.7, person_names(p)),
        "emails": (1.4, emails(p)),
        "addresses": (1.0, addresses(p)),
        "cities": (1.4, made_cities(p)),
        "web_paths": (1.8, web_paths(p)),
        "user_agents": (0.5, user_agents(p)),
        "json": (1.6, json_values(p)),
        "log_lines": (1.5, log_lines(p)),
        "products": (0.9, products(p)),
        "speech": (2.4, novel_speech(p)),
        "manuals": (1.6, manuals),
        "words": (1.0, codes_and_words(p)),
        "media_types": (0.4, media_types(p)),
        "file_paths": (0.9, file_paths(p)),
        "words_en": (0.6, [w for n in ("job", "company", "food", "movie", "music", "university", "hobby", "restaurant", "sport", "book", "quote", "marketing", "bank")
                           for w in p.locale(f"en/{n}.yml")]),
        "countries": (0.02, [c["name"] for f in p.files("iso-codes", "iso_3166-1.json") for c in json.loads(read(f))["3166-1"]]),
        "german": (0.8, [*p.novel("de_DE"), *catalogs(p, "de", "de", ("evolution-common", "gnucash-common", "libc-l10n")),
                         *p.texts("developers-reference-de", "*.html", from_html), *list(p.texts("manpages-de", "man[1-9]/*.gz", from_man))[::6],
                         *help_pages(p, "de"),
                         *p.texts("fortunes-de", "*", lambda t: paragraphs(t) if "\0" not in t else ())]),
        "german_stories": (0.5, stories(p, "de")),
        "german_notes": (0.15, notes_in(p, *GERMAN)),
        "french": (0.8, [*p.novel("fr_FR"), *catalogs(p, "fr", "fr", ("evolution-common", "gnucash-common", "libc-l10n")),
                         *p.texts("developers-reference-fr", "*.html", from_html), *list(p.texts("manpages-fr", "man[1-9]/*.gz", from_man))[::6],
                         *help_pages(p, "fr")]),
        "french_stories": (0.5, stories(p, "fr")),
        "french_notes": (0.15, notes_in(p, *FRENCH)),
        "spanish": (0.4, [*p.novel("es_ES"), *catalogs(p, "es", "es", ("evolution-common",))]),
        "italian": (0.25, list(catalogs(p, "it", "it", ("evolution-common",)))),
        "portuguese": (0.25, [*p.novel("pt_BR"), *p.catalogs("evolution-common", "pt_BR")]),
        "other_latin": (0.3, [v for lang in ("nl", "pl", "sv", "cs", "hu", "tr", "da", "fi", "ro", "vi")
                              for v in list(p.catalogs("evolution-common", lang))[::6]]),
    }


def domains_cjk(p):
    ja_manuals = [*list(p.texts("manpages-ja", "man[1-9]/*.gz", from_man))[::3], *p.texts("developers-reference-ja", "*.html", from_html),
                  *p.texts("debian-faq-ja", "*.html", from_html)]
    zh = [*p.texts("fortunes-zh", "*", lambda t: paragraphs(t) if "\0" not in t else ()), *p.texts("debian-faq-zh-cn", "*.html", from_html),
          *list(p.texts("manpages-zh", "zh_CN/**/*.gz", from_man))[::6]]
    return {
        "ja_catalogs": (2.0, catalogs(p, "ja", "ja", ("evolution-common", "gnucash-common", "libc-l10n"))),
        "ja_manuals": (0.8, ja_manuals),
        "ja_help": (0.8, [*p.texts("libreoffice-help-ja", "*.html", from_html), *help_pages(p, "ja")]),
        "ja_stories": (1.6, stories(p, "ja")),
        "ja_novel": (0.6, p.novel("ja_JP")),
        "ja_addresses": (1.6, japanese_addresses(p)),
        "ja_words": (0.5, japanese_words(p)),
        "ja_faker": (0.2, [w for w in p.locale("ja/*.yml") if not w.isascii()]),
        "ja_names": (0.1, [a + b + c for a, b, c in zip(p.faker("lastName", "ja_JP/Person") * 8, ["", " "] * 999,
                                                       p.faker("firstNameMale", "ja_JP/Person") * 9)]),
        "ja_numbers": (0.15, ascii_in_cjk(p)),
        "zh_catalogs": (0.6, catalogs(p, "zh_CN", "zh-cn", ("evolution-common", "gnucash-common", "libc-l10n"))),
        "zh_text": (0.6, [*zh, *stories(p, "zh_CN")]),
        "zh_tw": (0.4, [*catalogs(p, "zh_TW", "zh-tw", ("evolution-common",)), *p.novel("zh_TW")]),
        "zh_faker": (0.05, [*p.locale("zh-CN.yml"), *p.locale("zh-TW.yml")]),
        "ko_catalogs": (0.5, [*catalogs(p, "ko", "ko", ("evolution-common", "libc-l10n")), *stories(p, "ko")]),
        "ko_novel": (0.3, p.novel("ko_KR")),
        "ko_faker": (0.03, p.locale("ko.yml")),
        "characters": (0.1, common_characters()),
    }


def domains_cyrillic(p):
    return {
        "ru_catalogs": (1.6, catalogs(p, "ru", "ru", ("evolution-common", "gnucash-common", "libc-l10n"))),
        "ru_manuals": (0.8, [*list(p.texts("manpages-ru", "man[1-9]/*.gz", from_man)), *p.texts("developers-reference-ru", "*.html", from_html)]),
        "ru_help": (0.6, [*p.texts("libreoffice-help-ru", "*.html", from_html), *help_pages(p, "ru")]),
        "ru_stories": (1.2, stories(p, "ru")),
        "ru_novel": (1.0, p.novel("ru_RU")),
        "ru_fortunes": (1.2, p.texts("fortunes-ru", "*", lambda t: paragraphs(t) if "\0" not in t else ())),
        "ru_made": (0.8, cyrillic_made(p)),
        "ru_faker": (0.4, p.locale("ru.yml")),
        "ru_countries": (0.1, p.catalogs("iso-codes", "ru")),
        "uk_catalogs": (0.5, catalogs(p, "uk", "uk", ("evolution-common",))),
        "uk_novel": (0.4, p.novel("uk_UA")),
        "bg_catalogs": (0.3, catalogs(p, "bg", "bg", ("evolution-common",))),
        "sr_catalogs": (0.15, p.catalogs("evolution-common", "sr")),
    }


DICTIONARIES = {"latin": domains_latin, "cjk": domains_cjk, "cyrillic": domains_cyrillic}


def read_index(path):
    """Return the fields of the package index that are trained on, without the held-out sources."""
    text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    index = {"package": [], "description": [], "homepage": [], "maintainer": []}
    seen = {key: set() for key in index}
    for stanza in text.split("\n\n"):
        field = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", stanza, re.M))
        if not field or source_is_held_out(field.get("Source", field["Package"]).split()[0]):
            continue
        for key in index:
            value = field.get(key.title(), "").strip()
            if value and value not in seen[key]:
                seen[key].add(value)
                index[key].append(value)
    return index


def clean(values, excluded):
    """Yield each value once, as one valid line, except values of the test columns."""
    seen = set()
    for value in values:
        value = " ".join(value.split("\n")).strip()
        if len(value.encode()) > MAX_VALUE:
            value = value.encode()[:MAX_VALUE].decode("utf-8", "ignore")
        if len(value) >= 2 and value not in seen and value not in excluded:
            seen.add(value)
            yield value
