"""Where things are: the checkout, its tools, and the directory that bench may write to."""

import os
from pathlib import Path

from bench.lib.console import BenchError

TOP = Path(__file__).resolve().parents[2]
BENCH = TOP / "bench"
TOOLS = TOP / "tools"
CLUSTERS = TOP / "build" / "cluster"


def work() -> Path:
    """Scripts, logs and results go below build/bench; PGDENSE_BENCH_DIR names another place."""
    directory = Path(os.environ.get("PGDENSE_BENCH_DIR") or TOP / "build" / "bench").absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f'could not create directory "{directory}": {error.strerror}') from error
    if not os.access(directory, os.W_OK):
        raise BenchError(f'directory "{directory}" is not writable, set PGDENSE_BENCH_DIR to one that is')
    return directory


def bindir(name: str) -> Path:
    """The programs of a server that tools/server built for PostgreSQL 17: "dense" or "stock"."""
    return TOP / "build" / "17" / name / "bin"
