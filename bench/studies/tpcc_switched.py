"""TPC-C with background vacuum switched on and off in turn, within one run.

Consecutive runs differ by some per cent.  Phases of a minute on one server, under one load, should
differ by less, if there are no vacuums: with vacuums, they differed by a factor of three.

The effects of background vacuum last into the next phase, such as the pages that it has pruned.  So
this study measures only its cost while it works.
"""

import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import click

from bench.bgvacuum.switched import ORDER, switch
from bench.lib import cgroup, counters, pgbench
from bench.lib.bars import Bar, show_bars
from bench.lib.console import BenchError, progress
from bench.lib.device import block_device
from bench.lib.options import fill_in
from bench.lib.paths import CLUSTERS, work
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.lib.statistics import paired_ratio
from bench.studies.tpcc import (
    BASE_SETTINGS,
    DATABASE,
    Common,
    limit,
    limits_of,
    notpm,
    reads,
    require_settings,
    start_loaded,
    tpcc_server,
    wal,
    written,
)
from bench.tpcc import check, series, workload
from bench.tpcc.stages import CUSTOMER_SPLIT_BACKGROUND, stages

STAGE = CUSTOMER_SPLIT_BACKGROUND.name
RUNNING = "bench-tpcc-switched-run"
# A vacuum or an analyze would fall into phases of one kind only.  WAL is kept until it is analyzed.
SETTINGS = {"autovacuum": "off", "wal_keep_size": "64GB"}
# Without vacuums and with full visibility maps, only background vacuum writes these records.
OWN_RECORDS = ("Heap2/PRUNE_VACUUM_SCAN", "Heap2/VISIBLE")
# The part of a phase that is not counted: pages dirtied before the phase are written then.
SKIPPED = 1 / 3

Sample = Mapping[str, Any]
Pick = Callable[[Sample], float | None]


def counted(name: str) -> Pick:
    """Return a function for the counter per New-Order; it gives None if the counter is missing."""
    return lambda sample: sample["per_new_order"].get(name)


def level(name: str) -> Pick:
    """Return a function for the mean of a number of bytes; it gives None if the number is missing."""
    return lambda sample: sample.get("memory", {}).get(name)


def cached_reads(sample: Sample) -> float | None:
    """Return the reads that the page cache served, each of a block.

    The device may read several blocks at once.
    """
    group = sample["per_new_order"].get("group_read_bytes")
    return (
        None if group is None else sample["per_new_order"]["block_reads"] - group / counters.BLOCK
    )


# The metric, its title, and a function for its value in a phase
FIGURES: tuple[tuple[str, str, Pick], ...] = (
    ("tpmc.switched", "New-Orders a minute", notpm),
    ("reads.switched", "device reads per New-Order", reads),
    ("wal_bytes.switched", "WAL per New-Order", wal),
    ("written_bytes.switched", "device bytes written per New-Order", written),
    ("block_reads.switched", "blocks read from the kernel per New-Order", counted("block_reads")),
    ("cached_reads.switched", "of them from the page cache", cached_reads),
    (
        "refaults.switched",
        "reads of pages that left the page cache shortly before",
        counted("refaults"),
    ),
    ("block_writes.switched", "blocks written per New-Order", counted("block_writes")),
    (
        "session_writes.switched",
        "blocks written by sessions per New-Order",
        counted("session_writes"),
    ),
    (
        "bgwriter_writes.switched",
        "blocks written by the background writer per New-Order",
        counted("bgwriter_writes"),
    ),
    (
        "checkpointer_writes.switched",
        "blocks written by the checkpointer per New-Order",
        counted("checkpointer_writes"),
    ),
    ("cpu.switched", "CPU time per New-Order", counted("cpu_seconds")),
    ("newpage.switched", "updates to another page per New-Order", counted("newpage_updates")),
    ("page_cache.switched", "bytes of page cache", level("page_cache")),
    ("dirty_cache.switched", "bytes of it that are dirty", level("dirty_cache")),
    ("private.switched", "bytes of private memory", level("private")),
)
OWN_WAL = "wal_bytes.own.switched"
BARS = (
    Bar(
        OWN_WAL,
        "WAL with the records of background vacuum, to WAL without them, while it is on",
        1.01,
    ),
    Bar("tpmc.switched", "New-Orders a minute, the switch on to off", least=0.99),
    *(Bar(name, f"{title}, the switch on to off", 1.01) for name, title, _ in FIGURES[1:4]),
)


@dataclass(frozen=True)
class Options(Common):
    blocks: int
    phase: float


def wal_of(cluster: Cluster, begin: str, end: str) -> dict[str, int]:
    """Return the bytes of WAL between two positions, and of the records of background vacuum in it."""
    found = subprocess.run(
        [
            cluster.bindir / "pg_waldump",
            "--stats=record",
            "--path",
            cluster.data / "pg_wal",
            "--start",
            begin,
            "--end",
            end,
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if found.returncode != 0:
        raise BenchError(f"could not read WAL: {found.stderr.strip()}")
    # The columns are, each with its share in parentheses: the number of records, the bytes of
    # records, the bytes of full-page images and the sum of the bytes.
    sizes = {
        record: int(size)
        for record, size in re.findall(
            r"^(\w+/\S+)(?:\s+\d+\s+\([^)]*\)){3}\s+(\d+)\s+\(", found.stdout, re.MULTILINE
        )
    }
    return {
        "all": sum(sizes.values()),
        "own": sum(sizes.get(record, 0) for record in OWN_RECORDS),
    }


def measure(
    cluster: Cluster, options: Options, group: cgroup.ControlGroup | None
) -> list[dict[str, Any]]:
    """Run the load, and return one sample for each phase."""
    measured = options.phase * len(ORDER) * options.blocks
    seconds = int(options.warmup + measured)
    plan = workload.Load(
        options.warehouses, options.scale, options.clients, options.warmup, measured, options.seed
    )
    directory = work() / "tpcc-switched"
    arguments = pgbench.client_options(options.clients, options.seed)
    phases = []
    with cluster.connect(DATABASE) as connection, ExitStack() as stack:
        postmaster, device = cluster.postmaster(), block_device(CLUSTERS)
        bars = stack.enter_context(progress())
        task = bars.add_task("background vacuum off and on in turn: seconds", total=seconds)

        def take() -> dict[str, float]:
            taken = counters.snapshot(connection, postmaster, device, group) | series.updates(
                connection
            )
            return taken | group.refaults() if group else taken

        def position() -> str:
            return connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()[0]

        def wait(until: float) -> list[dict[str, int]]:
            """Wait, and return the group's memory use at each half of a second."""
            uses = []
            while (left := until - time.time()) > 0:
                time.sleep(min(0.5, left))
                if group:
                    uses.append(group.memory_use())
                bars.update(task, completed=min(seconds, time.time() - begun))
            return uses

        begun = time.time()
        clients = stack.enter_context(
            pgbench.Background(
                cluster,
                DATABASE,
                workload.write_scripts(directory / "scripts", think=False),
                workload.script_variables(plan),
                arguments,
                directory,
                seconds,
            )
        )
        due = begun + options.warmup
        wait(due)
        for block in range(options.blocks):
            for setting in ORDER:
                switch(connection, setting)
                wait(due + options.phase * SKIPPED)
                first, begin, before = position(), time.time(), take()
                due += options.phase
                uses = wait(due)
                last, end, after = position(), time.time(), take()
                if clients.has_ended():
                    raise clients.failure()
                phases.append((block, setting, begin, end, before, after, uses, first, last))
    # pg_waldump reads WAL outside of the group, so check the page cache before.
    if group:
        cgroup.require_own_cache(cluster.data, group)
    log = clients.log()
    samples = []
    for block, setting, begin, end, before, after, uses, first, last in phases:
        orders = log.window(begin, end).count(0)
        if orders == 0:
            raise BenchError(f"no New-Order finished in {end - begin:.0f} s")
        samples.append(
            {
                "round": block,
                "setting": setting,
                "seconds": end - begin,
                "new_orders": orders,
                "notpm": orders / (end - begin) * 60,
                "per_new_order": {name: (after[name] - before[name]) / orders for name in before},
                "memory": {
                    name: mean(use[name] for use in uses) for name in (uses[0] if uses else ())
                },
                "wal": wal_of(cluster, first, last),
            }
        )
    return samples


def sums(samples: Sequence[Sample], pick: Pick) -> tuple[list[float], list[float]] | None:
    """Return, for each block, the sums of the phases that are on and of those that are off.

    Return None if the figure is not counted, or if a sum of the phases that are off is zero.
    """
    if pick(samples[0]) is None:
        return None
    blocks = range(1 + max(sample["round"] for sample in samples))
    on, off = (
        [
            sum(
                pick(sample)
                for sample in samples
                if (sample["round"], sample["setting"]) == (block, setting)
            )
            for block in blocks
        ]
        for setting in ("on", "off")
    )
    return (on, off) if min(off) > 0 else None


def own_wal(samples: Sequence[Sample]) -> float:
    """Return the WAL of the phases that are on, divided by this WAL without the own records."""
    taken = [sample["wal"] for sample in samples if sample["setting"] == "on"]
    everything, own = (sum(wal[name] for wal in taken) for name in ("all", "own"))
    return everything / (everything - own)


def show(result: Result) -> None:
    rows = []
    for name, title, pick in FIGURES:
        found = sums(result.samples, pick)
        if found is None:
            continue
        on, off = found
        ratio = paired_ratio(on, off, result.seed)
        result.ratio(name, ratio)
        # A block has two phases of each kind.
        rows.append([title, f"{sum(off) / len(off) / 2:,.4g}", str(ratio)])
    result.table(
        "TPC-C, background vacuum switched on and off in turn within one run",
        ["", "mean, off", "on to off: median (interval)"],
        rows,
        "switched",
    )
    result.metrics[OWN_WAL] = own_wal(result.samples)
    show_bars(result, BARS)


def run(options: Options, target: Path | None) -> None:
    result = Result("tpcc-switched", options.seed, options.quick)
    result.describe(
        warehouses=options.warehouses,
        clients=options.clients,
        blocks=options.blocks,
        warmup=options.warmup,
        phase=options.phase,
        memory_limit=options.memory,
        read_iops=options.iops,
        shared_buffers=options.shared_buffers,
        lite=options.lite,
        stage=STAGE,
    )
    (stage,) = stages((STAGE,), ())
    with session() as stack:
        require_settings([stage])
        running = start_loaded(RUNNING, stage, options, stack)
        running.stop()
        group = limit(options, options.memory, running, stack)
        # Remove the server before its control group.
        stack.callback(quietly, running.remove)
        settings = {
            **BASE_SETTINGS,
            "shared_buffers": options.shared_buffers,
            **stage.settings,
            **stage.measured,
            **SETTINGS,
        }
        running.start(settings, group.join_prefix() if group else ())
        with running.connect(DATABASE) as connection:
            result.describe_server(connection, limits=limits_of(group))
        result.samples += measure(running, options, group)
        if group:
            group.lift()
        with running.connect(DATABASE) as connection:
            check.check(connection, "background vacuum off and on in turn")
        show(result)
    result.save(target)


@click.command("tpcc-switched", short_help="TPC-C, background vacuum on and off within one run.")
@tpcc_server
@click.option(
    "--blocks",
    type=click.IntRange(1),
    help="Blocks of four phases, off on on off; default: 6, or 2 with --quick.",
)
@click.option(
    "--warmup", type=click.FloatRange(0), metavar="SECONDS", help="Default: 180, or 3 with --quick."
)
@click.option(
    "--phase",
    type=click.FloatRange(1),
    metavar="SECONDS",
    help="Length of a phase; default: 60, or 3 with --quick.",
)
def command(target: Path | None, quick: bool, **options) -> None:
    """TPC-C with all of pg_dense, background vacuum switched on and off in turn within one run."""
    fill_in(
        options, quick, warehouses=(10, 2), blocks=(6, 2), warmup=(180.0, 3.0), phase=(60.0, 3.0)
    )
    run(Options(quick=quick, **options), target)
