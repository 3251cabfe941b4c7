"""Backend time of the same work on several types, which take turns."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bench.lib import counters, pgbench
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.statistics import Ratio, interleave, paired_ratio, spread


class Clock:
    """Time of a connection's backend: on a CPU if /proc tells, else as it passes."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.process = connection.info.backend_pid
        # The server may be on another host, or hidden.
        self.kind = "CPU" if counters.backend_cpu(self.process) is not None else "elapsed"

    def now(self) -> float:
        return counters.backend_cpu(self.process) or 0.0 if self.kind == "CPU" else time.perf_counter()

    def measure(self, action: Callable[..., object], *arguments: object) -> float:
        begin = self.now()
        action(*arguments)
        return self.now() - begin


@dataclass(frozen=True)
class Test:
    """Its name is that of the metric; the bar is the highest ratio to the second kind that the project accepts."""

    name: str
    title: str
    bar: float | None = None
    microseconds: bool = False


@dataclass
class Comparison:
    """Tests on kinds of tables, of which the first is compared with each other."""

    result: Result
    clock: Clock
    kinds: Sequence[str]
    rounds: int
    advance: Callable[[], None]
    prefix: str = ""
    tests: dict[str, Test] = field(default_factory=dict)
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def record(self, test: Test, kind: str, seconds: float, unit: str) -> None:
        self.tests[test.name] = test
        self.times.setdefault(test.name, {}).setdefault(kind, []).append(seconds)
        self.result.samples.append({"test": self.prefix + test.name, "type": kind, "seconds": seconds, "unit": unit})

    def run(self, test: Test, action: Callable[[str], object], before: Callable[[str], object] | None = None) -> None:
        for _, kind in interleave(self.kinds, self.rounds):
            if before:
                before(kind)
            self.record(test, kind, self.clock.measure(action, kind), self.clock.kind)
            self.advance()

    def lookup(
        self,
        test: Test,
        connection: psycopg.Connection,
        server: Server,
        script: Callable[[str], Path],
        count: int,
        variables: dict[str, int],
    ) -> None:
        """By pgbench in prepared mode.  The time is what the postmaster has waited for when the backend is gone."""
        postmaster = server.postmaster()
        for number, kind in interleave(self.kinds, self.rounds):
            words = pgbench.command(
                server,
                connection.info.dbname,
                [pgbench.Script("lookup", script(kind), 1)],
                variables,
                ["-c", "1", "-t", str(count), f"--random-seed={self.result.seed + number}"],
            )
            _settle(connection, postmaster)
            begin = counters.cpu_seconds(postmaster)
            started = time.perf_counter()
            pgbench.run(words, server)
            elapsed = time.perf_counter() - started
            _settle(connection, postmaster)
            spent = counters.cpu_seconds(postmaster) - begin
            if postmaster and spent > 0:
                self.record(test, kind, spent / count, "CPU")
            else:
                self.record(test, kind, elapsed / count, "elapsed")
            self.advance()

    def ratio(self, test: Test, other: str) -> Ratio:
        times = self.times[test.name]
        return paired_ratio(times[self.kinds[0]], times[other], self.result.seed)

    def rows(self) -> list[list[object]]:
        """Title, median of each kind, ratio to each other kind, and whether the bar is met; also makes the metrics."""
        rows = []
        for test in self.tests.values():
            ratios = [self.ratio(test, kind) for kind in self.kinds[1:]]
            self.result.ratio(self.prefix + test.name, ratios[0])
            for kind, ratio in zip(self.kinds[2:], ratios[1:]):
                self.result.ratio(f"{self.prefix}{test.name}.{kind}", ratio)
            scale, unit = (1e6, "µs") if test.microseconds else (1e3, "ms")
            bar = "" if test.bar is None else f"{test.bar:.3f} " + ("met" if ratios[0].median <= test.bar else "missed")
            rows.append(
                [
                    f"{test.title} ({unit})",
                    *(f"{spread(self.times[test.name][kind])[0] * scale:.1f}" for kind in self.kinds),
                    *ratios,
                    bar,
                ]
            )
        return rows


def _settle(connection: psycopg.Connection, postmaster: int) -> None:
    """Wait until pgbench's backend has gone and has been waited for."""
    while connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'").fetchone()[0]:
        time.sleep(0.01)
    before = -1.0
    while (now := counters.cpu_seconds(postmaster)) != before:
        before = now
        time.sleep(0.02)


def copy_out(connection: psycopg.Connection, table: str) -> bytes:
    with connection.cursor().copy(f"COPY {table} TO STDOUT") as out:
        return b"".join(bytes(block) for block in out)


def copy_in(connection: psycopg.Connection, table: str, lines: bytes) -> None:
    block = 1 << 20
    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        for start in range(0, len(lines), block):
            copy.write(lines[start : start + block])
