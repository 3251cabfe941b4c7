"""Bytes that a commit writes to the device of pg_wal, by write unit and number of clients."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy
from rich.progress import Progress

from bench.lib import loopdevice
from bench.lib.bars import Bar
from bench.lib.console import BenchError, note
from bench.lib.paths import DEVICE, bindir
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly
from bench.lib.statistics import interleave
from bench.wal import load
from bench.wal.instance import SEGMENT, Instance
from bench.wal.variants import UNITS, Variant

NAME = "bench-wal-device"
# Variants that also get a run with full_page_writes on
WITH_IMAGES = ("stock", "off", "direct_4096", "direct_512")

BARS = (
    Bar(
        "bytes.direct_4096.1",
        "1 client: device bytes per commit, direct, unit 4096, against stock",
        0.60,
    ),
    Bar(
        "bytes.direct_512.1",
        "1 client: device bytes per commit, direct, unit 512, against stock",
        0.20,
    ),
    Bar(
        "bytes.buffered_4096.1",
        "1 client: device bytes per commit, buffered, unit 4096, against stock",
        0.60,
    ),
    Bar(
        "bytes.off.1",
        "1 client: device bytes per commit, switches off, against stock",
        1.02,
        least=0.98,
    ),
)


class DeviceBytes:
    """The part of the study that measures bytes on the device.

    segments is the number of WAL segments that are created before the runs.  No run may need more.
    """

    def __init__(
        self,
        result: Result,
        stack: ExitStack,
        variants: Sequence[Variant],
        clients: Sequence[int],
        segments: int,
    ) -> None:
        self.result = result
        self.clients = clients
        self.segments = segments
        self.variants = (*variants, *UNITS)
        self.counted = load.Counted(processes=True)
        arguments = []
        # The server of a killed run still writes to its device.
        quietly(Cluster(NAME, bindir("dense")).remove)
        try:
            # Make room for twice the segments, and for a journal.
            own = loopdevice.create(DEVICE, (2 * segments * SEGMENT >> 20) + 128)
            stack.callback(own.remove)
            self.counted = load.Counted(device=own.number)
            self.column, source = (
                "device_write_bytes",
                f"sectors written to {own.name}, which holds nothing but pg_wal",
            )
            arguments = [f"--waldir={own.directory / 'pg_wal'}"]
        except loopdevice.NoDevice as reason:
            # These counters count large folios of the page cache as a whole, whatever part of them
            # is written.
            self.column, source = "process_write_bytes", "write_bytes of the server's processes"
            self.variants = (*variants, *(unit for unit in UNITS if unit.direct))
            note(
                f"no loop device for pg_wal ({reason}): device bytes are {source}, and buffered units are left out"
            )
        result.environment["device bytes"] = source
        self.instance = Instance(stack, NAME, arguments)

    def steps(self, rounds: int) -> int:
        with_images = [variant for variant in self.variants if variant.name in WITH_IMAGES]
        return len(self.clients) * (len(self.variants) * rounds + len(with_images))

    def measure(
        self, rounds: int, scale: int, warmup: float, seconds: float, bars: Progress
    ) -> None:
        task = bars.add_task("device bytes: runs", total=self.steps(rounds))
        self.instance.load(scale, self.segments, {})
        with_images = [variant for variant in self.variants if variant.name in WITH_IMAGES]
        plan = [(number, variant, False) for number, variant in interleave(self.variants, rounds)]
        plan += [(rounds, variant, True) for variant in with_images]
        for number, variant, images in plan:
            cluster = self.instance.start(variant, {"full_page_writes": "on" if images else "off"})
            for clients in self.clients:
                if images:
                    with cluster.connect() as connection:
                        connection.execute("CHECKPOINT")
                segments = names(self.instance.wal)
                sample = load.run(
                    cluster, clients, warmup, seconds, self.result.seed + number, self.counted
                )
                if self.column not in sample:
                    raise BenchError(
                        "without a loop device, /proc/PID/io is needed, which cannot be read"
                    )
                if names(self.instance.wal) - segments:
                    raise BenchError(
                        f"{clients} clients wrote more than the {self.segments} segments that there are"
                    )
                self.result.samples.append(
                    {
                        "test": "bytes",
                        "variant": variant.name,
                        "round": number,
                        "full_page_writes": images,
                        **sample,
                    }
                )
                bars.advance(task)
            self.instance.stop(cluster, variant)
        self.show()

    def median(
        self, variant: Variant, clients: int, images: bool, pick: Callable[[dict[str, Any]], float]
    ) -> float:
        """Return the median over the runs; NaN if there are none."""
        values = [
            pick(sample)
            for sample in self.result.samples
            if sample["test"] == "bytes"
            and (sample["variant"], sample["clients"], sample["full_page_writes"])
            == (variant.name, clients, images)
        ]
        return float(numpy.median(values)) if values else float("nan")

    def per_commit(self, sample: dict[str, Any]) -> float:
        return sample[self.column] / sample["commits"]

    def per_write(self, sample: dict[str, Any]) -> float:
        return self.per_commit(sample) / sample["wal_writes_per_commit"]

    def per_wal_byte(self, sample: dict[str, Any]) -> float:
        return sample[self.column] / sample["wal_bytes"]

    def show(self) -> None:
        for images, prefix in ((False, "bytes."), (True, "bytes_images.")):
            rows: list[list[object]] = []
            for clients in self.clients:
                base = self.median(self.variants[0], clients, images, self.per_commit)
                base_write = self.median(self.variants[0], clients, images, self.per_write)
                for variant in self.variants:
                    value = self.median(variant, clients, images, self.per_commit)
                    if numpy.isnan(value):
                        continue
                    if variant is not self.variants[0]:
                        self.result.metrics[f"{prefix}{variant.name}.{clients}"] = value / base
                    write = self.median(variant, clients, images, self.per_write)
                    if variant is not self.variants[0] and not images:
                        self.result.metrics[f"bytes_write.{variant.name}.{clients}"] = (
                            write / base_write
                        )
                    rows.append(
                        [
                            variant.title,
                            clients,
                            f"{value:,.0f}",
                            f"{value / base:.3f}",
                            f"{write:,.0f}",
                            f"{write / base_write:.3f}",
                            f"{self.median(variant, clients, images, wal_per_commit):,.0f}",
                            f"{self.median(variant, clients, images, self.per_wal_byte):,.2f}",
                        ]
                    )
            self.result.table(
                "Bytes written to the device of pg_wal, pgbench -N, full_page_writes "
                + ("on" if images else "off"),
                [
                    "",
                    "clients",
                    "bytes per commit",
                    f"to {self.variants[0].title}",
                    "bytes per write of WAL",
                    f"to {self.variants[0].title}",
                    "WAL bytes per commit",
                    "bytes per byte of WAL",
                ],
                rows,
                "bytes_images" if images else "bytes",
            )


def wal_per_commit(sample: dict[str, Any]) -> float:
    return sample["wal_bytes"] / sample["commits"]


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if len(path.name) == 24}
