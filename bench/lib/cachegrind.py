"""Counts of instructions: a server whose processes run under valgrind's cachegrind.

A count does not depend on the other work of the machine, as a time does.
"""

import os
import shlex
import shutil
from pathlib import Path

from bench.lib.console import BenchError

# The postmaster asks this program for its version, and tools for its settings.
WRAPPER = """#!/bin/sh
case "$*" in *-V* | *--version* | *--describe-config* | *-C*) exec {program} "$@" ;; esac
exec valgrind -q --tool=cachegrind --cache-sim=no --cachegrind-out-file={output}.%p {program} "$@"
"""
OUTPUT = "cachegrind"


def require() -> None:
    """Raise an error if valgrind is not installed."""
    if not shutil.which("valgrind"):
        raise BenchError('valgrind was not found, run "tools/deps bench" first')


def wrap(bindir: Path, data: Path, directory: Path) -> Path:
    """Make a directory of programs that start the server of bindir under cachegrind.

    Each process writes its count into the data directory when it ends.
    """
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    # pg_ctl starts the postgres that is in its own directory, and follows links to find it.
    shutil.copy2(bindir / "pg_ctl", directory)
    program = directory / "postgres"
    program.write_text(
        WRAPPER.format(
            program=shlex.quote(str((bindir / "postgres").resolve())),
            output=shlex.quote(str(data / OUTPUT)),
        ),
        encoding="utf-8",
    )
    program.chmod(0o755)
    return directory


def instructions(data: Path, process: int) -> int:
    """Return the instructions of a process that has ended.

    The instructions of the postmaster before it started the process are among them.
    """
    path = data / f"{OUTPUT}.{process}"
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise BenchError(f'could not read "{path}": {os.strerror(error.errno or 0)}') from error
    for line in lines:
        key, _, values = line.partition(":")
        if key == "summary":
            return int(values.split()[0].replace(",", ""))
    raise BenchError(f'"{path}" has no summary')
