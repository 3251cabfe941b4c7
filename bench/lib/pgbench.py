"""Run pgbench, and read its transaction logs."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from bench.lib.console import BenchError
from bench.lib.server import Server


@dataclass(frozen=True)
class Script:
    name: str
    path: Path
    weight: int


@dataclass(frozen=True)
class Log:
    """A row for each finished transaction: number of its script, when it ended and how long it took, in seconds."""

    script: numpy.ndarray
    ended: numpy.ndarray
    latency: numpy.ndarray

    def window(self, begin: float, end: float) -> "Log":
        inside = (self.ended >= begin) & (self.ended < end)
        return Log(self.script[inside], self.ended[inside], self.latency[inside])

    def count(self, script: int) -> int:
        return int((self.script == script).sum())


def read_log(files: Sequence[Path]) -> Log:
    """Transactions that failed for good have no time and are left out."""
    rows = []
    for path in files:
        with open(path, encoding="ascii") as lines:
            for line in lines:
                fields = line.split()
                if len(fields) < 6:
                    raise BenchError(f'"{path}" is cut short, which a full disk does to it')
                if fields[2].isdigit():
                    rows.append((int(fields[3]), int(fields[4]) + int(fields[5]) / 1e6, int(fields[2]) / 1e6))
    table = numpy.array(rows, dtype=float).reshape(-1, 3)
    return Log(table[:, 0].astype(int), table[:, 1], table[:, 2])


def _program(server: Server) -> list[str]:
    environment = server.environment
    options = ["-h", environment["PGHOST"], "-p", environment["PGPORT"], "-U", environment["PGUSER"]]
    return [str(server.bindir / "pgbench"), *options]


def initialize(server: Server, database: str, scale: int, fillfactor: int) -> None:
    """pgbench's own tables, filled by the server."""
    options = ["-i", "-q", "-I", "dtGvp", "-s", str(scale), "-F", str(fillfactor)]
    run([*_program(server), *options, database], server)


def command(
    server: Server, database: str, scripts: Sequence[Script], variables: Mapping[str, object], options: Sequence[str]
) -> list[str]:
    words = [*_program(server), "--no-vacuum", "--protocol=prepared"]
    for name, value in variables.items():
        words += ["-D", f"{name}={value}"]
    for script in scripts:
        words += ["-f", f"{script.path}@{script.weight}"]
    return [*words, *options, database]


def failure(server: Server, output: str) -> BenchError:
    """pgbench says much when a server dies; its first error line is the cause."""
    lines = [line for line in output.splitlines() if "error:" in line or "ERROR:" in line or "FATAL:" in line]
    reason = (lines or output.strip().splitlines() or ["no message"])[0].removeprefix("pgbench: error: ")
    return BenchError(f"pgbench failed: {reason} (server log: {server.log})")


def run(words: Sequence[str], server: Server) -> str:
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise failure(server, done.stderr)
    return done.stdout
