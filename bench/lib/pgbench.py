"""Run pgbench, and read its transaction logs."""

import math
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import psycopg

from bench.lib.console import BenchError
from bench.lib.server import Server

# Seconds that pgbench runs at most beyond the plan of its caller
LEEWAY = 60


@dataclass(frozen=True)
class Script:
    name: str
    path: Path
    weight: int


@dataclass(frozen=True)
class Log:
    """The finished transactions: number of the script, time of the end and duration, in seconds."""

    script: numpy.ndarray
    ended: numpy.ndarray
    latency: numpy.ndarray

    def window(self, begin: float, end: float) -> "Log":
        inside = (self.ended >= begin) & (self.ended < end)
        return Log(self.script[inside], self.ended[inside], self.latency[inside])

    def count(self, script: int) -> int:
        return int((self.script == script).sum())


def read_log(files: Sequence[Path]) -> Log:
    """Return the transactions of log files.

    Leave out transactions that failed for good: they have no time.
    """
    rows = []
    for path in files:
        with open(path, encoding="ascii") as lines:
            for line in lines:
                fields = line.split()
                if len(fields) < 6:
                    raise BenchError(f'"{path}" is incomplete: is the disk full?')
                if fields[2].isdigit():
                    rows.append(
                        (
                            int(fields[3]),
                            int(fields[4]) + int(fields[5]) / 1e6,
                            int(fields[2]) / 1e6,
                        )
                    )
    table = numpy.array(rows, dtype=float).reshape(-1, 3)
    return Log(table[:, 0].astype(int), table[:, 1], table[:, 2])


def _program(server: Server) -> list[str]:
    environment = server.environment
    options = [
        "-h",
        environment["PGHOST"],
        "-p",
        environment["PGPORT"],
        "-U",
        environment["PGUSER"],
    ]
    return [str(server.bindir / "pgbench"), *options]


def initialize(server: Server, database: str, scale: int, fillfactor: int) -> None:
    """Create pgbench's own tables, and let the server fill them."""
    options = ["-i", "-q", "-I", "dtGvp", "-s", str(scale), "-F", str(fillfactor)]
    run([*_program(server), *options, database], server)


def client_options(clients: int, seed: int) -> list[str]:
    """Return options for clients, in one or two threads, that retry after conflicts."""
    return [
        "-c",
        str(clients),
        "-j",
        str(min(2, clients)),
        "--max-tries=10",
        f"--random-seed={seed}",
    ]


def command(
    server: Server,
    database: str,
    scripts: Sequence[Script],
    variables: Mapping[str, object],
    options: Sequence[str],
) -> list[str]:
    words = [*_program(server), "--no-vacuum", "--protocol=prepared"]
    for name, value in variables.items():
        words += ["-D", f"{name}={value}"]
    for script in scripts:
        words += ["-f", f"{script.path}@{script.weight}"]
    return [*words, *options, database]


def failure(server: Server, output: str) -> BenchError:
    """Return an error with the first error line of the output.

    When a server dies, pgbench prints many lines; the first one is the cause.
    """
    lines = [
        line
        for line in output.splitlines()
        if "error:" in line or "ERROR:" in line or "FATAL:" in line
    ]
    reason = (lines or output.strip().splitlines() or ["no message"])[0].removeprefix(
        "pgbench: error: "
    )
    return BenchError(f"pgbench failed: {reason} (server log: {server.log})")


class Background:
    """A context that runs pgbench beside the caller, and logs its transactions in the directory.

    At the end, wait for pgbench.  Raise an error if pgbench has failed.  If the caller has failed,
    end pgbench instead.

    seconds is the time that the caller needs.  If it is given, pgbench runs until the caller is
    ready: on a busy machine, that takes longer, but at most LEEWAY.
    """

    def __init__(
        self,
        server: Server,
        database: str,
        scripts: Sequence[Script],
        variables: Mapping[str, object],
        options: Sequence[str],
        directory: Path,
        seconds: float | None = None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.server = server
        self.directory = directory
        self.until_ready = seconds is not None
        if seconds is not None:
            options = [*options, "-T", str(math.ceil(seconds) + LEEWAY)]
        for old in self._logs():
            old.unlink()
        options = [*options, "--log", f"--log-prefix={directory / 'transactions'}"]
        with open(self._errors, "wb") as err, open(self._output, "wb") as out:
            self.process = subprocess.Popen(
                command(server, database, scripts, variables, options),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    @property
    def _errors(self) -> Path:
        return self.directory / "pgbench.err"

    @property
    def _output(self) -> Path:
        return self.directory / "pgbench.out"

    def _logs(self) -> list[Path]:
        return sorted(self.directory.glob("transactions.*"))

    def __enter__(self) -> "Background":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                # This signal is the timer by which pgbench ends its runs.
                if self.until_ready and not self.has_ended():
                    self.process.send_signal(signal.SIGALRM)
                self.process.wait()
        finally:
            if not self.has_ended():
                self.process.terminate()
                self.process.wait()
        if kind is None and self.process.returncode != 0:
            raise self.failure()

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def failure(self) -> BenchError:
        return failure(self.server, self._errors.read_text(encoding="utf-8", errors="replace"))

    def output(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    def log(self) -> Log:
        return read_log(self._logs())


def wait_for_sessions(connection: psycopg.Connection, program: str = "pgbench") -> None:
    """Wait until all sessions of a program have ended, which the program itself does not do."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    while connection.execute(query, [program]).fetchone()[0]:
        time.sleep(0.01)


def run(words: Sequence[str], server: Server) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0:
        raise failure(server, done.stderr)
    return done.stdout
