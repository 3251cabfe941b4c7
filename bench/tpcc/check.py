"""The twelve consistency conditions, and the proof that each of them can fail."""

from dataclasses import dataclass

import psycopg

from bench.lib.console import BenchError

CONDITIONS = range(1, 13)


@dataclass(frozen=True)
class Corruption:
    """Damage that only the listed conditions may notice; several where they compare the same value."""

    condition: int
    title: str
    statements: tuple[str, ...]
    red: frozenset[int]


def _corruption(condition: int, title: str, *statements: str, also: tuple[int, ...] = ()) -> Corruption:
    return Corruption(condition, title, statements, frozenset((condition, *also)))


_KEY = "o_w_id = 1 AND o_d_id = 1 AND o_id = "
_MIDDLE = "(SELECT min(no_o_id) + 1 FROM new_order WHERE no_w_id = 1 AND no_d_id = 1)"

CORRUPTIONS = (
    _corruption(1, "a district's year-to-date total", "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1", also=(9,)),
    _corruption(2, "a district's next order number", "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1"),
    # The order counts as delivered then, so it gets what a delivery leaves behind.
    _corruption(3, "a gap in the new orders",
                f"UPDATE orders SET o_carrier_id = 1 WHERE {_KEY}{_MIDDLE}",
                f"UPDATE order_line SET ol_delivery_d = localtimestamp, ol_amount = 0 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = {_MIDDLE}",
                "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
                f"DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = {_MIDDLE}"),
    _corruption(4, "a lost order line", "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1", also=(6,)),
    _corruption(5, "a new order without its row in new_order, its district's count made good",
                "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1"
                " AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = 1)",
                "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1"),
    _corruption(6, "line counts of two orders of a district, with the right sum",
                f"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE {_KEY}1", f"UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE {_KEY}2"),
    _corruption(7, "an order line whose delivery date is gone",
                "UPDATE order_line SET ol_delivery_d = '-infinity' WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"),
    _corruption(8, "a warehouse's year-to-date total", "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1", also=(1,)),
    _corruption(9, "totals of two districts, with the right sum",
                "UPDATE district SET d_ytd = d_ytd + CASE d_id WHEN 1 THEN 1 ELSE -1 END WHERE d_w_id = 1 AND d_id IN (1, 2)"),
    _corruption(10, "a customer's balance, made good by what the customer has paid",
                "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1"),
    _corruption(11, "a customer's number of deliveries",
                "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1"),
    _corruption(12, "what a customer has paid",
                "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1"),
)


def violations(connection: psycopg.Connection) -> dict[int, int]:
    """Condition to number of violating rows; empty on a sound database."""
    connection.execute("SET work_mem = '128MB'")
    found = {}
    for number in CONDITIONS:
        count, = connection.execute(f"SELECT count(*) FROM violation_{number:02}").fetchone()
        if count:
            found[number] = count
    return found


def title(connection: psycopg.Connection, number: int) -> str:
    return connection.execute("SELECT obj_description(%s::regclass)", [f"violation_{number:02}"]).fetchone()[0]


def check(connection: psycopg.Connection, what: str) -> str:
    """Fail on a violation; otherwise say how many conditions were met."""
    found = violations(connection)
    if found:
        number, count = next(iter(found.items()))
        raise BenchError(f"{what}: consistency condition {number} ({title(connection, number)}) is violated by {count} rows"
                         + (f", and so are conditions {', '.join(map(str, list(found)[1:]))}" if len(found) > 1 else "")
                         + f"; see view violation_{number:02}")
    return f"{len(CONDITIONS)} of {len(CONDITIONS)}"


def proven_red(connection: psycopg.Connection, corruption: Corruption) -> frozenset[int]:
    """Which conditions notice the damage, which is rolled back."""
    with connection.transaction(force_rollback=True):
        changed = sum(connection.execute(statement).rowcount for statement in corruption.statements)
        if not changed:
            raise BenchError(f"the damage for condition {corruption.condition} changed no row")
        return frozenset(violations(connection))
