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


def majors() -> tuple[str, ...]:
    """The major versions of PostgreSQL that tools/server builds; the first is the one of whoever names none."""
    lines = (TOOLS / "pg-versions").read_text(encoding="utf-8").splitlines()
    return tuple(line.split()[0] for line in lines if line[:1].isdigit())


class _Chosen:
    major = ""


def choose_major(name: str) -> None:
    """Measure this one from now on; an error if it is unknown, or has no server patches."""
    if name not in majors():
        raise BenchError(f'unknown PostgreSQL major version "{name}", known: {" ".join(majors())}')
    if not any(TOP.glob(f"*/{name}/*.patch")):
        raise BenchError(f"there are no server patches for PostgreSQL {name}")
    _Chosen.major = name


def major() -> str:
    return _Chosen.major or majors()[0]


def server_dir(name: str) -> Path:
    """What tools/server built: "dense" or "stock" of the major version that is measured."""
    return TOP / "build" / major() / name


def bindir(name: str) -> Path:
    """The programs of that server."""
    return server_dir(name) / "bin"


def build_hint(name: str = "") -> str:
    """The command that builds it."""
    return f"tools/server {major()} {name}".rstrip()
