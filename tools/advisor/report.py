"""The report: what all sources fill in, and what the terminal and the page show."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

PROPOSAL, OPTION, BLOCKED, REMARK = "proposal", "option", "blocked", "remark"
STOCK, PATCHED = "stock", "patched"
USE_MIN_SIZE = "; use --min-size 0 to examine them"


@dataclass
class Line:
    """One change of a table, or a remark on the table.

    bytes_saved is None if nobody knows.  Only proposals count in the totals.
    """

    kind: str
    action: str
    bytes_saved: int | None = None
    confidence: str = ""
    reason: str = ""
    risk: str = ""
    server: str = STOCK
    statement: str = ""
    # the name for dense.apply()
    proposal: str = ""
    # likewise, of the change that leaves out what has a risk
    without_risk: str = ""
    # what prevents the change
    blockers: str = ""
    # True if the reason is what an advisor has found in the table itself
    measured: bool = False
    # True if nobody knows what the table could save
    unknown: bool = False

    @property
    def label_of_reason(self) -> str:
        return "reason" if self.measured or self.kind in (REMARK, BLOCKED) else "assumption"


@dataclass
class TableReport:
    """A table with its TOAST table and indexes."""

    name: str
    now: int
    lines: list[Line] = field(default_factory=list)

    def saved(self, *servers: str) -> int:
        """Return the bytes that the proposals for these kinds of server save."""
        return sum(
            line.bytes_saved or 0
            for line in self.lines
            if line.kind == PROPOSAL and line.server in servers
        )

    @property
    def after(self) -> int:
        return self.now - self.saved(STOCK)

    @property
    def unknown(self) -> bool:
        return any(line.unknown for line in self.lines)


@dataclass
class Skipped:
    """Tables that were not examined."""

    reason: str
    bytes: int | None = None
    hint: str = ""


@dataclass
class Step:
    """A command to run next, and its purpose."""

    what: str
    command: str


@dataclass
class Report:
    database: str
    server: str
    # which source the estimates come from, and what that means, a fact each
    source: str
    facts: list[str] = field(default_factory=list)
    tables: list[TableReport] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    # True if the target itself is a patched server
    patched: bool = False

    def order(self) -> None:
        """Put the largest savings first, and then the largest tables."""
        self.tables.sort(key=lambda table: (-self.saved_of(table), -table.now, table.name))

    def listed(self, top: int) -> tuple[list[TableReport], list[TableReport], list[TableReport]]:
        """Return the tables to list, those that are too many, and those that have no line."""
        with_lines = [table for table in self.tables if table.lines]
        return with_lines[:top], with_lines[top:], [t for t in self.tables if not t.lines]

    def saved_of(self, table: TableReport) -> int:
        return table.saved(STOCK, PATCHED) if self.patched else table.saved(STOCK)

    def after_of(self, table: TableReport) -> int:
        return table.now - self.saved_of(table)

    @property
    def now(self) -> int:
        return sum(table.now for table in self.tables)

    @property
    def after(self) -> int:
        return sum(self.after_of(table) for table in self.tables)

    @property
    def after_patched(self) -> int:
        """Bytes with the proposals that need the patched server, too."""
        return sum(table.now - table.saved(STOCK, PATCHED) for table in self.tables)

    @property
    def unknown(self) -> bool:
        """True if there is no estimate of any table."""
        return bool(self.tables) and all(table.unknown for table in self.tables)

    @property
    def without_estimate(self) -> list[TableReport]:
        """Tables that the totals count as if they stayed as they are, for want of an estimate."""
        return [table for table in self.tables if table.unknown]

    @property
    def options(self) -> int:
        """Bytes that the options would save, at least if they do not exclude each other."""
        return sum(
            max((line.bytes_saved or 0 for line in table.lines if line.kind == OPTION), default=0)
            for table in self.tables
        )


def unestimated(report: Report) -> str:
    """Return a sentence about the tables without an estimate."""
    tables = report.without_estimate
    return f"Without an estimate, counted as if nothing is saved: {counted(tables, '{}')}"


def size(number: int) -> str:
    """Return bytes for people, as pg_size_pretty() does, but with a digit of the fraction."""
    sign, value = ("-" if number < 0 else ""), float(abs(number))
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            digits = 0 if unit == "bytes" or value >= 99.95 else 1
            return f"{sign}{value:.{digits}f} {unit}"
        value /= 1024
    raise AssertionError


def counted(tables: Sequence[TableReport], what: str) -> str:
    """Return the number of tables, and their size."""
    noun = "table" if len(tables) == 1 else "tables"
    return f"{len(tables)} {what.format(noun)} ({size(sum(table.now for table in tables))})"


def percent(saved: int, now: int) -> str:
    return f"{100 * saved / now:.1f} %" if now else "0.0 %"


def visible(text: str) -> str:
    """Return the text with control characters made visible.

    Names of tables come from other people.  Such names must not move a terminal's cursor, begin a
    line of their own, or turn the direction of the text.
    """
    return "".join(
        char if char == " " or unicodedata.category(char)[0] not in "CZ" else escaped(char)
        for char in text
    )


def escaped(char: str) -> str:
    code = ord(char)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def is_plain(text: str) -> bool:
    """Return true if the text can be shown as it is, as a part of a command."""
    return visible(text) == text


def quote_ident(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return an SQL literal that does not depend on standard_conforming_strings."""
    quoted = text.replace("'", "''")
    return f"E'{quoted}'".replace("\\", "\\\\") if "\\" in text else f"'{quoted}'"
