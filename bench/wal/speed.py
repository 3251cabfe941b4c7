"""Commits a second: direct I/O to buffered I/O, and switches off to the stock release.

The runs of the variants take turns.
"""

from collections.abc import Sequence

from rich.progress import Progress

from bench.lib.bars import Bar
from bench.lib.result import Result
from bench.lib.statistics import interleave, paired_ratio, quartiles
from bench.wal import load
from bench.wal.instance import Instance
from bench.wal.variants import DIRECT_AUTO, OFF, STOCK, Variant

# The variants that are compared with each sync method.  A ratio is that of a variant to the variant
# before it.
CHAINS: dict[str, tuple[Variant, ...]] = {
    "fdatasync": (STOCK, OFF, DIRECT_AUTO),
    "open_datasync": (OFF, DIRECT_AUTO),
}
PAIRS = {"direct": (DIRECT_AUTO, OFF), "off": (OFF, STOCK)}
TITLES = {"direct": "direct to buffered", "off": "patched, off, to stock"}


def bars_of(clients: Sequence[int]) -> list[Bar]:
    bars = []
    for method in CHAINS:
        for count in clients:
            metric = f"tps.direct.{method}.{count}"
            bars.append(
                Bar(metric, f"tps, {method}, clients: {count}: direct against buffered", least=0.95)
            )
    goal = "tps, fdatasync, clients: 32: direct against buffered, stretch goal"
    bars.append(Bar("tps.direct.fdatasync.32", goal, least=1.10, goal=True))
    bars.append(Bar("tps.off", "tps, all clients: switches off against stock", 1.02, least=0.98))
    return bars


class Speed:
    def __init__(
        self, result: Result, instance: Instance, stock: bool, clients: Sequence[int]
    ) -> None:
        self.result = result
        self.instance = instance
        self.clients = clients
        self.measured: list[str] = []
        self.chains = {
            method: tuple(variant for variant in chain if stock or variant is not STOCK)
            for method, chain in CHAINS.items()
        }

    def measure(
        self, method: str, pairs: int, warmup: float, seconds: float, bars: Progress
    ) -> None:
        self.measured.append(method)
        chain = self.chains[method]
        task = bars.add_task(
            f"commits a second, {method}: runs", total=len(chain) * pairs * len(self.clients)
        )
        for number, variant in interleave(chain, pairs):
            cluster = self.instance.start(variant, {"wal_sync_method": method})
            for clients in self.clients:
                sample = load.run(cluster, clients, warmup, seconds, self.result.seed + number)
                self.result.samples.append(
                    {
                        "test": "tps",
                        "method": method,
                        "variant": variant.name,
                        "round": number,
                        **sample,
                    }
                )
                bars.advance(task)
            self.instance.stop(cluster, variant)

    def show(self) -> None:
        rows = [self.row(method, clients) for method in self.measured for clients in self.clients]
        self.pooled()
        self.result.table(
            "Commits a second, pgbench -N, runs in turns: median (quartiles); ratios of pairs with their interval, and"
            " their quartiles",
            [
                "",
                "clients",
                "stock",
                "patched, off",
                "direct, auto",
                TITLES["direct"],
                "quartiles",
                TITLES["off"],
                "quartiles",
            ],
            rows,
            "tps",
        )

    def values(self, method: str, variant: Variant, clients: int) -> list[float]:
        """Return the commits a second of all runs, in the order of the rounds."""
        found = sorted(
            (sample["round"], sample["tps"])
            for sample in self.result.samples
            if sample["test"] == "tps"
            and (sample["method"], sample["variant"], sample["clients"])
            == (method, variant.name, clients)
        )
        return [value for _, value in found]  # type: ignore[misc]

    def row(self, method: str, clients: int) -> list[object]:
        cells: list[object] = [method, clients]
        for variant in (STOCK, OFF, DIRECT_AUTO):
            values = self.values(method, variant, clients)
            cells.append(
                "{:,.0f} ({:,.0f} to {:,.0f})".format(*quartiles(values)) if values else ""
            )
        for name, (first, second) in PAIRS.items():
            values, baseline = self.values(method, first, clients), self.values(
                method, second, clients
            )
            if not baseline:
                cells += ["", ""]
                continue
            ratio = paired_ratio(values, baseline, self.result.seed)
            self.result.ratio(f"tps.{name}.{method}.{clients}", ratio)
            _, low, high = quartiles([value / base for value, base in zip(values, baseline)])
            cells += [str(ratio), f"{low:.3f} to {high:.3f}"]
        return cells

    def pooled(self) -> None:
        """Add the ratio of switches off to stock, from the pairs of all numbers of clients.

        Both servers do the same work, so all pairs belong to one ratio.
        """
        both: list[tuple[float, float]] = []
        for clients in self.clients:
            both += zip(
                self.values("fdatasync", OFF, clients), self.values("fdatasync", STOCK, clients)
            )
        if both:
            self.result.ratio("tps.off", paired_ratio(*zip(*both), self.result.seed))  # type: ignore[misc]
