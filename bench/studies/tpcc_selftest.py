"""Damage a small TPC-C database in one way for each consistency condition, and see which conditions notice."""

import click
import psycopg
from rich.console import Console
from rich.progress import Progress

from bench.lib.console import BenchError
from bench.lib.paths import work
from bench.lib.session import quietly, session
from bench.studies.row_size import start
from bench.tpcc import check, workload
from bench.tpcc.load import LITE, load
from bench.tpcc.stages import stages

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


def numbers(red: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(red))) or "none"


def run(running: bool, seed: int, stage_name: str, variants: tuple[str, ...]) -> None:
    tap = Tap()
    stage, = stages((stage_name,), variants)
    with session() as stack:
        server = start(stack, "bench-tpcc-selftest", running)
        stack.callback(quietly, server.drop_database, DATABASE)
        load(server, DATABASE, stage, 2, LITE, seed, Progress(disable=True, console=Console(quiet=True)))
        with server.connect(DATABASE) as connection:
            found = check.violations(connection)
            tap.ok(not found, "a loaded database meets all twelve conditions", str(found))
            prove_all(tap, connection, "loaded")
            few = workload.Load(warehouses=2, scale=LITE, clients=4, warmup=0, seconds=2, seed=seed)
            sample = workload.run(server, DATABASE, few, work() / "selftest", 0, lambda seconds: None)
            found = check.violations(connection)
            tap.ok(not found, "and so it does after load", str(found))
            tap.ok(sample["failed"] == 0, "no transaction failed", f"{sample['failed']} did")
            for name, count in sample["transactions"].items():
                tap.ok(count > 0, f"{name} was among the load", f"{count} ran")
            facts(tap, connection)
            # Deliveries may have left the damaged district without orders to be damaged.
            connection.execute(SIMPLE_ORDER)
            prove_all(tap, connection, "used")
            found = check.violations(connection)
            tap.ok(not found, "every damage was rolled back", str(found))
    tap.done()


def prove_all(tap: Tap, connection: psycopg.Connection, state: str) -> None:
    for corruption in check.CORRUPTIONS:
        red = check.proven_red(connection, corruption)
        tap.ok(red == corruption.red, f"condition {corruption.condition} on a {state} database notices {corruption.title}",
               f"expected red: {numbers(corruption.red)}; red: {numbers(red)}")


# What DBT-2 gets wrong, and what the mix must contain, seen from the data.
FACTS = (
    ("every payment was booked on its customer",
     "SELECT (SELECT count(*) FROM history) = (SELECT sum(c_payment_cnt) FROM customer)"),
    ("s_ytd and s_order_cnt are those of the new order lines",
     """SELECT (SELECT sum(s_ytd) FROM stock) = sum(ol_quantity) AND (SELECT sum(s_order_cnt) FROM stock) = count(*)
        FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE o_entry_d > '2025-02-01'"""),
    ("remote lines are counted", """SELECT count(*) = (SELECT sum(s_remote_cnt) FROM stock) AND count(*) > 0 FROM order_line
        WHERE ol_supply_w_id <> ol_w_id"""),
    ("orders with remote lines say so", """SELECT bool_and((o_all_local = 0) = remote) FROM orders JOIN
        (SELECT ol_w_id, ol_d_id, ol_o_id, bool_or(ol_supply_w_id <> ol_w_id) AS remote FROM order_line GROUP BY 1, 2, 3) AS l
        ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id"""),
    ("orders have 5 to 15 lines", "SELECT min(o_ol_cnt) >= 5 AND max(o_ol_cnt) <= 15 FROM orders"),
    ("an order's lines are numbered from 1", """SELECT bool_and(first = 1 AND last = lines) FROM
        (SELECT min(ol_number) AS first, max(ol_number) AS last, count(*) AS lines FROM order_line
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l"""),
    ("amounts are price times quantity", """SELECT bool_and(ol_amount = ol_quantity * i_price) FROM order_line
        JOIN item ON i_id = ol_i_id JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
        WHERE o_entry_d > '2025-02-01'"""),
    ("lines carry the text of the stock row's district",
     """SELECT bool_and(ol_dist_info = CASE ol_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
            WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END)
        FROM order_line JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
        JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE o_entry_d > '2025-02-01'"""),
)


# Two calls whose outcome is known, each in a transaction that is rolled back.
BY_NAME = """WITH wanted AS (
    SELECT c_last, (array_agg(c_id ORDER BY c_first, c_id))[(count(*) + 1) / 2] AS middle, count(*) AS total
    FROM customer WHERE c_w_id = 1 AND c_d_id = 1 GROUP BY c_last)
SELECT number, middle FROM wanted JOIN generate_series(0, 999) AS number ON tpcc_last_name(number) = c_last
WHERE total > 1 ORDER BY total DESC, number LIMIT 1"""
UNKNOWN_ITEM = """SELECT complete FROM tpcc_new_order(1, 1, 1, 5, ARRAY[5, 4, 3, 2, 1000000], ARRAY[1, 1, 1, 1, 1], ARRAY[1, 1, 1, 1, 1])"""
SIMPLE_ORDER = """SELECT tpcc_new_order(1, 1, 1, 5, ARRAY[5, 4, 3, 2, 1], ARRAY[1, 1, 1, 1, 1], ARRAY[1, 1, 1, 1, 1])
FROM generate_series(1, 5)"""


def facts(tap: Tap, connection: psycopg.Connection) -> None:
    for title, query in FACTS:
        good, = connection.execute(query).fetchone()
        tap.ok(good is True, title, query)
    with connection.transaction(force_rollback=True):
        # One more customer of the same name makes sure that there is a middle to be found.
        connection.execute("UPDATE customer SET c_last = (SELECT c_last FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1)"
                           " WHERE c_w_id = 1 AND c_d_id = 1 AND c_id IN (2, 3, 4)")
        name, middle = connection.execute(BY_NAME).fetchone()
        before, = connection.execute("SELECT c_balance FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = %s", [middle]).fetchone()
        connection.execute("SELECT tpcc_payment(1, 1, 1, 1, 0, %s, 4321)", [name])
        after, = connection.execute("SELECT c_balance FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = %s", [middle]).fetchone()
        tap.ok(before - after == 4321, "a payment by last name is booked on the middle customer", f"{before} became {after}")
    with connection.transaction(force_rollback=True):
        complete, = connection.execute(UNKNOWN_ITEM).fetchone()
        tap.ok(complete == 0, "an order with an unknown item asks to be rolled back", f"complete = {complete}")
