"""Instructions of the sessions and of the background writer, with background vacuum and without.

Two equal servers differ by several percent in their times.  Their counts of instructions differ by
less than one percent.
"""

import contextlib
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bench.bgvacuum.variants import ON, STOCK, Variant
from bench.bgvacuum.workloads import Workload
from bench.lib import cachegrind
from bench.lib.bars import Bar
from bench.lib.console import console
from bench.lib.paths import work
from bench.lib.result import Result
from bench.lib.server import Cluster
from bench.lib.session import quietly
from bench.lib.statistics import interleave, paired_ratio, spread

# The workloads that are not about what is left at the end
WORKLOADS = ("mixed", "uniform", "indexed", "groups", "insert_only")
PROCEDURE = re.compile(r"\bCALL (\w+)\(")
RUNNING = "bench-instructions-run"
# valgrind makes a server some fifty times slower.  The background writer must wait for longer by
# as much, or it would make many more rounds than sessions give it reason to.
SETTINGS = {
    "synchronous_commit": "off",
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    "autovacuum": "off",
    "bgwriter_delay": "10s",
    "jit": "off",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}
BARS = tuple(
    Bar(f"{name}.instructions{suffix}", f"{name}: instructions of a session, {title}", 1.02)
    for name in WORKLOADS
    for suffix, title in (("", "on to stock"), (".off", "off to stock"))
)


def calls(workload: Workload, count: int, seed: int) -> Iterator[str]:
    """Yield the statements of a session: count calls, each with a batch of cycles."""
    (script,) = workload.scripts(work())
    procedure = PROCEDURE.search(script.path.read_text(encoding="utf-8")).group(1)
    generator = random.Random(seed)
    variables = workload.variables(seed)
    for _ in range(count):
        arguments = [variables["cycles"]]
        if "rows" in variables:
            arguments += [variables["rows"], generator.randint(1, 2_000_000_000)]
        yield f"CALL {procedure}({', '.join(map(str, arguments))})"


def measure(
    result: Result,
    loaded: Cluster,
    workload: Workload,
    variant: Variant,
    settings: Mapping[str, str],
    count: int,
    seed: int,
) -> dict[str, int]:
    """Run the calls in one session.  Return the instructions of session and background writer.

    Another session makes one call.  Its instructions are subtracted, so that those of the start of
    a session and of its first call do not count.  The first session of all also writes the relation
    cache to a file, so it is not measured.
    """
    cluster = loaded.copy_to(RUNNING)
    bindir = cachegrind.wrap(variant.bindir, cluster.data, work() / "cachegrind")
    cluster = replace(cluster, bindir=bindir)
    with contextlib.ExitStack() as stack:
        stack.callback(quietly, cluster.remove)
        cluster.start({**SETTINGS, **settings, **variant.settings})
        processes = []
        for number in (1, 1, count + 1):
            with cluster.connect(workload.database) as connection:
                processes.append(connection.info.backend_pid)
                for statement in calls(workload, number, seed):
                    connection.execute(statement)
        with cluster.connect(workload.database) as connection:
            if "server" not in result.environment:
                result.describe_server(connection)
            query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'"
            processes.append(connection.execute(query).fetchone()[0])
            workload.check(
                connection, (count + 3) * workload.batch, f"{variant.title}, {workload.name}"
            )
        cluster.stop()
        first, session, writer = (
            cachegrind.instructions(cluster.data, process) for process in processes[1:]
        )
    return {"session": session - first, "background_writer": writer}


def compare(
    result: Result,
    loaded: Cluster,
    workload: Workload,
    variants: Sequence[Variant],
    settings: Mapping[str, str],
    count: int,
    rounds: int,
) -> list[object]:
    """Measure all variants, and add samples and metrics.  Return a row for the table."""
    found: dict[str, list[dict[str, int]]] = {variant.name: [] for variant in variants}
    cycles = count * workload.batch
    for number, variant in interleave(variants, rounds):
        sample = measure(result, loaded, workload, variant, settings, count, result.seed + number)
        found[variant.name].append(sample)
        result.samples.append(
            {
                "workload": workload.name,
                "variant": variant.name,
                "round": number,
                "cycles": cycles,
                **sample,
            }
        )
        console.print(
            f"{workload.name}, run {number + 1}, {variant.name}: instructions a cycle:"
            f" session {sample['session'] / cycles:,.0f},"
            f" background writer {sample['background_writer'] / cycles:,.0f}"
        )
    row: list[object] = [workload.name]
    for variant in variants:
        middle, low, high = spread([sample["session"] / cycles for sample in found[variant.name]])
        row.append(f"{middle:,.0f} ({low:,.0f} to {high:,.0f})")
    if STOCK in variants:
        for variant in variants:
            if variant is not STOCK:
                ratio = paired_ratio(
                    [sample["session"] for sample in found[variant.name]],
                    [sample["session"] for sample in found[STOCK.name]],
                    result.seed,
                )
                suffix = "" if variant is ON else f".{variant.name}"
                result.ratio(f"{workload.name}.instructions{suffix}", ratio)
                row.append(str(ratio))
    for variant in (STOCK, ON):
        if variant in variants:
            row.append(
                f"{spread([sample['background_writer'] / cycles for sample in found[variant.name]])[0]:,.0f}"
            )
    return row
