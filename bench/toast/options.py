"""The options of the three studies of large values."""

from collections.abc import Callable
from typing import Any

import click

from bench.lib.options import common, fill_in, running


def toast(command: Callable) -> Callable:
    """Add the options."""
    for option in (
        click.option(
            "--rounds",
            type=click.IntRange(1),
            help="Repeats of each test; default: 11, or 3 with --quick.",
        ),
        click.option(
            "--rows",
            type=click.IntRange(10),
            help="Rows of a table, at most; default: 4000, or 200 with --quick.",
        ),
        running,
        common,
    ):
        command = option(command)
    return command


def toast_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of run()."""
    fill_in(options, options["quick"], rows=(4000, 200), rounds=(11, 3))
    return options
