"""Terminal output and the one kind of error that ends a run."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

# A log file has no width; 80 columns would break the tables.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)


class BenchError(click.ClickException):
    """An error that is shown as one line in the style of PostgreSQL's programs."""

    def show(self, file=None) -> None:
        click.echo("bench/run: error: " + " ".join(self.format_message().split()), err=True)


def note(message: str) -> None:
    console.print(message, style="yellow", markup=False, soft_wrap=True)


@contextmanager
def progress() -> Iterator[Progress]:
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    ) as bars:
        yield bars
