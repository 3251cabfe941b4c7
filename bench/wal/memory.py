"""The part of the data that stays in the page cache of a server with a memory limit."""

import math
from contextlib import ExitStack

from rich.progress import Progress

from bench.lib import cgroup, pagecache
from bench.lib.paths import CLUSTERS
from bench.lib.result import Result
from bench.lib.statistics import interleave, paired_ratio, spread
from bench.wal import load
from bench.wal.instance import DATABASE, Instance
from bench.wal.variants import DIRECT_AUTO, OFF, Variant

LEFT_OUT = "data residency under a memory limit is left out"
VARIANTS = (OFF, DIRECT_AUTO)
SETTINGS = {
    "shared_buffers": "64MB",
    # With frequent checkpoints, pages change again after each one, so that there is much WAL.
    "full_page_writes": "on",
    "checkpoint_timeout": "30s",
    "max_wal_size": "1GB",
    # No memory limit counts huge pages.
    "huge_pages": "off",
}
CLIENTS = 8
SEGMENTS = 8
# Size of pgbench's tables with their primary keys, for each unit of the scale factor
SCALE_MB = 19
# Read as much of the table as the limit allows, and then its primary key, because a run needs all
# of the key.
FILL = "SELECT sum(abalance) FROM pgbench_accounts; SET enable_seqscan = off; SELECT count(aid) FROM pgbench_accounts"


class Memory:
    """The test of both variants, on one data directory.

    Each run begins with an empty page cache.
    """

    def __init__(self, result: Result, stack: ExitStack, limit: int) -> None:
        self.result = result
        self.stack = stack
        self.limit = limit
        # The data is twice as large as the memory.
        self.scale = math.ceil(2 * limit / SCALE_MB)

    def possible(self) -> bool:
        """Return true if a control group can be created.  Otherwise the reason has been printed."""
        group = cgroup.create(self.limit, 0, CLUSTERS, LEFT_OUT)
        if group:
            group.remove()
        return group is not None

    def measure(self, pairs: int, warmup: float, seconds: float, bars: Progress) -> None:
        task = bars.add_task("data under a memory limit: runs", total=pairs * len(VARIANTS))
        instance = Instance(self.stack, "bench-wal-memory")
        instance.load(self.scale, SEGMENTS, {})
        for number, variant in interleave(VARIANTS, pairs):
            self.run(instance, variant, number, warmup, seconds)
            bars.advance(task)
        instance.cluster.remove()
        self.show()

    def run(
        self, instance: Instance, variant: Variant, number: int, warmup: float, seconds: float
    ) -> None:
        instance.evict()
        with ExitStack() as stack:
            group = cgroup.create(self.limit, 0, CLUSTERS, LEFT_OUT)
            if group is None:
                return
            stack.callback(group.remove)
            cluster = instance.start(variant, SETTINGS, group.join_prefix(), warm=False)
            # Stop the server before the group is removed, also after an error: a group with
            # processes cannot be removed.
            stack.callback(cluster.stop, True)
            with cluster.connect(DATABASE) as connection:
                connection.execute(FILL)
            counted = load.Counted(group=group)
            # Update other rows in each run than in the previous run.
            seed = self.result.seed + len(self.result.samples)
            sample = load.run(cluster, CLIENTS, warmup, seconds, seed, counted)
            cgroup.require_own_cache(instance.cluster.data, group)
            base = instance.cluster.data / "base"
            sample |= {
                "data": pagecache.size_below(base),
                "data_resident": pagecache.resident_below(base),
                "wal_resident": pagecache.resident_below(instance.wal),
                "memory_peak": group.memory_peak(),
            }
            self.result.environment["limits"] = group.describe()
            # Let the next run find the tables as this run found them.
            group.lift()
            with cluster.connect(DATABASE) as connection:
                connection.execute("TRUNCATE pgbench_history")
                connection.execute("VACUUM pgbench_accounts")
            self.result.samples.append(
                {"test": "memory", "variant": variant.name, "round": number, **sample}
            )
            instance.stop(cluster, variant)

    def values(self, variant: Variant, pick) -> list[float]:
        return [
            pick(sample)
            for sample in self.result.samples
            if sample["test"] == "memory" and sample["variant"] == variant.name
        ]

    def show(self) -> None:
        lines = (
            (
                "data in the page cache, MB",
                "memory.data",
                lambda sample: sample["data_resident"] / 1e6,
            ),
            ("pg_wal in the page cache, MB", "", lambda sample: sample["wal_resident"] / 1e6),
            (
                "device reads per commit",
                "memory.reads",
                lambda sample: sample["group_reads"] / sample["commits"],
            ),
            (
                "device kB read per commit",
                "",
                lambda sample: sample["group_read_bytes"] / sample["commits"] / 1e3,
            ),
            ("commits a second", "memory.tps", lambda sample: sample["tps"]),
            ("WAL, MB", "", lambda sample: sample["wal_bytes"] / 1e6),
            ("data, MB", "", lambda sample: sample["data"] / 1e6),
        )
        rows: list[list[object]] = []
        for title, metric, pick in lines:
            baseline, direct = (self.values(variant, pick) for variant in VARIANTS)
            ratio = (
                paired_ratio(direct, baseline, self.result.seed)
                if metric and min(baseline) > 0
                else None
            )
            if ratio:
                self.result.ratio(metric, ratio)
            cells = [
                "{:,.2f} ({:,.2f} to {:,.2f})".format(*spread(values))
                for values in (baseline, direct)
            ]
            rows.append([title, *cells, str(ratio or "")])
        self.result.table(
            f"Data in the page cache under a limit of {self.limit} MB for the server and its page cache: median"
            " (smallest to largest)",
            ["", *(variant.title for variant in VARIANTS), "ratio"],
            rows,
            "memory",
        )
