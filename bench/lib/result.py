"""The result of a study: its environment, samples, metrics and tables."""

import json
import os
import platform
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from rich.table import Table

from bench.lib.console import BenchError, console
from bench.lib.device import describe as describe_device
from bench.lib.paths import CLUSTERS, TOP, major, majors, work, write_file
from bench.lib.statistics import Ratio

# The format of the JSON files.  Their readers refuse another one.
FORMAT = 2

DESCRIBED = (
    "shared_buffers",
    "checkpoint_timeout",
    "debug_io_direct",
    "max_wal_size",
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "wal_level",
    "autovacuum",
    "jit",
    "max_parallel_workers_per_gather",
    "work_mem",
    "huge_pages",
)


def _revision() -> str:
    try:
        done = subprocess.run(
            [
                "git",
                "-c",
                f"safe.directory={TOP}",
                "-C",
                str(TOP),
                "describe",
                "--always",
                "--dirty",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _first(path: str, key: str) -> str:
    try:
        with open(path, encoding="utf-8") as lines:
            return next(
                (line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "unknown"
            )
    except OSError:
        return "unknown"


def _processor() -> str:
    """Return family, model and L3 cache: virtual machines give different processors one name."""
    family, model = (_first("/proc/cpuinfo", key) for key in ("cpu family", "model\t"))
    try:
        cache = (
            Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
            .read_text(encoding="ascii")
            .strip()
        )
    except OSError:
        cache = "unknown"
    return f"family {family}, model {model}, L3 cache {cache}"


@dataclass
class Result:
    study: str
    seed: int
    quick: bool = False
    environment: dict[str, object] = field(default_factory=dict)
    samples: list[dict[str, object]] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    # Intervals and pair counts of the metrics that are ratios of pairs
    intervals: dict[str, dict[str, object]] = field(default_factory=dict)
    # Promises with what was measured, see bench/lib/bars.py
    bars: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, object]] = field(default_factory=list)

    def describe(self, **options: object) -> None:
        """Record and print host, kernel, seed and the study's options, before measuring."""
        memory = int(_first("/proc/meminfo", "MemTotal").split()[0]) // 1024
        self.environment = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": shlex.join(["bench/run", *sys.argv[1:]]),
            "revision": _revision(),
            "host": platform.node(),
            "kernel": platform.release(),
            "cpu": f"{os.cpu_count()} x {_first('/proc/cpuinfo', 'model name')}",
            "processor": _processor(),
            "memory": f"{memory} MB",
            "device": describe_device(CLUSTERS),
            "python": platform.python_version(),
            "major": major(),
            "seed": self.seed,
            **options,
        }
        grid = Table(title=self.study, show_header=False, title_justify="left", box=None)
        for name, value in self.environment.items():
            grid.add_row(name, str(value))
        console.print(grid)
        if self.quick:
            console.print(
                "smoke run: it shows that the study works and proves nothing", style="bold yellow"
            )

    def describe_server(self, connection: psycopg.Connection, **more: object) -> None:
        (version,) = connection.execute("SELECT version()").fetchone()
        settings = dict(
            connection.execute(
                "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s) ORDER BY name",
                [list(DESCRIBED)],
            ).fetchall()
        )
        self.environment.update(server=version, settings=settings, **more)
        console.print(f"server: {version}", soft_wrap=True)
        console.print(
            "settings: " + ", ".join(f"{name} = {value}" for name, value in settings.items()),
            soft_wrap=True,
        )
        for name, value in more.items():
            console.print(f"{name}: {value}", soft_wrap=True)

    def ratio(self, name: str, ratio: Ratio) -> None:
        """Add a metric that is a ratio, with its interval."""
        self.metrics[name] = ratio.median
        self.intervals[name] = {
            "low": ratio.low,
            "high": ratio.high,
            "pairs": ratio.pairs,
            "interval": ratio.interval,
        }

    def table(
        self, title: str, columns: list[str], rows: list[list[object]], name: str = ""
    ) -> None:
        """Print a table and keep it for the report."""
        self.tables.append(
            {
                "name": name,
                "title": title,
                "columns": columns,
                "rows": [[str(cell) for cell in row] for row in rows],
            }
        )
        shown = Table(title=title, title_justify="left")
        for number, column in enumerate(columns):
            shown.add_column(column, justify="left" if number == 0 else "right")
        for row in rows:
            shown.add_row(*[str(cell) for cell in row])
        console.print(shown)

    def save(self, target: Path | None) -> Path:
        """Write the result.

        Without --json, write it below work(): raw samples are never lost.
        """
        stem = self.study if major() == majors()[0] else f"{self.study}-{major()}"
        path = target or work() / "results" / f"{stem}.json"
        content = {
            "format": FORMAT,
            "study": self.study,
            "quick": self.quick,
            "environment": self.environment,
            "metrics": self.metrics,
            "intervals": self.intervals,
            "tables": self.tables,
        }
        text = json.dumps(content, indent=1, default=str).removesuffix("\n}")
        # Write each bar and each sample on one line, so that the file stays readable.
        for name, entries in (("bars", self.bars), ("samples", self.samples)):
            lines = ",\n".join("  " + json.dumps(entry, default=str) for entry in entries)
            text += f',\n "{name}": [\n{lines}\n ]'
        try:
            write_file(path, f"{text}\n}}\n")
        except OSError as error:
            raise BenchError(f'could not write "{path}": {error.strerror}') from error
        console.print(f"results: {path}", soft_wrap=True)
        return path
