"""Options of bench/run that several studies have.  A study declares all others in its own file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bench.lib import paths
from bench.lib.console import BenchError

SEED = 20240607


def _writable(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Raise an error at once, not after an hour of measuring, if the path cannot be written."""
    if path:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BenchError(
                f'could not create directory "{path.parent}": {error.strerror}'
            ) from error
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BenchError(f'"{path}" is not writable')
    return path


def _chosen_major(_context: click.Context, _option: click.Parameter, name: str | None) -> None:
    if name is not None:
        paths.choose_major(name)


major = click.option(
    "--major",
    metavar="NUMBER",
    expose_value=False,
    is_eager=True,
    callback=_chosen_major,
    help="Major version of the PostgreSQL servers to measure; default: the first in tools/pg-versions.",
)
seed = click.option("--seed", type=click.IntRange(0, 2**31), default=SEED, show_default=True)
running = click.option(
    "--running",
    is_flag=True,
    help="Use the server that PGHOST and PGPORT name instead of a private one.",
)
lite = click.option("--lite", is_flag=True, help="A hundredth of the rows a warehouse, for tests.")


def common(command: Callable) -> Callable:
    """Add the options of all studies that write a result."""
    for option in (
        major,
        click.option(
            "--json",
            "target",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            callback=_writable,
            help="File for the results; default: build/bench/results/STUDY.json, or STUDY-NUMBER.json for another major version.",
        ),
        click.option("--quick", is_flag=True, help="A smoke run, whose figures have no meaning."),
        seed,
    ):
        command = option(command)
    return command


def fill_in(options: dict[str, Any], quick: bool, **defaults: tuple[Any, Any]) -> None:
    """Set options that are not given to the default of a full run, or of a smoke run."""
    for name, (full, smoke) in defaults.items():
        if options[name] is None:
            options[name] = smoke if quick else full
