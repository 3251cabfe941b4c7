"""Compare the backend time of the same work on several types, which take turns."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bench.lib import counters, pgbench
from bench.lib.bars import NOT_MEASURED, Bar, verdict
from bench.lib.console import note
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.statistics import Ratio, interleave, paired_ratio, spread


class Clock:
    """Time of a connection's backend: CPU time if /proc tells it, else elapsed time."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.process = connection.info.backend_pid
        # The server may be on another host, or its processes may be hidden.
        self.kind = "CPU" if counters.backend_cpu(self.process) is not None else "elapsed"

    def now(self) -> float:
        if self.kind != "CPU":
            return time.perf_counter()
        # A backend that has sent its answer may still run.
        counters.wait_for_sleep(self.process)
        return counters.backend_cpu(self.process) or 0.0

    def measure(self, action: Callable[..., object], *arguments: object) -> float:
        begin = self.now()
        action(*arguments)
        return self.now() - begin


@dataclass(frozen=True)
class Test:
    """A timed test.  Its name is that of the metric.

    The bar is the highest ratio of the first kind to the second that the project accepts.
    """

    name: str
    title: str
    bar: float | None = None
    microseconds: bool = False


@dataclass
class Comparison:
    """Tests on several kinds of tables.  The first kind is compared with each of the others."""

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
        self.result.samples.append(
            {"test": self.prefix + test.name, "type": kind, "seconds": seconds, "unit": unit}
        )

    def run(
        self,
        test: Test,
        action: Callable[[str], object],
        before: Callable[[str], object] | None = None,
    ) -> None:
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
        variables: Mapping[str, int],
        database: Callable[[str], str] | None = None,
        before: Callable[[str], object] | None = None,
        protocol: str = "prepared",
    ) -> None:
        """Measure lookups by pgbench.

        The time is the CPU time of the postmaster and its children, read after the postmaster has
        reaped the backend.  The result is elapsed time if /proc does not tell the CPU time.

        Each kind may have a database of its own, instead of that of the connection.
        """
        postmaster = server.postmaster()
        for number, kind in interleave(self.kinds, self.rounds):
            if before:
                before(kind)
            words = pgbench.command(
                server,
                database(kind) if database else connection.info.dbname,
                [pgbench.Script("lookup", script(kind), 1)],
                variables,
                [
                    "-c",
                    "1",
                    "-t",
                    str(count),
                    f"--protocol={protocol}",
                    f"--random-seed={self.result.seed + number}",
                ],
            )
            settle(connection, postmaster)
            begin = counters.cpu_seconds(postmaster)
            started = time.perf_counter()
            pgbench.run(words, server)
            elapsed = time.perf_counter() - started
            settle(connection, postmaster)
            spent = counters.cpu_seconds(postmaster) - begin
            if postmaster and spent > 0:
                self.record(test, kind, spent / count, "CPU")
            else:
                self.record(test, kind, elapsed / count, "elapsed")
            self.advance()

    def ratio(self, test: Test, other: str) -> Ratio | None:
        """Return the ratio to another kind; None if the clock measured a time of zero."""
        times, others = self.times[test.name][self.kinds[0]], self.times[test.name][other]
        return paired_ratio(times, others, self.result.seed) if min(*times, *others) > 0 else None

    def rows(self) -> list[list[object]]:
        """Return rows for a table, and add the metrics and the bars.

        A row has the title, the median of each kind, the ratio to each other kind, and the verdict.
        """
        rows = []
        for test in self.tests.values():
            ratios = [self.ratio(test, kind) for kind in self.kinds[1:]]
            name = self.prefix + test.name
            for metric, ratio in zip(
                (name, *(f"{name}.{kind}" for kind in self.kinds[2:])), ratios
            ):
                if ratio:
                    self.result.ratio(metric, ratio)
                else:
                    note(
                        f'"{metric}" is left out: a time of zero was measured, more rows are needed'
                    )
            scale, unit = (1e6, "µs") if test.microseconds else (1e3, "ms")
            said = ""
            if test.bar is not None:
                bar = Bar(name, test.title, test.bar, claim=f"time, {test.title}")
                entry = bar.entry(self.result)
                self.result.bars.append(entry)
                said = f"{bar.limits()} {verdict(entry)}"
            rows.append(
                [
                    f"{test.title} ({unit})",
                    *(
                        f"{spread(self.times[test.name][kind])[0] * scale:.1f}"
                        for kind in self.kinds
                    ),
                    *(ratio or NOT_MEASURED for ratio in ratios),
                    said,
                ]
            )
        return rows


def settle(connection: psycopg.Connection, postmaster: int, program: str = "pgbench") -> None:
    """Wait until the program's backends have ended and the postmaster has reaped them."""
    pgbench.wait_for_sessions(connection, program)
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
