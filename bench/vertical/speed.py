"""CPU time of point reads and updates by pgbench with prepared statements.

Plain tables, split tables and hot parts take turns.
"""

from collections.abc import Sequence
from dataclasses import replace

import psycopg

from bench.lib.bars import Bar
from bench.lib.paths import work
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.statistics import Ratio, paired_ratio, spread
from bench.lib.timing import Clock, Comparison, Test
from bench.tpcc.load import Scale
from bench.vertical.partition import METHODS, stored
from bench.vertical.statements import NAMES, STATEMENTS, Statement, grid, script_variables
from bench.vertical.variants import ALL, HOT, OFF, ON, PLAIN, SPLIT, TIMED, TRACKED, Variant

BY_NAME = {variant.name: variant for variant in ALL}
MOST = {"read.hot": 1.05, "update.hot": 1.10}
TITLES = {
    "read.hot": "time of a hot read, through the view to directly from the hot part",
    "update.hot": "time of a hot update, through the view to directly on the hot part",
}


# Statements that are planned at each execution, when the view has to be expanded
SIMPLE = tuple(
    replace(statement, name="read.hot.simple")
    for statement in STATEMENTS
    if statement.name == "read.hot"
)


def variants_of(statement: Statement) -> Sequence[Variant]:
    if statement in SIMPLE:
        return (*ON.values(), *HOT.values())
    return ALL if statement.hot_only else TIMED


def bars() -> list[Bar]:
    """Return the bars of all tables and methods together, and of each table and method."""
    shown = []
    for name, most in MOST.items():
        shown.append(Bar(name, TITLES[name], most))
        for statement in STATEMENTS:
            if statement.name == name:
                shown += [
                    Bar(
                        f"{name}.{statement.table}.{method}",
                        f"the same, {statement.table}, {method}",
                        most,
                        claim=f"{TITLES[name]}; {statement.table}, {method}",
                    )
                    for method in METHODS
                ]
    return shown


class Speed:
    def __init__(
        self, result: Result, server: Server, scale: Scale, rounds: int, calls: int
    ) -> None:
        self.result = result
        self.server = server
        self.scale = scale
        self.rounds = rounds
        self.calls = calls
        self.measured: dict[Statement, Comparison] = {}

    def steps(self) -> int:
        return self.rounds * sum(
            len(variants_of(statement)) for statement in (*STATEMENTS, *SIMPLE)
        )

    def measure(self, connection: psycopg.Connection, advance) -> None:
        """Measure all statements.  The connection may be to any database that stays open."""
        clock = Clock(connection)
        for statement in (*STATEMENTS, *SIMPLE):
            kinds = [variant.name for variant in variants_of(statement)]
            comparison = Comparison(
                self.result, clock, kinds, self.rounds, advance, f"{statement.table}."
            )
            comparison.lookup(
                Test(statement.name, statement.name),
                connection,
                self.server,
                lambda kind, statement=statement: statement.write(
                    work() / "vertical", BY_NAME[kind]
                ),
                self.calls,
                script_variables(self.scale),
                lambda kind: BY_NAME[kind].database,
                lambda kind, statement=statement: self.settle(statement, BY_NAME[kind]),
                "simple" if statement in SIMPLE else "prepared",
            )
            self.measured[statement] = comparison

    def settle(self, statement: Statement, variant: Variant) -> None:
        """Vacuum the parts of the table before a run with updates.

        So all runs of a round find as few dead rows, and no vacuum runs beside them.
        """
        if statement.updates:
            with self.server.connect(variant.database) as connection:
                for part in stored(connection, [statement.table])[statement.table]:
                    connection.execute(f"VACUUM {part}")

    def times(self, statement: Statement, variant: Variant) -> list[float]:
        return self.measured[statement].times[statement.name][variant.name]

    def ratio(
        self,
        statements: Sequence[Statement],
        variants: Sequence[Variant],
        baselines: Sequence[Variant],
    ) -> Ratio:
        """Return the ratio of the sums of the times, which are added up round by round."""

        def sums(chosen: Sequence[Variant]) -> list[float]:
            return [
                sum(values)
                for values in zip(
                    *(
                        self.times(statement, variant)
                        for statement in statements
                        for variant in chosen
                    )
                )
            ]

        return paired_ratio(sums(variants), sums(baselines), self.result.seed)

    def show(self) -> None:
        self.result.table(
            f"Time of one statement in µs: median (smallest to largest) of {self.rounds} runs of {self.calls:,} statements",
            ["", *NAMES],
            grid(ALL, self.median),
            "times",
        )
        self.result.table(
            "Time with the split table to time with the plain table: ratios of pairs with their interval",
            ["", *NAMES],
            grid(SPLIT, self.to_plain),
            "plain",
        )
        self.show_hot()
        self.show_tracked()

    def median(self, statement: Statement, variant: Variant) -> str:
        if variant not in variants_of(statement):
            return ""
        return "{:.1f} ({:.1f} to {:.1f})".format(
            *(1e6 * value for value in spread(self.times(statement, variant)))
        )

    def to_plain(self, statement: Statement, variant: Variant) -> Ratio:
        ratio = self.ratio([statement], [variant], [PLAIN])
        self.result.ratio(f"plain.{statement.metric}.{variant.name}", ratio)
        return ratio

    def show_hot(self) -> None:
        rows = []
        for name in MOST:
            statements = [statement for statement in STATEMENTS if statement.name == name]
            self.result.ratio(name, self.ratio(statements, list(ON.values()), list(HOT.values())))
            for statement in statements:
                for method in METHODS:
                    on = self.ratio([statement], [ON[method]], [HOT[method]])
                    off = self.ratio([statement], [OFF[method]], [HOT[method]])
                    self.result.ratio(f"{name}.{statement.table}.{method}", on)
                    rows.append([f"{statement.metric}, {method}", on, off])
        simple = self.ratio(SIMPLE, list(ON.values()), list(HOT.values()))
        self.result.ratio("simple.read.hot", simple)
        rows.append(["read.hot, all, planned each time", simple, ""])
        self.result.table(
            "Time of statements on hot columns, through the view to directly on the hot part",
            ["", "rewrite on", "rewrite off"],
            rows,
            "hot",
        )

    def show_tracked(self) -> None:
        rows = []
        for kind in ("read", "update"):
            ratio = self.ratio(
                [it for it in STATEMENTS if it.updates == (kind == "update")], [TRACKED], [PLAIN]
            )
            self.result.ratio(f"tracked.{kind}", ratio)
            rows.append([f"all {kind}s", ratio])
        self.result.table(
            "Time with vertical_partition.track_updates, which counts the columns that are used, to time without it; plain tables",
            ["", "ratio"],
            rows,
            "tracked",
        )
