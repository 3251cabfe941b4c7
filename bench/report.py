"""Write the HTML page, doc/benchmarks.md, doc/headline.svg and the figures of README.md.

The data come from the JSON files of the studies.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import jinja2
from markupsafe import Markup, escape

from bench import charts, headline
from bench.lib import saved
from bench.lib.console import BenchError, console, note
from bench.lib.paths import BENCH, TOP, work, write_file
from bench.studies import with_results

# The figures at the top of the page: file of the result, metric, and description
HEADLINES = (
    (
        headline.BEST_FILE,
        headline.BEST,
        "TPC-C under a memory limit: New-Orders a minute, each server with its best settings, last stage to stock",
    ),
    (
        "tpcc",
        "tpmc.all",
        "TPC-C under a memory limit: New-Orders a minute, equal settings, last stage to stock",
    ),
    (
        "tpcc",
        "reads.all",
        "TPC-C under a memory limit: device reads per New-Order, last stage to stock",
    ),
    ("row-size", "heap.all", "TPC-C: bytes of all heaps, compact types to stock types"),
    ("row-size", "mix.mean", "34 columns of text: bytes of a value, `compact_text` to `text`"),
    (
        "dictionary",
        "mean.34",
        "the same columns: bytes of a value, with a dictionary of the column to `text`",
    ),
    (
        "types-speed",
        "filter_late",
        "time of a filter on the tenth string, `compact_char24` to `char(24)`",
    ),
    (
        "toast-chunks",
        "read_cpu.31685",
        "time to read a value of 31,685 bytes, for which lz4 saves no TOAST chunk, `toast_policy` to EXTENDED lz4",
    ),
    (
        "toast-codecs",
        "json.lz4hc.size_vs_lz4",
        "JSON, orders of a shop: bytes with lz4hc to bytes with lz4",
    ),
    (
        "vertical-partition",
        "bytes_per_update.stock",
        "bytes that an UPDATE of `stock` writes, split table to plain table",
    ),
    (
        "vertical-partition",
        "read.hot",
        "time to read hot columns, through the view to directly from the hot part",
    ),
    ("index-size", "tpcc.total", "TPC-C: bytes of all indexes, aligned by their keys to stock"),
    (
        "wal",
        "bytes.direct_4096.1",
        "bytes that a commit writes to the device, direct in units of 4096 bytes to stock",
    ),
    (
        "wal",
        "tps.direct.fdatasync.32",
        "commits a second of 32 clients, direct I/O to buffered I/O",
    ),
    (
        "bgvacuum",
        "mixed.growth",
        "growth of a table under deletes, inserts and updates, background vacuum to stock",
    ),
    ("bgvacuum", "tps", "operations a second, background vacuum to stock"),
)

# The figures in README.md: file of the result, metric, the word for a ratio below and above 1, and a
# text with places for the change and its interval
FIGURES = (
    (
        headline.BEST_FILE,
        headline.BEST,
        "fewer",
        "more",
        "{} New-Orders a minute{}: TPC-C, best settings of each server",
    ),
    (
        "tpcc",
        "tpmc.all",
        "fewer",
        "more",
        "{} New-Orders a minute{}: TPC-C, equal settings, with background vacuum",
    ),
    ("tpcc", "size.database", "smaller", "larger", "{} on disk{}: the database of this TPC-C"),
    (
        "vertical-partition",
        "bytes_per_update.stock",
        "fewer",
        "more",
        "{} bytes written by an UPDATE{}: TPC-C's `stock`, split into two parts",
    ),
    (
        "toast-chunks",
        "read_cpu.31685",
        "less",
        "more",
        "{} processor time for a read{}: values of 32 kB that hardly compress",
    ),
    (
        "wal",
        "bytes.direct_4096.1",
        "fewer",
        "more",
        "{} bytes written by a commit{}: WAL in units of 4096 bytes, one client",
    ),
)

BEGIN = "<!-- Between these marks is what bench/run report writes. -->\n"
END = "<!-- End of what bench/run report writes. -->\n"


@dataclass(frozen=True)
class LeftOut:
    name: str
    reason: str


@dataclass(frozen=True)
class Headline:
    claim: str
    measured: str
    limit: str
    verdict: str
    result: dict[str, Any]


@dataclass
class Results:
    """Results to show, files that are left out, and studies without results."""

    shown: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def proven(self) -> list[dict[str, Any]]:
        return [result for result in self.shown if not result["quick"]]

    def by_file(self) -> dict[str, dict[str, Any]]:
        """Return the results by the names of their files, which begin with the names of studies."""
        return {
            result["anchor"]: result
            for result in self.proven()
            if f"{result['anchor']}-".startswith(f"{result['study']}-")
        }

    def headlines(self) -> list[Headline]:
        results = self.by_file()
        found = []
        for file, metric, claim in HEADLINES:
            result = results.get(file)
            if result and metric in result["metrics"]:
                promise = saved.promise_of(result, metric)
                limit, verdict = (promise.limit, promise.verdict) if promise else ("", "")
                found.append(
                    Headline(claim, saved.measured(result, metric), limit, verdict, result)
                )
        return found

    def first(self) -> headline.Headline | None:
        """Return what the first screen shows, or None without a result of TPC-C."""
        return headline.find(self.proven())

    def count(self, verdict: str) -> int:
        """Return the number of promises with this verdict."""
        return sum(
            promise.verdict == verdict for result in self.proven() for promise in result["promises"]
        )

    def promises(self, met: bool) -> list[tuple[dict[str, Any], saved.Promise]]:
        return [
            (result, promise)
            for result in self.proven()
            for promise in result["promises"]
            if (promise.verdict == "met") == met
        ]

    def figures(self) -> list[str]:
        """Return the lines of README.md: a change in percent, with its direction in words."""
        results = self.by_file()
        return [
            text.format(*_change(results[file], metric, below, above))
            for file, metric, below, above, text in FIGURES
            if file in results and metric in results[file]["metrics"]
        ]


def _change(result: dict[str, Any], metric: str, below: str, above: str) -> tuple[str, str]:
    """Return the change that a ratio means, as in "**23 % smaller**", and its interval or nothing."""

    def percent(ratio: float) -> int:
        return round(100 * (ratio - 1))

    def words(change: int) -> str:
        return f"{abs(change)} % {below if change < 0 else above}"

    change = f"**{words(percent(result['metrics'][metric]))}**"
    interval = result["intervals"].get(metric)
    if interval is None:
        return change, ""
    low, high = percent(interval["low"]), percent(interval["high"])
    if low < 0 < high:
        return change, f" ({words(low)} to {words(high)})"
    near, far = sorted((abs(low), abs(high)))
    return change, f" ({near} to {far} %)"


def read_results(directory: Path, studies: Sequence[str]) -> Results:
    results = Results()
    for path in sorted(directory.glob("*.json")):
        try:
            result = saved.read_result(path)
            try:
                limits = {
                    promise.metric: charts.Limit(promise.limits, promise.verdict == "met")
                    # The first bar of a metric is the promise, the others are goals.
                    for promise in reversed(result["promises"])
                }
                result["charts"] = charts.charts(result, limits)
            except (
                KeyError,
                IndexError,
                TypeError,
                ValueError,
                AttributeError,
                ArithmeticError,
            ) as error:
                raise saved.Unusable(
                    f"is incomplete: its samples cannot be drawn: {type(error).__name__} {error}"
                ) from error
            results.shown.append(result)
        except saved.Unusable as error:
            results.left_out.append(LeftOut(path.name, str(error)))
    if not results.shown:
        raise BenchError(_nothing(directory, results.left_out))
    there = {result["study"] for result in results.shown}
    results.missing = [study for study in studies if study not in there]
    return results


def _nothing(directory: Path, left_out: Sequence[LeftOut]) -> str:
    if left_out:
        return "; ".join(f'"{directory / entry.name}" {entry.reason}' for entry in left_out)
    return f'there are no results in "{directory}", make some: bench/run row-size --json {directory}/row-size.json'


def write(path: Path, text: str) -> None:
    try:
        write_file(path, text)
    except OSError as error:
        raise BenchError(f'could not write "{path}": {error.strerror}') from error
    console.print(f"written: {path}", soft_wrap=True)


def around(path: Path) -> tuple[str, str]:
    """Return the text before and after the figures, each with its mark."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BenchError(f'could not read "{path}": {error}') from error
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchError(
            f'"{path}" has no marks for the place of the figures: {BEGIN.strip()} and {END.strip()}'
        )
    return before + begin, end + after


def run(
    studies: Sequence[str],
    directory: Path | None,
    html: Path | None,
    markdown: Path | None,
    readme: Path | None,
    drawing: Path | None = None,
) -> None:
    if directory is None:
        # The documents in the repository show the results in the repository.
        markdown, readme = markdown or TOP / "doc" / "benchmarks.md", readme or TOP / "README.md"
        drawing = drawing or TOP / "doc" / "headline.svg"
    before, after = around(readme) if readme else ("", "")
    charts.prepare_matplotlib()
    results = read_results(directory or BENCH / "results", studies)
    for entry in results.left_out:
        note(f'left out: "{entry.name}" {entry.reason}')
    for result in results.shown:
        if result["quick"]:
            note(f'"{result["title"]}" is of a smoke run, which proves nothing')
    if results.missing:
        note(f"no results of: {', '.join(results.missing)}")

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(BENCH / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=lambda name: bool(name and name.endswith(".html")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = lambda text: Markup(
        re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text)))
    )
    environment.filters["pieces"] = lambda text: Markup(
        re.sub(r" (\([^()]*\))$", r' <span class="range">\1</span>', str(escape(text)))
    )
    environment.filters["cell"] = lambda text: " ".join(text.replace("|", r"\|").split())

    def render(template: str) -> str:
        return environment.get_template(template).render(results=results)

    write(html or work() / "report.html", render("report.html"))
    if markdown:
        write(markdown, render("benchmarks.md"))
    if readme:
        write(readme, before + render("figures.md") + after)
    if drawing:
        first = results.first()
        if first:
            write(drawing, first.svg())
        else:
            note(f'"{drawing}" is not written: there is no result of tpcc')


@click.command("report", short_help="An HTML page, doc/benchmarks.md, figures of README.md.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory of the studies' JSON files; default: bench/results.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Default: build/bench/report.html.",
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Default: doc/benchmarks.md, or none with --results.",
)
@click.option(
    "--readme",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File whose figures are replaced; default: README.md, or none with --results.",
)
@click.option(
    "--picture",
    "drawing",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File for the picture of the stages of TPC-C; default: doc/headline.svg, or none with --results.",
)
def command(
    results: Path | None,
    html: Path | None,
    markdown: Path | None,
    readme: Path | None,
    drawing: Path | None,
) -> None:
    """Write an HTML page, doc/benchmarks.md, doc/headline.svg and the figures in README.md.

    The report makes them from the results of the studies.
    """
    run(with_results(), results, html, markdown, readme, drawing)
