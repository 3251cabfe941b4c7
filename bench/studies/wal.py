"""WAL with direct I/O and in smaller units: bytes on the device, page cache, commits a second."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.lib.bars import show_bars
from bench.lib.console import BenchError, progress
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
        raise BenchError(f'the server has no setting "{MODE}": wal_directio_patch is not in it, run "make server"')


def measure(options: Options, result: Result, stack: ExitStack) -> None:
    instance = Instance(stack, "bench-wal")
    require(instance.cluster)
    stock = has_stock()
    # Do this first: it fails without direct I/O, which the study needs.
    cluster = instance.start(DIRECT_AUTO, {}, warm=False)
    with cluster.connect() as connection:
        result.describe_server(connection, **{"compared with": "stock" if stock else "switches off"})
    cluster.stop()
    if not options.exact:
        instance.load(options.scale, options.segments, {})
    with progress() as bars:
        baselines = (STOCK, OFF) if stock else (OFF,)
        on_device = device_bytes.DeviceBytes(result, stack, baselines, options.clients, options.segments)
        on_device.measure(1 if options.quick else 2, options.scale, options.warmup, min(options.seconds, 2), bars)
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
                memory.measure(1 if options.quick else 2, 1 if options.quick else 5, 3 if options.quick else 20, bars)
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
