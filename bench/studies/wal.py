"""WAL with direct I/O and in smaller units: bytes on the device, page cache, commits a second."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from bench.lib.bars import show_bars
from bench.lib.console import BenchError, progress
from bench.lib.options import common, fill_in
from bench.lib.result import Result
from bench.lib.server import Cluster, has_stock
from bench.lib.session import session
from bench.wal import device_bytes, residency, speed
from bench.wal.instance import SETTINGS, Instance
from bench.wal.memory import Memory
from bench.wal.variants import DIRECT_AUTO, MODE, OFF, STOCK


@dataclass(frozen=True)
class Options:
    quick: bool
    seed: int
    exact: bool
    clients: Sequence[int]
    methods: Sequence[str]
    pairs: int
    seconds: float
    scale: int
    memory: int

    @property
    def segments(self) -> int:
        return 12 if self.quick else 32

    @property
    def warmup(self) -> float:
        return 0.4 if self.quick else 0.5


def require(cluster: Cluster) -> None:
    if not cluster.has_setting(MODE):
        raise BenchError(
            f'the server has no setting "{MODE}": wal_directio_patch is not in it, run "make server"'
        )


def measure(options: Options, result: Result, stack: ExitStack) -> None:
    instance = Instance(stack, "bench-wal")
    require(instance.cluster)
    stock = has_stock()
    # Do this first: it fails without direct I/O, which the study needs.
    cluster = instance.start(DIRECT_AUTO, {}, warm=False)
    with cluster.connect() as connection:
        result.describe_server(
            connection, **{"compared with": "stock" if stock else "switches off"}
        )
    cluster.stop()
    if not options.exact:
        instance.load(options.scale, options.segments, {})
    with progress() as bars:
        baselines = (STOCK, OFF) if stock else (OFF,)
        on_device = device_bytes.DeviceBytes(
            result, stack, baselines, options.clients, options.segments
        )
        on_device.measure(
            1 if options.quick else 2, options.scale, options.warmup, min(options.seconds, 2), bars
        )
        shown = list(device_bytes.BARS)
        residency.Residency(result, stack).measure(32 if options.quick else 200, bars)
        shown += residency.BARS
        if not options.exact:
            commits = speed.Speed(result, instance, stock, options.clients)
            for method in options.methods:
                commits.measure(method, options.pairs, options.warmup, options.seconds, bars)
            commits.show()
            shown += speed.bars_of(options.clients)
            memory = Memory(result, stack, options.memory)
            if memory.possible():
                memory.measure(
                    1 if options.quick else 2,
                    1 if options.quick else 5,
                    3 if options.quick else 20,
                    bars,
                )
    show_bars(result, shown)


def run(options: Options, target: Path | None) -> None:
    result = Result("wal", options.seed, options.quick)
    result.describe(
        clients=", ".join(map(str, options.clients)),
        methods=", ".join(options.methods),
        pairs=options.pairs,
        measured=options.seconds,
        scale=options.scale,
        exact=options.exact,
    )
    result.environment["settings of all"] = SETTINGS
    with session() as stack:
        measure(options, result, stack)
    result.save(target)


@click.command("wal", short_help="Device bytes, page cache and time of WAL with direct I/O.")
@common
@click.option(
    "--clients",
    type=click.IntRange(1, 50),
    multiple=True,
    metavar="NUMBER",
    help="Number of clients; default: 1, 8 and 32; repeatable.",
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(["fdatasync", "open_datasync"]),
    multiple=True,
    help="Value of wal_sync_method for timed tests; default: both; repeatable.",
)
@click.option(
    "--pairs",
    type=click.IntRange(1),
    help="Rounds of each timed test; default: 9, or 1 with --quick.",
)
@click.option(
    "--seconds", type=click.FloatRange(0.5), help="Seconds of a run; default: 5, or 1 with --quick."
)
@click.option(
    "--scale",
    type=click.IntRange(1),
    help="Scale factor of pgbench; default: 5, or 1 with --quick.",
)
@click.option(
    "--memory",
    type=click.IntRange(64),
    metavar="MB",
    help="Memory limit for the server and its page cache, in the test of data that stays cached; default: 400, or 128 with --quick.",
)
@click.option(
    "--exact", is_flag=True, help="Bytes on the device and in the page cache only; no times."
)
def command(
    target: Path | None,
    quick: bool,
    seed: int,
    clients: tuple[int, ...],
    methods: tuple[str, ...],
    **options,
) -> None:
    """WAL with direct I/O and in smaller units.

    The study measures device bytes per commit, page cache, and commits a second.
    """
    fill_in(options, quick, pairs=(9, 1), seconds=(5.0, 1.0), scale=(5, 1), memory=(400, 128))
    chosen = Options(
        quick=quick,
        seed=seed,
        clients=tuple(dict.fromkeys(clients)) or (1, 8, 32),
        methods=tuple(dict.fromkeys(methods)) or ("fdatasync", "open_datasync"),
        **options,
    )
    run(chosen, target)
