"""Hot rows stored together: what row_heat gains, and what its recording costs."""

import re
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy
import psycopg

from bench.heat import load
from bench.lib import cgroup, counters, pgbench
from bench.lib.bars import Bar, show_bars
from bench.lib.console import BenchError
from bench.lib.device import block_device
from bench.lib.options import common, fill_in
from bench.lib.paths import CLUSTERS, bindir, work
from bench.lib.result import Result
from bench.lib.server import Cluster, fetch_dicts
from bench.lib.session import quietly, session
from bench.lib.statistics import interleave, paired_ratio
from bench.studies import tpcc
from bench.tpcc import check, workload
from bench.tpcc.stages import FEW_BLOCKS, stages

EXTENSION = "row_heat"
RATE = f"{EXTENSION}.sample_rate"
LOADED = "bench-heat"
RUNNING = "bench-heat-run"
SETTINGS = {
    "fsync": "off",
    "autovacuum": "off",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "jit": "off",
    "huge_pages": "off",
}
# The server with the hot rows together loads the extension, and records as it does by default.  The
# other one does not load it.
HEAT_MEMORY = f"{EXTENSION}.memory"
MEASURED = {
    "loaded": {},
    "packed": {"shared_preload_libraries": EXTENSION, HEAT_MEMORY: "4MB"},
}
# While heat is learned, memory is not limited, and each row has an entry.
LEARNING = {**MEASURED["packed"], HEAT_MEMORY: "128MB", RATE: "1"}
# Where the hot rows change, record each statement, and forget those that were hot.  A server whose
# memory for the heat has another size begins with none, so the size is the same while heat is
# learned.
DRIFTING = {
    RATE: "1",
    f"{EXTENSION}.half_life": "4min",
    HEAT_MEMORY: MEASURED["packed"][HEAT_MEMORY],
}
# With drifting hot rows, the warm-up is so many times longer.  If rows are moved, it is longer still,
# until most hot rows of the beginning have been replaced.
DRIFT_WARMUPS = {"loaded": 4, "packed": 16}
# The notice of a maintenance call that has moved rows
MOVED = re.compile(r"(\d+) of \d+ rows are moved")
# Sample rates that are compared: off, the default, and every statement
RECORDING = (0, 0.1, 1)
# The rows in their order of load, and in the order of heat
VARIANTS = tuple(MEASURED)
HOT_FILLFACTOR = 90
TPCC_STAGE = FEW_BLOCKS.name
TPCC_MEMORY = 400
TPCC_BUFFERS = "270MB"
BARS = (
    Bar("tpcc.all", "throughput of TPC-C, whole stack, hot rows together", least=1.20),
    Bar("zipf.099", "throughput, Zipf 0.99, hot rows together", least=2.5),
    Bar("drift", "throughput, drifting hot rows, with maintenance", least=1.3),
    Bar("uniform", "throughput, uniform", least=0.98),
    Bar("uniform", "the same, at most", 1.02),
    Bar("recording", "throughput with recording, processor-bound", least=0.99),
    Bar("move.p99_ms", "99th percentile of an update while rows are moved, ms", 50),
)


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    memory: int
    shared_buffers: int
    iops: int
    times: int
    width: int
    clients: int
    learn: int
    warmup: int
    seconds: int
    pairs: int
    phases: int
    phase: float
    tpcc_warmup: int
    tpcc_seconds: int
    direct: bool

    def measured(self, variant: str) -> dict[str, str]:
        """Return settings of a server that is measured."""
        return {**MEASURED[variant], **(tpcc.DIRECT if self.direct else {})}


def background(
    cluster: Cluster,
    options: Options,
    keys: load.Keys,
    rows: int,
    seconds: float,
    *,
    began: float = 0,
    update: bool = False,
    learning: bool = False,
) -> pgbench.Background:
    """Return clients.  The hot rows have drifted from the time "began" on.

    The statements in which heat is recorded are others than those that are measured.  The same ones
    would make rows hot that are used once, but twice in the study.
    """
    directory = work() / "heat"
    return pgbench.Background(
        cluster,
        load.DATABASE,
        [load.script(directory, keys, update)],
        load.variables(rows, options.seed, began or time.time()),
        pgbench.client_options(options.clients, options.seed + learning),
        directory,
        seconds,
    )


def known_heat(connection: psycopg.Connection) -> list[dict[str, Any]]:
    """Return what row_heat knows of each table."""
    return fetch_dicts(
        connection,
        "SELECT relation::text, accesses, share_1, share_5, share_10, share_30, pages, hot_share,"
        " hot_pages, packed_pages, pg_stat_get_tuples_updated(relation) AS updates"
        f" FROM {EXTENSION}.relations",
    )


def learn(cluster: Cluster, options: Options, keys: load.Keys, rows: int) -> dict[str, Any]:
    """Let row_heat record the statements, then rewrite the table in the order of heat."""
    with cluster.connect(load.DATABASE) as connection:
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
    with background(cluster, options, keys, rows, options.learn, learning=True):
        time.sleep(options.learn)
    with cluster.connect(load.DATABASE) as connection:
        (heat,) = known_heat(connection)
        begin = time.monotonic()
        (heat["rewritten"],) = connection.execute(
            f"SELECT {EXTENSION}.cluster_by_heat(%s)", [load.TABLE]
        ).fetchone()
        heat["rewrite_seconds"] = time.monotonic() - begin
        connection.execute(f"VACUUM (FREEZE) {load.TABLE}")
        connection.execute("CHECKPOINT")
    return heat


def measure(
    cluster: Cluster, options: Options, keys: load.Keys, rows: int, variant: str
) -> dict[str, Any]:
    """Run the statements with limited memory and reads, and return a sample."""
    maintained = keys.drift and variant == "packed"
    warmup = options.warmup * (DRIFT_WARMUPS[variant] if keys.drift else 1)
    with ExitStack() as stack:
        cgroup.evict(cluster.data)
        group = cgroup.create(options.memory, options.iops, CLUSTERS)
        if group:
            stack.callback(group.remove)
        stack.callback(quietly, cluster.remove)
        cluster.start(
            {
                **SETTINGS,
                "shared_buffers": f"{options.shared_buffers}MB",
                **options.measured(variant),
                **(DRIFTING if maintained else {}),
            },
            group.join_prefix() if group else (),
        )
        with cluster.connect(load.DATABASE) as connection:
            postmaster, device = cluster.postmaster(), block_device(CLUSTERS)
            until = warmup + options.seconds
            # the hot rows are those of the moment at which the server had learned them
            began = time.time() - options.learn
            with background(cluster, options, keys, rows, until, began=began) as clients:
                begun = time.time()
                notices = wait(connection, begun + warmup, maintained)
                begin, before = time.time(), counters.snapshot(
                    connection, postmaster, device, group
                )
                notices += wait(connection, begun + until, maintained)
                # The last maintenance call may have outlived the clients.
                end = min(time.time(), begun + until)
                after = counters.snapshot(connection, postmaster, device, group)
            log = clients.log().window(begin, end)
            done = log.count(0)
            return {
                **(maintenance(notices, options) if maintained else {}),
                "limits": tpcc.limits_of(group),
                "tps": done / (end - begin),
                "p99_ms": float(numpy.percentile(log.latency, 99) * 1000),
                "pages": load.pages(connection),
                "per_statement": {
                    name: value / done for name, value in counters.difference(before, after).items()
                },
            }


def wait(connection: psycopg.Connection, until: float, maintained: bool) -> list[str]:
    """Wait.  Return the notices of the maintenance calls that ran meanwhile, ten times a minute."""
    notices: list[str] = []

    def collect(notice: psycopg.errors.Diagnostic) -> None:
        notices.append(notice.message_primary or "")

    connection.add_notice_handler(collect)
    while maintained and time.time() < until:
        connection.execute(
            f"CALL {EXTENSION}.pack(%s, 2000, 8000, cached_only => true)", [load.TABLE]
        )
        time.sleep(max(0.0, min(6.0, until - time.time())))
    time.sleep(max(0.0, until - time.time()))
    connection.remove_notice_handler(collect)
    return notices


def maintenance(notices: list[str], options: Options) -> dict[str, int]:
    """Return what the maintenance calls with these notices have done.

    Raise an error if they have moved no row.  A smoke run may be too short for a row to become hot.
    """
    moved = sum(int(match[1]) for match in map(MOVED.match, notices) if match)
    if moved == 0 and not options.quick:
        raise BenchError(f"{EXTENSION}.pack() has moved no row: {notices[-1]}")
    return {"calls": len(notices), "moved": moved}


def compare(result: Result, options: Options, base: Cluster, keys: load.Keys, rows: int) -> None:
    """Measure one distribution of keys."""
    packed = base.copy_to(f"{LOADED}-packed")
    with ExitStack() as stack:
        stack.callback(quietly, packed.remove)
        packed.start(
            {
                **SETTINGS,
                **LEARNING,
                **(DRIFTING if keys.drift else {}),
                "shared_buffers": "1GB",
            }
        )
        heat = learn(packed, options, keys, rows)
        packed.stop()
        result.samples.append({"keys": keys.name, "heat": heat})
        for number, variant in interleave(VARIANTS, options.pairs):
            running = (packed if variant == "packed" else base).copy_to(RUNNING)
            sample = measure(running, options, keys, rows, variant)
            result.environment["limits"] = sample.pop("limits")
            result.samples.append(
                {"keys": keys.name, "variant": variant, "round": number, **sample}
            )


def recording(cluster: Cluster, options: Options, rows: int) -> list[dict[str, float]]:
    """Switch recording on and off in turn within one run whose rows are all in memory."""
    keys = load.KEYS[1]
    samples = []
    seconds = options.phases * len(RECORDING) * options.phase
    with cluster.connect(load.DATABASE) as connection:
        with background(cluster, options, keys, rows, seconds + options.phase) as clients:
            time.sleep(options.phase)
            phases = []
            for number, rate in interleave(RECORDING, options.phases):
                connection.execute(f"ALTER SYSTEM SET {RATE} = {rate}")
                connection.execute("SELECT pg_reload_conf()")
                # sessions read the file before their next statement
                time.sleep(options.phase / 5)
                begin = time.time()
                time.sleep(options.phase * 4 / 5)
                phases.append((number, rate, begin, time.time()))
        log = clients.log()
        connection.execute(f"ALTER SYSTEM RESET {RATE}")
        connection.execute("SELECT pg_reload_conf()")
    for number, rate, begin, end in phases:
        samples.append(
            {"round": number, "rate": rate, "tps": log.window(begin, end).count(0) / (end - begin)}
        )
    return samples


def moving(cluster: Cluster, options: Options, rows: int) -> dict[str, float]:
    """Return percentiles of the time of an update before rows are moved, and meanwhile."""
    keys = load.KEYS[1]
    with cluster.connect(load.DATABASE) as connection:
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
        connection.execute(f"ALTER DATABASE {load.DATABASE} SET {RATE} = 1")
        before = load.pages(connection)
        with background(cluster, options, keys, rows, options.learn + 600, update=True) as clients:
            begin = time.time()
            time.sleep(options.learn)
            moved = time.time()
            connection.execute(f"CALL {EXTENSION}.pack(%s, 2000)", [load.TABLE])
            end = time.time()
        log = clients.log()
        quiet, busy = log.window(begin, moved), log.window(moved, end)
        return {
            "seconds": end - moved,
            "p99_before_ms": float(numpy.percentile(quiet.latency, 99) * 1000),
            "p99_ms": float(numpy.percentile(busy.latency, 99) * 1000),
            "max_ms": float(busy.latency.max() * 1000),
            "pages_before": before,
            "pages": load.pages(connection),
        }


def rewrite_all(connection: psycopg.Connection) -> list[dict[str, Any]]:
    """Rewrite the tables that gain in the order of heat, and return what was known of each table.

    Leave room for updates, so that a hot row stays in its page.
    """
    heat = known_heat(connection)
    for table in heat:
        table["rewritten"] = connection.execute(
            f"SELECT statement IS NOT NULL FROM {EXTENSION}.advise(%s::regclass)",
            [table["relation"]],
        ).fetchone()[0]
        if not table["rewritten"]:
            continue
        if table["updates"] > 0:
            connection.execute(
                f"ALTER TABLE {table['relation']} SET (fillfactor = {HOT_FILLFACTOR})"
            )
        connection.execute(f"SELECT {EXTENSION}.cluster_by_heat(%s::regclass)", [table["relation"]])
    return heat


def tpcc_loads(common: tpcc.Common, options: Options) -> tuple[workload.Load, workload.Load]:
    """Return the load in which heat is recorded, and the one that is measured.

    They consist of different transactions on the same hot rows.
    """
    measured = workload.Load(
        common.warehouses,
        common.scale,
        common.clients,
        options.tpcc_warmup,
        options.tpcc_seconds,
        common.seed,
    )
    return (
        replace(
            measured,
            warmup=options.learn,
            seconds=1,
            seed=measured.seed + workload.NURAND_PERIOD,
        ),
        measured,
    )


def of_tpcc(result: Result, options: Options, stack: ExitStack) -> None:
    """Measure the whole stack of TPC-C, with its rows in the order of load and of heat.

    Both databases have run the same transactions before, in which heat was recorded.
    """
    (stage,) = stages((TPCC_STAGE,))
    common = tpcc.Common(
        quick=options.quick,
        seed=options.seed,
        lite=options.quick,
        warehouses=2 if options.quick else 10,
        clients=options.clients,
        warmup=options.tpcc_warmup,
        memory=TPCC_MEMORY,
        iops=options.iops,
        unlimited=False,
        shared_buffers=TPCC_BUFFERS,
    )
    tpcc.require_settings([stage])
    base = tpcc.start_loaded(f"{LOADED}-tpcc", stage, common, stack)
    base.stop()
    # A shutdown keeps the heat in a file, so that a copy of the server has it.
    libraries = {
        **SETTINGS,
        **stage.settings,
        **stage.measured,
        **LEARNING,
    }
    base.start({**libraries, "shared_buffers": "1GB"})
    with base.connect(tpcc.DATABASE) as connection:
        connection.execute(f"CREATE EXTENSION {EXTENSION}")
    learning, measuring = tpcc_loads(common, options)
    workload.run(base, tpcc.DATABASE, learning, work() / "heat", 0, lambda _: None)
    base.stop()
    packed = base.copy_to(f"{LOADED}-tpcc-packed")
    stack.callback(quietly, packed.remove)
    for cluster in (base, packed):
        cluster.start({**libraries, "shared_buffers": "1GB", RATE: "0"})
        with cluster.connect(tpcc.DATABASE) as connection:
            if cluster is packed:
                result.samples.append({"keys": "tpcc", "heat": rewrite_all(connection)})
            connection.execute("VACUUM (FREEZE, ANALYZE)")
            connection.execute("CHECKPOINT")
        cluster.stop()
    for number, variant in interleave(VARIANTS, options.pairs):
        running = (packed if variant == "packed" else base).copy_to(RUNNING)
        with ExitStack() as inner:
            group = tpcc.limit(common, common.memory, running, inner)
            result.environment["limits of TPC-C"] = tpcc.limits_of(group)
            inner.callback(quietly, running.remove)
            running.start(
                {
                    **tpcc.BASE_SETTINGS,
                    "shared_buffers": common.shared_buffers,
                    **stage.settings,
                    **stage.measured,
                    **options.measured(variant),
                },
                group.join_prefix() if group else (),
            )
            sample = workload.run(
                running,
                tpcc.DATABASE,
                measuring,
                work() / "heat",
                number,
                lambda _: None,
                block_device(CLUSTERS),
                group,
            )
            if group:
                cgroup.require_own_cache(running.data, group)
                group.lift()
            with running.connect(tpcc.DATABASE) as connection:
                check.check(connection, f"{variant}, run {number + 1}")
        result.samples.append({"keys": "tpcc", "variant": variant, "round": number, **sample})


def by_variant(result: Result, keys: str) -> dict[str, list[dict[str, Any]]]:
    """Return the samples of these keys, or of TPC-C, by variant."""
    return {
        variant: [
            sample
            for sample in result.samples
            if (sample.get("keys"), sample.get("variant")) == (keys, variant)
        ]
        for variant in VARIANTS
    }


def show_keys(result: Result) -> None:
    rows = []
    for keys in load.KEYS:
        by = by_variant(result, keys.name)
        if not by["packed"]:
            continue
        (heat,) = (s["heat"] for s in result.samples if "heat" in s and s["keys"] == keys.name)
        ratio = paired_ratio(
            [sample["tps"] for sample in by["packed"]],
            [sample["tps"] for sample in by["loaded"]],
            result.seed,
        )
        result.ratio(keys.name, ratio)
        rows.append(
            [
                keys.title,
                *(f"{numpy.median([s['tps'] for s in by[variant]]):,.0f}" for variant in VARIANTS),
                str(ratio),
                *(
                    f"{numpy.median([s['per_statement'].get('group_reads', 0) for s in by[variant]]):.3f}"
                    for variant in VARIANTS
                ),
                *(
                    f"{heat[name]:,}" if heat[name] is not None else ""
                    for name in ("hot_pages", "packed_pages")
                ),
            ]
        )
    if rows:
        result.table(
            "Statements a second with limited memory and reads",
            [
                "keys",
                "loaded",
                "packed",
                "ratio (interval)",
                "reads, loaded",
                "packed",
                "hot pages",
                "packed",
            ],
            rows,
            "keys",
        )
    maintained = [sample for sample in by_variant(result, "drift")["packed"] if "moved" in sample]
    if maintained:
        result.table(
            "Maintenance while the hot rows change",
            ["run", "calls of pack()", "rows moved", "pages of the table afterwards"],
            [
                [
                    str(sample["round"] + 1),
                    *(f"{sample[name]:,}" for name in ("calls", "moved", "pages")),
                ]
                for sample in maintained
            ],
            "maintenance",
        )


def show_recording(result: Result) -> None:
    switched = [sample for sample in result.samples if "rate" in sample]
    if not switched:
        return
    off, on, every = ([s["tps"] for s in switched if s["rate"] == rate] for rate in RECORDING)
    ratios = [paired_ratio(rates, off, result.seed) for rates in (on, every)]
    for name, ratio in zip(("recording", "recording.every_statement"), ratios, strict=True):
        result.ratio(name, ratio)
    result.table(
        "Statements a second with all rows in memory: medians",
        ["fraction of recorded statements", "statements", "ratio (interval)"],
        [
            [f"{rate:g}", f"{numpy.median(rates):,.0f}", str(ratio)]
            for rate, rates, ratio in zip(RECORDING, (off, on, every), ("", *ratios), strict=True)
        ],
        "recording",
    )


def show_move(result: Result) -> None:
    for sample in result.samples:
        if "p99_ms" in sample and "p99_before_ms" in sample:
            result.metrics["move.p99_ms"] = sample["p99_ms"]
            result.table(
                "Updates of one row each while rows are moved",
                ["", "ms"],
                [
                    ["99th percentile before", f"{sample['p99_before_ms']:.2f}"],
                    ["99th percentile meanwhile", f"{sample['p99_ms']:.2f}"],
                    ["longest meanwhile", f"{sample['max_ms']:.2f}"],
                ],
                "move",
            )


def show_tpcc(result: Result) -> None:
    loaded, packed = by_variant(result, "tpcc").values()
    if not packed:
        return
    for name, pick in (("tpcc.all", tpcc.notpm), ("tpcc.reads", tpcc.reads)):
        result.ratio(
            name, paired_ratio(list(map(pick, packed)), list(map(pick, loaded)), result.seed)
        )
    result.table(
        f"TPC-C, whole stack, {TPCC_MEMORY} MB of memory, rows in the order of load and of heat: medians",
        ["", *VARIANTS],
        [
            [
                title,
                *(f"{numpy.median(list(map(pick, runs))):,.2f}" for runs in (loaded, packed)),
            ]
            for title, pick in (
                ("New-Orders a minute", tpcc.notpm),
                ("device reads per New-Order", tpcc.reads),
                (
                    "p99 of New-Order, ms",
                    lambda sample: sample["latency_ms"]["new_order"]["p99"],
                ),
            )
        ],
        "tpcc",
    )


def show(result: Result) -> None:
    show_keys(result)
    show_recording(result)
    show_move(result)
    show_tpcc(result)
    show_bars(result, BARS)


def run(options: Options, names: tuple[str, ...], target: Path | None) -> None:
    result = Result("heat", options.seed, options.quick)
    # The memory of the environment is that of the machine.
    described = asdict(options)
    described["memory_limit"] = described.pop("memory")
    result.describe(**described)
    rows = load.rows_for(options.memory, options.times, options.width)
    with session() as stack:
        base = Cluster(LOADED, bindir("dense"))
        base.remove()
        stack.callback(quietly, base.remove)
        base.start({**SETTINGS, "shared_buffers": "1GB"})
        load.fill(base, rows, options.width)
        with base.connect() as connection:
            result.describe_server(connection)
        base.stop()
        for keys in load.KEYS:
            if not names or keys.name in names:
                compare(result, options, base, keys, rows)
        if not names or "tpcc" in names:
            of_tpcc(result, options, stack)
        if not names or "recording" in names or "move" in names:
            base.start({**SETTINGS, **MEASURED["packed"], "shared_buffers": "1GB"})
            if not names or "recording" in names:
                result.samples += recording(base, options, rows)
            if not names or "move" in names:
                result.samples.append(moving(base, options, rows))
        show(result)
    result.save(target)


@click.command("heat", short_help="Hot rows stored together.")
@common
@click.option("--memory", type=click.IntRange(32), default=128, show_default=True, metavar="MB")
@click.option(
    "--shared-buffers", type=click.IntRange(16), metavar="MB", help="Default: 5/8 of the memory."
)
@click.option("--iops", type=click.IntRange(1), default=1500, show_default=True)
@click.option(
    "--times",
    type=click.IntRange(1),
    help="Size of the table in multiples of the memory; default: 4, or 1 with --quick.",
)
@click.option(
    "--width",
    type=click.IntRange(8, 1500),
    default=400,
    show_default=True,
    help="Bytes of the payload of a row.",
)
@click.option("--clients", type=click.IntRange(1), default=8, show_default=True)
@click.option(
    "--learn", type=click.IntRange(1), help="Seconds to record; default: 60, or 3 with --quick."
)
@click.option("--warmup", type=click.IntRange(0), help="Default: 30, or 1 with --quick.")
@click.option("--seconds", type=click.IntRange(1), help="Default: 40, or 3 with --quick.")
@click.option("--pairs", type=click.IntRange(1), help="Default: 3, or 1 with --quick.")
@click.option(
    "--phases",
    type=click.IntRange(1),
    help="Phases with recording; default: 40, or 2 with --quick.",
)
@click.option(
    "--phase", type=click.FloatRange(0.5), help="Seconds of a phase; default: 4, or 1 with --quick."
)
@click.option("--tpcc-warmup", type=click.IntRange(0), help="Default: 120, or 3 with --quick.")
@click.option("--tpcc-seconds", type=click.IntRange(1), help="Default: 180, or 5 with --quick.")
@click.option(
    "--direct",
    is_flag=True,
    help="Use direct I/O for tables and indexes while reads are limited.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*(keys.name for keys in load.KEYS), "tpcc", "recording", "move"]),
    metavar="NAME",
    help="Measure only these keys, tpcc, recording, or move; repeatable.",
)
def command(target: Path | None, quick: bool, only: tuple[str, ...], **options) -> None:
    """Hot rows stored together, against rows in their order of load."""
    options["shared_buffers"] = options["shared_buffers"] or options["memory"] * 5 // 8
    fill_in(
        options,
        quick,
        times=(4, 1),
        learn=(60, 3),
        warmup=(30, 1),
        seconds=(40, 3),
        pairs=(3, 1),
        phases=(40, 2),
        phase=(4.0, 1.0),
        tpcc_warmup=(120, 3),
        tpcc_seconds=(180, 5),
    )
    run(Options(quick=quick, **options), only, target)
