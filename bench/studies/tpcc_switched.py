"""TPC-C with background vacuum switched on and off in turn, within one run.

Runs one after the other differ by some per cent.  Phases of a minute on one server, under one load, do not.
What background vacuum leaves behind, such as pages that it has pruned, is there in the next phase too:
this is what it costs while it works.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.bgvacuum.switched import ORDER, switch
from bench.lib import cgroup, counters, pgbench
from bench.lib.bars import Bar, show_bars
from bench.lib.console import BenchError, progress
from bench.lib.device import block_device
from bench.lib.paths import CLUSTERS, bindir, work
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly, session
from bench.lib.statistics import paired_ratio
from bench.studies.tpcc import BASE_SETTINGS, DATABASE
from bench.tpcc import check, series, workload
from bench.tpcc.load import FULL, LITE, LOAD_SETTINGS, load
from bench.tpcc.stages import Stage, stages

STAGE = "background-vacuum-customer"
RUNNING = "bench-tpcc-switched-run"
# A vacuum, or an analyze, would fall into phases of one kind.
SETTINGS = {"autovacuum": "off"}
# Of a phase, not counted: what was dirtied before it is written then.
SKIPPED = 1 / 3

# Of what is counted for each New-Order: the metric, its title, and the counters of which the first that is there is it
COUNTED = (
    ("reads.switched", "device reads", ("group_reads", "device_reads", "block_reads")),
    ("wal_bytes.switched", "WAL", ("wal_bytes",)),
    ("written_bytes.switched", "device bytes written", ("device_write_bytes",)),
    ("block_reads.switched", "blocks read from the kernel", ("block_reads",)),
    ("block_writes.switched", "blocks written", ("block_writes",)),
    ("cpu.switched", "CPU time", ("cpu_seconds",)),
    ("newpage.switched", "updates to another page", ("newpage_updates",)),
)
BARS = (
    Bar("tpmc.switched", "New-Orders a minute, the switch on to off", least=0.99),
    *(Bar(name, f"{title} per New-Order, the switch on to off", 1.01) for name, title, _ in COUNTED[:3]),
)


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    lite: bool
    warehouses: int
    clients: int
    blocks: int
    warmup: float
    phase: float
    memory: int
    iops: int
    unlimited: bool
    shared_buffers: str


Snapshot = Mapping[str, float]


def per_new_order(before: Snapshot, after: Snapshot, orders: int) -> dict[str, float]:
    return {name: (after[name] - before[name]) / orders for name in before}


def measure(cluster: Cluster, options: Options, group: cgroup.ControlGroup | None) -> list[dict[str, Any]]:
    """One sample for each phase."""
    scale = LITE if options.lite else FULL
    seconds = options.warmup + options.phase * len(ORDER) * options.blocks
    plan = workload.Load(options.warehouses, scale, options.clients, options.warmup, seconds, options.seed)
    directory = work() / "tpcc-switched"
    arguments = ["-c", str(options.clients), "-j", str(min(2, options.clients)), "-T", str(int(seconds) + 5)]
    arguments += ["--max-tries=10", f"--random-seed={options.seed}"]
    phases = []
    with cluster.connect(DATABASE) as connection, ExitStack() as stack:
        postmaster = cluster.postmaster()
        task_seconds = int(seconds)
        bars = stack.enter_context(progress())
        task = bars.add_task("background vacuum off and on in turn: seconds", total=task_seconds)

        def take() -> dict[str, float]:
            counted = counters.snapshot(connection, postmaster, block_device(CLUSTERS), group)
            return counted | series.updates(connection)

        def wait(until: float) -> None:
            while (left := until - time.time()) > 0:
                time.sleep(min(0.5, left))
                bars.update(task, completed=min(task_seconds, time.time() - begun))

        begun = time.time()
        clients = stack.enter_context(
            pgbench.Background(
                cluster,
                DATABASE,
                workload.write_scripts(directory / "scripts", think=False),
                workload.script_variables(plan),
                arguments,
                directory,
            )
        )
        due = begun + options.warmup
        wait(due)
        for block in range(options.blocks):
            for setting in ORDER:
                switch(connection, setting)
                wait(due + options.phase * SKIPPED)
                begin, before = time.time(), take()
                due += options.phase
                wait(due)
                end, after = time.time(), take()
                if clients.has_ended():
                    raise clients.failure()
                phases.append((block, setting, begin, end, before, after))
    log = clients.log()
    samples = []
    for block, setting, begin, end, before, after in phases:
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
                "per_new_order": per_new_order(before, after, orders),
            }
        )
    return samples


def sums(samples: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[list[float], list[float]] | None:
    """For each block, the sum of the phases that are on and of those that are off; None if it is not counted.

    names are of what is counted for each New-Order, the first that is there; none for New-Orders a minute.
    """
    found = next((name for name in names if name in samples[0]["per_new_order"]), None)
    if names and found is None:
        return None

    def value(sample: Mapping[str, Any]) -> float:
        return sample["per_new_order"][found] if found else sample["notpm"]

    blocks = range(1 + max(sample["round"] for sample in samples))
    on, off = (
        [sum(value(sample) for sample in samples if (sample["round"], sample["setting"]) == (block, setting)) for block in blocks]
        for setting in ("on", "off")
    )
    return (on, off) if min(off) > 0 else None


def show(result: Result) -> None:
    rows = []
    for name, title, names in (("tpmc.switched", "New-Orders a minute", ()), *COUNTED):
        found = sums(result.samples, names)
        if found is None:
            continue
        on, off = found
        ratio = paired_ratio(on, off, result.seed)
        result.ratio(name, ratio)
        # There are two phases of each kind in a block.
        middle = sum(off) / len(off) / 2
        rows.append([title if not names else f"{title} per New-Order", f"{middle:,.4g}", str(ratio)])
    result.table(
        "TPC-C, background vacuum switched on and off in turn within one run",
        ["", "mean, off", "on to off: median (interval)"],
        rows,
        "switched",
    )
    show_bars(result, [bar for bar in BARS if bar.metric in result.metrics])


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
        running = loaded(stage, options, stack)
        group = None
        if not options.unlimited:
            cgroup.evict(running.data)
            group = cgroup.create(options.memory, options.iops, CLUSTERS)
        if group:
            stack.callback(group.remove)
        stack.callback(quietly, running.remove)
        settings = {**BASE_SETTINGS, "shared_buffers": options.shared_buffers, **stage.settings, **stage.measured, **SETTINGS}
        running.start(settings, group.join_prefix() if group else ())
        with running.connect(DATABASE) as connection:
            result.describe_server(connection, limits=group.describe() if group else "none")
        result.samples += measure(running, options, group)
        if group:
            group.lift()
        with running.connect(DATABASE) as connection:
            check.check(connection, "background vacuum off and on in turn")
        show(result)
    result.save(target)


def loaded(stage: Stage, options: Options, stack: ExitStack) -> Cluster:
    """A server with the stage's tables, which does not run."""
    cluster = Cluster(RUNNING, bindir(stage.binary))
    if not cluster.has_setting("bgwriter_vacuum"):
        raise BenchError('the server has no setting "bgwriter_vacuum", run "make server"')
    quietly(cluster.remove)
    stack.callback(quietly, cluster.remove)
    cluster.start(LOAD_SETTINGS)
    with progress() as bars:
        load(cluster, DATABASE, stage, options.warehouses, LITE if options.lite else FULL, options.seed, bars)
    cluster.stop()
    return cluster
