"""Where things are: the checkout, its tools, and the directory that bench may write to."""

import os
import stat
from pathlib import Path

from bench.lib.console import BenchError

TOP = Path(__file__).resolve().parents[2]
BENCH = TOP / "bench"
TOOLS = TOP / "tools"
CLUSTERS = TOP / "build" / "cluster"
# Of root's, not below CLUSTERS, where the account of the servers could put links in its place.
DEVICE = TOP / "build" / "device"


def work() -> Path:
    """Scripts, logs and results go below build/bench; PGDENSE_BENCH_DIR names another place."""
    directory = Path(os.environ.get("PGDENSE_BENCH_DIR") or TOP / "build" / "bench").absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f'could not create directory "{directory}": {error.strerror}') from error
    if not os.access(directory, os.W_OK):
        raise BenchError(f'directory "{directory}" is not writable, set PGDENSE_BENCH_DIR to one that is')
    # Names are the same in every run: a link that is put there would be written through.
    if directory.stat().st_mode & stat.S_IWOTH:
        raise BenchError(f'anybody can write to directory "{directory}", set PGDENSE_BENCH_DIR to another one')
    return directory


def write_file(path: Path, text: str) -> None:
    """Put a new file in the place of what is there, also in a directory like /tmp, where others may have put a link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with open(new, "x", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def bindir(name: str) -> Path:
    """The programs of a server that tools/server built for PostgreSQL 17: "dense" or "stock"."""
    return TOP / "build" / "17" / name / "bin"
