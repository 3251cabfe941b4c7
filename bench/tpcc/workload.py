"""One measured run of the five transactions by pgbench."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy
import psycopg

from bench.lib import counters, pgbench
from bench.lib.cgroup import ControlGroup
from bench.lib.console import BenchError
from bench.lib.server import Server
from bench.tpcc import series, table_reads
from bench.tpcc.load import C_LAST_RUN, Scale
from bench.tpcc.sizes import heap_bytes

TEMPLATES = Path(__file__).parent / "pgbench"

# Runs whose seeds differ by a multiple of this have the same constants of NURand, so that the same
# customers and items are popular.
NURAND_PERIOD = 8192
# Tables whose rows are updated and never inserted: their growth is dead space.
UPDATED = ("warehouse", "district", "customer", "stock")


@dataclass(frozen=True)
class Transaction:
    name: str
    weight: int
    # Seconds of keying and thinking by clause 5.2.5.7; the think time is a mean
    keying: int
    thinking: int


TRANSACTIONS = (
    Transaction("new_order", 45, 18, 12),
    Transaction("payment", 43, 3, 12),
    Transaction("order_status", 4, 2, 10),
    Transaction("delivery", 4, 2, 5),
    Transaction("stock_level", 4, 2, 5),
)


@dataclass(frozen=True)
class Load:
    warehouses: int
    scale: Scale
    clients: int
    warmup: float
    seconds: float
    seed: int
    think: bool = False


def write_scripts(directory: Path, think: bool) -> list[pgbench.Script]:
    """Write the pgbench scripts of the five transactions, and return them.

    If think is true, they wait for the keying and think times.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    directory.mkdir(parents=True, exist_ok=True)
    scripts = []
    for transaction in TRANSACTIONS:
        text = environment.from_string(
            (TEMPLATES / f"{transaction.name}.sql").read_text(encoding="utf-8")
        ).render()
        if think:
            mean = transaction.thinking * 1000
            text = (
                f"\\sleep {transaction.keying} s\n{text}"
                f"\\set think least(int(-ln(random(1, 1000000) / 1000000.0) * {mean}), {10 * mean})\n"
                "\\sleep :think ms\n"
            )
        path = directory / f"{transaction.name}.sql"
        path.write_text(text, encoding="utf-8")
        scripts.append(pgbench.Script(transaction.name, path, transaction.weight))
    return scripts


def script_variables(load: Load) -> dict[str, object]:
    return {
        "warehouses": load.warehouses,
        "items": load.scale.items,
        "customers": load.scale.customers,
        "names": load.scale.names,
        "c_last": C_LAST_RUN,
        "c_customer": load.seed % 1024,
        "c_item": load.seed % NURAND_PERIOD,
    }


def _wait(clients: pgbench.Background, until: float, tick: Callable[[float], None]) -> None:
    begin = time.time()
    while (left := until - time.time()) > 0 and not clients.has_ended():
        time.sleep(min(0.25, left))
        tick(time.time() - begin)
        begin = time.time()


def run(
    server: Server,
    database: str,
    load: Load,
    directory: Path,
    number: int,
    tick: Callable[[float], None],
    device: str | None = None,
    group: ControlGroup | None = None,
) -> dict[str, object]:
    """Warm up, measure, and return one sample.  tick is called with the seconds that passed."""
    scripts = write_scripts(directory / "scripts", load.think)
    seconds = load.warmup + load.seconds
    options = pgbench.client_options(load.clients, load.seed + number)
    with server.connect(database) as connection:
        postmaster = server.postmaster()
        size_before = heap_bytes(connection)

        def take() -> dict[str, Any]:
            return {
                "counters": counters.snapshot(connection, postmaster, device, group),
                "table_reads": table_reads.snapshot(connection),
                "maintenance": series.maintenance(connection),
                "updates": series.updates(connection),
                "heap": heap_bytes(connection),
            }

        recorder = series.Recorder(take, seconds)

        def waited(passed: float) -> None:
            tick(passed)
            # Ignore a lost connection here: pgbench reports it better.
            with suppress(psycopg.OperationalError):
                recorder.when_due()

        with pgbench.Background(
            server, database, scripts, script_variables(load), options, directory, seconds
        ) as clients:
            recorder.now()
            _wait(clients, time.time() + load.warmup, waited)
            begin = time.time()
            before = None if clients.has_ended() else take()
            _wait(clients, begin + load.seconds, waited)
            end = time.time()
            after = None if clients.has_ended() else take()
            if after is not None:
                recorder.now()
        if before is None or after is None:
            raise clients.failure()
        size_after = heap_bytes(connection)
    log = clients.log()
    sample = summarize(log.window(begin, end), begin, end, load)
    sample["warmup_and_measured_growth"] = {
        table: size_after[table] - size_before[table] for table in size_before
    }
    sample["growth_by_update"] = sum(size_after[table] - size_before[table] for table in UPDATED)
    sample["counters"] = counters.difference(before["counters"], after["counters"])
    sample["per_new_order"] = {
        name: value / sample["new_orders"] for name, value in sample["counters"].items()
    }
    sample["table_reads"] = table_reads.difference(before["table_reads"], after["table_reads"])
    sample["maintenance"] = series.maintenance_between(before["maintenance"], after["maintenance"])
    sample["updates"] = {
        name: count - before["updates"][name] for name, count in after["updates"].items()
    }
    sample["series"] = recorder.series(log)
    sample["failed"] = _failed(clients.output())
    return sample


def _failed(output: str) -> int:
    line = next(
        (line for line in output.splitlines() if line.startswith("number of failed transactions:")),
        "",
    )
    return int(line.split(":")[1].split()[0]) if line else 0


def summarize(log: pgbench.Log, begin: float, end: float, load: Load) -> dict[str, object]:
    """Return the figures of a window.

    New-Orders that roll back, as TPC-C demands, count as completed ones.
    """
    orders = log.count(0)
    if orders == 0:
        raise BenchError(f"no New-Order finished in {end - begin:.0f} s")
    third = (end - begin) / 3
    first = log.window(begin, begin + third).count(0)
    last = log.window(end - third, end).count(0)
    latency = {}
    # With think time in the scripts, pgbench's times are not response times.
    if not load.think:
        for number, transaction in enumerate(TRANSACTIONS):
            values = log.latency[log.script == number] * 1000
            if len(values):
                latency[transaction.name] = dict(
                    zip(("p50", "p90", "p99"), map(float, numpy.percentile(values, [50, 90, 99])))
                )
    return {
        "new_orders": orders,
        "transactions": {
            transaction.name: log.count(number) for number, transaction in enumerate(TRANSACTIONS)
        },
        "seconds": end - begin,
        "notpm": orders / (end - begin) * 60,
        "last_third_to_first": last / first if first else None,
        "latency_ms": latency,
    }
