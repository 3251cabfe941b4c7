"""The figures of a sample, and the promises for them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.bgvacuum import switched
from bench.lib.bars import Bar

# The five workloads that leave dead rows
UPDATING = ("mixed", "uniform", "indexed", "groups", "tpcc")

Pick = Callable[[dict[str, Any]], float]


def _sum(
    sample: dict[str, Any], what: str, backends: tuple[str, ...] = (), context: str = ""
) -> float:
    total = 0
    for name, value in sample["counters"].items():
        parts = name.split(".")
        if len(parts) == 3 and parts[2] == what:
            total += (
                value if (not backends or parts[0] in backends) and context in ("", parts[1]) else 0
            )
    return total


# Types of processes that write a page themselves if they need its buffer.  The ring buffer of a
# vacuum does not count, because the clock hand does not choose its buffers.
EVICTING = ("client_backend", "autovacuum_worker", "background_worker")


def reads(sample: dict[str, Any]) -> float:
    """Return the blocks of tables and indexes that all processes read from the kernel."""
    return _sum(sample, "reads")


def client_reads(sample: dict[str, Any]) -> float:
    return _sum(sample, "reads", ("client_backend",))


def wal_bytes(sample: dict[str, Any]) -> float:
    return sample["counters"]["wal_bytes"]


def all_writes(sample: dict[str, Any]) -> float:
    return _sum(sample, "writes")


def backend_writes(sample: dict[str, Any]) -> float:
    return _sum(sample, "writes", EVICTING, "normal")


def bgwriter_writes(sample: dict[str, Any]) -> float:
    return _sum(sample, "writes", ("background_writer",))


def checkpointer_writes(sample: dict[str, Any]) -> float:
    return _sum(sample, "writes", ("checkpointer",))


def vacuum_writes(sample: dict[str, Any]) -> float:
    return _sum(sample, "writes", (), "vacuum")


def bgwriter_share(sample: dict[str, Any]) -> float:
    """Return the background writer's share of the writes that free buffers at the clock hand."""
    both = bgwriter_writes(sample) + backend_writes(sample)
    return bgwriter_writes(sample) / both if both else 1.0


def backend_share(sample: dict[str, Any]) -> float:
    return backend_writes(sample) / all_writes(sample) if all_writes(sample) else 0.0


def decline(sample: dict[str, Any]) -> float:
    return 1 - sample["last_third_to_first"]


@dataclass(frozen=True)
class Figure:
    """A figure of a sample.

    metric is the name of its metric, if there is one: the ratio to the first variant.
    """

    title: str
    pick: Pick
    digits: int = 0
    metric: str = ""
    # The metric is the value of one variant, not a ratio.
    alone: bool = False
    # Workloads with this figure; empty: all
    workloads: tuple[str, ...] = ()


def counted(name: str) -> Pick:
    return lambda sample: sample["counters"].get(name, 0)


def growth(sample: dict[str, Any]) -> float:
    return sample["growth_pages"]


def _found(name: str) -> Pick:
    return lambda sample: sample[name]


FIGURES = (
    Figure("growth of the heap, pages", growth, metric="growth"),
    Figure(
        "growth of the indexes, pages",
        lambda sample: sample["index_growth_pages"],
        metric="index_growth",
    ),
    Figure("autovacuum cycles of the table updated most", lambda sample: sample["autovacuums"]),
    Figure("blocks read", reads, metric="reads"),
    Figure("blocks read by clients", client_reads, metric="client_reads"),
    Figure("blocks read, heaps", counted("heap_blks_read")),
    Figure("blocks read, indexes", counted("idx_blks_read")),
    Figure("WAL, MB", lambda sample: wal_bytes(sample) / 1e6, 1, metric="wal"),
    Figure("full-page images", counted("wal_fpi")),
    Figure("blocks written by backends", backend_writes, metric="backend_writes"),
    Figure("blocks written by bgwriter", bgwriter_writes),
    Figure("blocks written by checkpointer", checkpointer_writes),
    Figure("blocks written by vacuum, ring buffer", vacuum_writes),
    Figure("blocks written by all processes", all_writes, metric="writes"),
    Figure("share of backends in all writes", backend_share, 3),
    Figure(
        "share of bgwriter in the writes of bgwriter and backends",
        bgwriter_share,
        3,
        "bgwriter_share",
        alone=True,
    ),
    Figure("share of HOT updates", lambda sample: _share(sample, "n_tup_hot_upd"), 3),
    Figure(
        "share of updates to another page",
        lambda sample: _share(sample, "n_tup_newpage_upd"),
        3,
        metric="newpage",
    ),
    Figure(
        "share of all-frozen pages",
        _found("frozen"),
        3,
        "frozen",
        alone=True,
        workloads=("append_only",),
    ),
    Figure(
        "heap fetches of an index-only scan",
        _found("heap_fetches"),
        metric="heap_fetches",
        workloads=("append_only",),
    ),
    Figure(
        "pages that VACUUM (FREEZE) dirties",
        _found("freeze_writes"),
        metric="freeze_writes",
        workloads=("append_only",),
    ),
    Figure("operations a second", lambda sample: sample["tps"], metric="tps"),
    Figure(
        "operations a second, last third of the run to first third",
        lambda sample: sample["last_third_to_first"],
        3,
    ),
    Figure("CPU of the server, s", counted("cpu_seconds"), 1, metric="cpu"),
    Figure("CPU of bgwriter, s", counted("bgwriter_cpu_seconds"), 2),
)


def _share(sample: dict[str, Any], what: str) -> float:
    updates = sample["counters"]["n_tup_upd"]
    return sample["counters"][what] / updates if updates else 0.0


def hot_share(sample: dict[str, Any]) -> float:
    return _share(sample, "n_tup_hot_upd")


def bytes_per_record(sample: dict[str, Any]) -> float | None:
    """Return the bytes that a prune by the background writer frees; None if there was no prune."""
    pruned = sample["counters"].get("bgvacuum.pages_pruned", 0)
    return sample["counters"]["bgvacuum.bytes_freed"] / pruned if pruned else None


def reused(sample: dict[str, Any]) -> float | None:
    """Return the share of the offered pages that inserts used; None if no page was offered."""
    published = sample["counters"].get("bgvacuum.pages_published", 0)
    return sample["counters"]["bgvacuum.pages_reused"] / published if published else None


BARS = (
    Bar("mixed.growth", "mixed: growth of the heap against stock", 0.50),
    Bar(
        "mixed.growth.eager",
        "mixed: the same against a stock server that vacuums four times as often",
        0.70,
        claim="mixed: growth of the heap against a stock server that vacuums four times as often",
    ),
    Bar("mixed.reads", "mixed: blocks read", 1.05),
    Bar("mixed.wal", "mixed: WAL", 1.05),
    Bar("mixed.backend_writes", "mixed: blocks written by backends", 1.10),
    *(Bar(f"{name}.tps", f"{name}: tps against stock", least=0.98) for name in UPDATING),
    *(
        Bar(
            f"{name}.tps.switched", f"{name}: tps with the switch on to off, in one run", least=0.98
        )
        for name in switched.WORKLOADS
        if name in UPDATING
    ),
    Bar(
        "insert_only.tps.switched",
        "inserts only: tps with the switch on to off, in one run",
        least=0.99,
    ),
    *(
        Bar(f"{name}.hot_lost", f"{name}: share of HOT updates, stock minus patched", 0.005)
        for name in UPDATING
    ),
    *(
        Bar(f"{name}.newpage", f"{name}: updates to another page against stock", 1.05)
        for name in UPDATING
    ),
    *(
        Bar(f"{name}.bytes_per_record", f"{name}: bytes freed by a prune", least=800)
        for name in UPDATING
    ),
    *(
        Bar(f"{name}.reused", f"{name}: share of the offered pages that inserts use", least=0.50)
        for name in UPDATING
    ),
    Bar("insert_only.tps", "inserts only: tps against stock", least=0.99),
    Bar("append_only.frozen", "inserts without vacuums: share of all-frozen pages", least=0.90),
    Bar(
        "append_only.freeze_writes",
        "the same: pages that VACUUM (FREEZE) dirties, against stock",
        0.10,
        claim="inserts without vacuums: pages that VACUUM (FREEZE) dirties, against stock",
    ),
    Bar(
        "append_only.heap_fetches",
        "the same: heap fetches of an index-only scan, against stock",
        0.10,
        claim="inserts without vacuums: heap fetches of an index-only scan, against stock",
    ),
    Bar(
        "temporary.drop",
        "time of DROP TABLE of a temporary table, 6 GB of shared buffers, against stock",
        1.02,
    ),
    Bar(
        "temporary.drop.switched",
        "the same with the switch on to off, in one run",
        1.02,
        claim="time of DROP TABLE of a temporary table, 6 GB of shared buffers, with the switch on to off, in one run",
    ),
    Bar("tps", "tps, pairs of all workloads: on against stock", least=0.98),
    Bar(
        "tps",
        "the same, stretch goal",
        least=1.05,
        goal=True,
        claim="tps, pairs of all workloads: on against stock; stretch goal",
    ),
    Bar("decline", "decline of tps over the run against that of stock", 0.667, goal=True),
    Bar("tps.off", "tps: off against stock", 1.02, least=0.98),
)


def line(sample: dict[str, Any]) -> str:
    """Return the main figures of a run as text for a log."""
    counters = sample["counters"]
    written = (backend_writes, bgwriter_writes, checkpointer_writes, vacuum_writes)
    parts = [
        f"{sample['seconds']:.1f} s, {sample['tps']:,.0f} tps ("
        + " ".join(f"{tps:,.0f}" for tps in sample["tps_by_slice"])
        + f"; last third {sample['last_third_to_first']:.3f} of first)",
        f"heap {sample['growth_pages']:+,.0f} pages ("
        + " ".join(f"{pages:,.0f}" for pages in sample["growth_pages_by_slice"])
        + f"), indexes +{sample['index_growth_pages']:,}",
        f"reads {reads(sample):,.0f} (heap {counters['heap_blks_read']:,}, index {counters['idx_blks_read']:,}, "
        f"clients {client_reads(sample):,.0f})",
        f"WAL {wal_bytes(sample) / 1e6:,.1f} MB, {counters['wal_fpi']:,} images",
        "writes: backends {:,.0f}, bgwriter {:,.0f}, checkpointer {:,.0f}, vacuum {:,.0f}".format(
            *(count(sample) for count in written)
        )
        + f"; bgwriter's share of evictions {100 * bgwriter_share(sample):.1f} %",
        f"updates {counters['n_tup_upd']:,}, HOT {counters['n_tup_hot_upd']:,}, "
        f"new page {counters['n_tup_newpage_upd']:,}; dead now {counters['n_dead_tup']:,}; "
        f"autovacuum x {sample['autovacuums']}",
        f"CPU {counters['cpu_seconds']:.1f} s, bgwriter {counters['bgwriter_cpu_seconds']:.2f} s",
    ]
    extra = [
        f"{name[9:]} {value:,.0f}"
        for name, value in counters.items()
        if name.startswith("bgvacuum.")
    ]
    if extra:
        parts.append("pg_stat_bgvacuum: " + ", ".join(extra))
    return "\n    ".join(parts)
