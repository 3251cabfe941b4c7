"""Paths of the checkout and its tools, and the directory that bench may write to."""

import os
import stat
from pathlib import Path

from bench.lib.console import BenchError

TOP = Path(__file__).resolve().parents[2]
BENCH = TOP / "bench"
TOOLS = TOP / "tools"
CLUSTERS = TOP / "build" / "cluster"
# Root owns it.  Below CLUSTERS, the servers' account could put links in its place.
DEVICE = TOP / "build" / "device"


def work() -> Path:
    """Return the directory for scripts, logs and results: PGDENSE_BENCH_DIR, or build/bench.

    Create it if it does not exist.
    """
    directory = Path(os.environ.get("PGDENSE_BENCH_DIR") or TOP / "build" / "bench").absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f'could not create directory "{directory}": {error.strerror}') from error
    if not os.access(directory, os.W_OK):
        raise BenchError(
            f'directory "{directory}" is not writable, set PGDENSE_BENCH_DIR to one that is'
        )
    # Names are the same in every run: we would write through a link that others put there.
    if directory.stat().st_mode & stat.S_IWOTH:
        raise BenchError(
            f'anybody can write to directory "{directory}", set PGDENSE_BENCH_DIR to another one'
        )
    return directory


def write_file(path: Path, text: str) -> None:
    """Replace a file by a new one.

    Do not write through a link, which others may have put into a directory like /tmp.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with open(new, "x", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def majors() -> tuple[str, ...]:
    """Return the major versions of PostgreSQL that tools/server builds, the default one first."""
    lines = (TOOLS / "pg-versions").read_text(encoding="utf-8").splitlines()
    return tuple(line.split()[0] for line in lines if line[:1].isdigit())


class _Chosen:
    major = ""


def choose_major(name: str) -> None:
    """Measure this major version from now on.

    Raise an error if it is unknown, or has no server patches.
    """
    if name not in majors():
        raise BenchError(f'unknown PostgreSQL major version "{name}", known: {" ".join(majors())}')
    if not any(TOP.glob(f"*/{name}/*.patch")):
        raise BenchError(f"there are no server patches for PostgreSQL {name}")
    _Chosen.major = name


def major() -> str:
    return _Chosen.major or majors()[0]


def server_dir(name: str) -> Path:
    """Return the installation "dense" or "stock" of the measured major version."""
    return TOP / "build" / major() / name


def bindir(name: str) -> Path:
    """Return the directory of that server's programs."""
    return server_dir(name) / "bin"


def build_hint(name: str = "") -> str:
    """Return the command that builds that server."""
    return f"tools/server {major()} {name}".rstrip()
