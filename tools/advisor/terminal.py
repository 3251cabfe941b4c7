"""The report on a terminal, or as plain text of 80 columns."""

import sys

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from advisor.report import (
    BLOCKED,
    OPTION,
    PATCHED,
    PROPOSAL,
    REMARK,
    Line,
    Report,
    TableReport,
    counted,
    percent,
    size,
    unestimated,
    visible,
)

WIDTH = 80
WIDEST = 110
BAR = 22
# narrower terminals have no room for bars
LEAST_WITH_BARS = 60


class Screen:
    """A console, and whether it can show colours and block characters."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        width = WIDTH
        if self.terminal:
            width = min(Console().width, WIDEST)
        self.console = Console(
            highlight=False,
            markup=False,
            emoji=False,
            width=width,
            soft_wrap=False,
            color_system="auto" if self.terminal else None,
            no_color=not self.terminal or None,
        )
        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
        self.blocks = self.terminal and encoding == "utf8"

    def print(self, text: str = "", style: str = "", indent: int = 0) -> None:
        """Print a text, with all its lines indented, and later lines by two blanks more.

        All lines of a comment are comments, so that one can paste them.
        """
        first = " " * indent
        more = first + ("  " if indent or text.startswith("- ") else "")
        if text.startswith("# "):
            more = "# "
        width = self.console.width - len(more)
        for number, line in enumerate(Text(visible(text)).wrap(self.console, width)):
            line.rstrip()
            shown = Text((more if number else first) + line.plain, style=style)
            self.console.print(shown, soft_wrap=True)

    def bar(self, part: float, style: str) -> Text:
        """Return a bar that has this part of the full width."""
        width = max(round(part * BAR), 1 if part > 0 else 0)
        return Text(("█" if self.blocks else "#") * width, style=style)


def show(report: Report, top: int) -> None:
    screen = Screen()
    screen.print(f"What pg_dense would save in database {report.database}", "bold")
    screen.print(f"Server: PostgreSQL {report.server}")
    screen.print(f"Source: {report.source}", "bold")
    for fact in report.facts:
        screen.print(f"- {fact}")
    screen.print()
    shown, more, without = report.listed(top)
    if report.tables:
        overview(screen, report, shown)
    totals(screen, report)
    if more:
        saved = sum(report.saved_of(table) for table in more)
        screen.print(
            f"{counted(more, 'more {}')}, of which {size(saved)} would be saved, see --top"
        )
    if without:
        screen.print(counted(without, "{} without a proposal"))
    for table in shown:
        details(screen, report, table)
    if report.skipped:
        screen.print()
        screen.print("Not examined", "bold")
        for skipped in report.skipped:
            bytes_ = f" ({size(skipped.bytes)})" if skipped.bytes is not None else ""
            screen.print(f"- {skipped.reason}{bytes_}{skipped.hint}")
    screen.print()
    screen.print("Next commands", "bold")
    for step in report.steps:
        screen.print(f"# {step.what}", "dim")
        # a command that is folded could not be copied
        screen.console.print(Text(step.command), soft_wrap=True)


def overview(screen: Screen, report: Report, shown: list[TableReport]) -> None:
    grid = Table(
        box=box.SIMPLE_HEAD if screen.blocks else box.ASCII,
        width=screen.console.width,
        show_edge=not screen.blocks,
        pad_edge=False,
        show_lines=not screen.blocks,
        header_style="bold" if screen.terminal else "",
    )
    grid.add_column("table", ratio=1, overflow="fold")
    with_bars = screen.console.width >= LEAST_WITH_BARS
    if with_bars:
        grid.add_column("before, after", width=BAR, no_wrap=True)
    grid.add_column("size", justify="right", no_wrap=True, width=9)
    grid.add_column("saved", justify="right", no_wrap=True, width=9)
    largest = max((table.now for table in shown), default=0) or 1
    for table in shown:
        after, saved = report.after_of(table), report.saved_of(table)
        bars = screen.bar(table.now / largest, "blue")
        if not table.unknown:
            bars.append("\n")
            bars.append_text(screen.bar(after / largest, "green"))
        grid.add_row(
            Text(visible(table.name), overflow="fold"),
            *([bars] if with_bars else []),
            size(table.now) if table.unknown else f"{size(table.now)}\n{size(after)}",
            "unknown" if table.unknown else f"{size(saved)}\n{percent(saved, table.now)}",
        )
    if shown:
        screen.console.print(grid)


def totals(screen: Screen, report: Report) -> None:
    now, after = report.now, report.after
    if report.unknown:
        screen.print(f"Total: {size(now)} now, no estimate", "bold")
        return
    screen.print(
        f"Total: {size(now)} now, {size(after)} after; {size(now - after)} saved"
        f" ({percent(now - after, now)})",
        "bold",
    )
    if report.without_estimate:
        screen.print(unestimated(report))
    screen.print(f"In bytes: {now} now, {after} after, {now - after} saved")
    patched = report.after_patched
    if patched < after:
        screen.print(
            f"With the patched server: {size(patched)} after; {size(now - patched)} saved"
            f" ({percent(now - patched, now)})"
        )
    if report.options:
        screen.print(
            f"Options, which are not counted in the total: up to {size(report.options)} more"
        )


LABELS = {
    PROPOSAL: "proposal",
    OPTION: "option, not counted",
    BLOCKED: "prevented",
    REMARK: "remark",
}


def details(screen: Screen, report: Report, table: TableReport) -> None:
    screen.print()
    screen.print(table.name, "bold")
    for line in table.lines:
        screen.print(f"{label(report, line)}: {line.action}", indent=2)
        if line.bytes_saved is not None:
            confidence = f", confidence {line.confidence}" if line.confidence else ""
            screen.print(
                f"saves {size(line.bytes_saved)} ({percent(line.bytes_saved, table.now)} of the"
                f" table){confidence}",
                indent=4,
            )
        if line.reason:
            screen.print(f"{line.label_of_reason}: {line.reason}", indent=4)
        if line.blockers:
            screen.print(f"prevented by: {line.blockers}", indent=4)
        if line.risk:
            screen.print(f"risk: {line.risk}", indent=4)


def label(report: Report, line: Line) -> str:
    name = LABELS[line.kind]
    if line.server == PATCHED and line.kind == PROPOSAL and not report.patched:
        return f"{name} for the patched server"
    return name
