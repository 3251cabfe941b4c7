"""The studies: each is a file with a command, beside which it declares the options of the command."""

import importlib

import click

# The study "row-size" is the file row_size.py.  The report names studies in this order.
NAMES = (
    "row-size",
    "types-speed",
    "dictionary",
    "index-size",
    "wal",
    "bgvacuum",
    "instructions",
    "analyze",
    "vertical-partition",
    "fillfactor",
    "fk-restore",
    "toast-strategies",
    "toast-chunks",
    "toast-codecs",
    "heat",
    "tpcc",
    "tpcc-switched",
    "tpcc-selftest",
    "demo",
)


def command_of(name: str) -> click.Command:
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}").command


def with_results() -> list[str]:
    """Return the studies that write results: those with the option --json."""
    return [
        name for name in NAMES if any(option.name == "target" for option in command_of(name).params)
    ]
