"""Damage a small TPC-C database once for each consistency condition.

Find out which conditions notice the damage.
"""

import click
import psycopg
from rich.console import Console
from rich.progress import Progress

from bench.indexes import alignment
from bench.lib.console import BenchError
from bench.lib.options import major, running, seed
from bench.lib.paths import work
from bench.lib.session import quietly, session
from bench.studies.row_size import start
from bench.tpcc import check, workload
from bench.tpcc.load import LITE, TABLES, create_extensions, load, render
from bench.tpcc.lookups import lookups
from bench.tpcc.sizes import INDEXES
from bench.tpcc.stages import Stage, stages
from bench.vertical.partition import stored

DATABASE = "bench_tpcc_selftest"


class Tap:
    """Test Anything Protocol on stdout."""

    def __init__(self) -> None:
        self.number = 0
        self.failed = 0

    def ok(self, good: bool, title: str, detail: str = "") -> None:
        self.number += 1
        click.echo(f"{'ok' if good else 'not ok'} {self.number} - {title}")
        if not good:
            self.failed += 1
            click.echo(f"# {detail}")

    def done(self) -> None:
        click.echo(f"1..{self.number}")
        if self.failed:
            raise BenchError(f"{self.failed} of {self.number} tests failed")


def numbers(red: tuple[int, ...]) -> str:
    return ", ".join(map(str, sorted(red))) or "none"


def run(running: bool, seed: int, stage_name: str, variants: tuple[str, ...]) -> None:
    tap = Tap()
    (stage,) = stages((stage_name,), variants)
    with session() as stack:
        server = start(stack, "bench-tpcc-selftest", running)
        stack.callback(quietly, server.drop_database, DATABASE)
        load(
            server,
            DATABASE,
            stage,
            2,
            LITE,
            seed,
            Progress(disable=True, console=Console(quiet=True)),
        )
        with server.connect(DATABASE) as connection:
            found = check.violations(connection)
            tap.ok(not found, "a loaded database meets all twelve conditions", str(found))
            for title, used, plan in lookups(connection):
                tap.ok(used, f"the index is used: {title}", plan.replace("\n", "\n# "))
            prove_alignment(tap, connection, stage)
            prove_all(tap, connection, "loaded")
            few = workload.Load(warehouses=2, scale=LITE, clients=4, warmup=0, seconds=2, seed=seed)
            sample = workload.run(
                server, DATABASE, few, work() / "selftest", 0, lambda seconds: None
            )
            found = check.violations(connection)
            tap.ok(not found, "and so it does after load", str(found))
            tap.ok(sample["failed"] == 0, "no transaction failed", f"{sample['failed']} did")
            for name, count in sample["transactions"].items():
                tap.ok(count > 0, f"{name} was among the load", f"{count} ran")
            for title, statements in check.facts():
                tap.ok(
                    check.is_true(connection, statements), title, statements.replace("\n", "\n# ")
                )
            # Deliveries may have left no order to damage in the district that corruptions.sql uses.
            connection.execute(render("simple_orders.sql"))
            prove_all(tap, connection, "used")
            found = check.violations(connection)
            tap.ok(not found, "every damage was rolled back", str(found))
    tap.done()


def prove_alignment(tap: Tap, connection: psycopg.Connection, stage: Stage) -> None:
    kind = stage.settings.get(alignment.SETTING)
    if kind is None:
        return
    create_extensions(connection, ("pageinspect",))
    parts = sum(stored(connection, TABLES).values(), [])
    for name, _, _ in connection.execute(INDEXES, [parts]).fetchall():
        wanted = alignment.wanted(connection, name, kind)
        found = alignment.actual(connection, name)
        tap.ok(found == wanted, f"{name} was built with item alignment {wanted}", f"it has {found}")


def prove_all(tap: Tap, connection: psycopg.Connection, state: str) -> None:
    for corruption in check.corruptions():
        red = check.proven_red(connection, corruption)
        tap.ok(
            sorted(red) == sorted(corruption.red),
            f"condition {corruption.condition} on a {state} database notices {corruption.title}",
            f"expected red: {numbers(corruption.red)}; red: {numbers(red)}",
        )


@click.command("tpcc-selftest", short_help="Prove that the consistency checks can fail.")
@major
@running
@seed
@click.option("--stage", "stage_name", default="compact-types", show_default=True, metavar="NAME")
@click.option("--variant", "variants", multiple=True, metavar="NAME")
def command(running: bool, seed: int, stage_name: str, variants: tuple[str, ...]) -> None:
    """Prove on a small database that each of the twelve consistency conditions can fail.

    The output is TAP.
    """
    run(running, seed, stage_name, variants)
