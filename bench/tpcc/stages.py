"""The stages that are compared, and variants that apply to all of them.

A new stage of the whole stack is one more entry of WHOLE, see doc/hacking.md.  Each stage keeps the
changes of the stages before it.  The transactions stay the same, because they address tables by
plain names.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bench.bgvacuum.variants import ON as BACKGROUND_VACUUM_ON
from bench.indexes import alignment
from bench.lib.console import BenchError
from bench.tpcc import schema
from bench.vertical import partition
from bench.wal.variants import DIRECT_AUTO

Rewrite = Callable[[str], str]


def unchanged(statements: str) -> str:
    return statements


@dataclass(frozen=True)
class Step:
    """One addition to the stage before it."""

    name: str
    title: str
    # Directory below build/MAJOR that holds the server; None keeps the one of the stage before.
    binary: str | None = None
    # Settings of the server.  Those that a session may set apply to the load as well.
    settings: Mapping[str, str] = field(default_factory=dict)
    # Settings of the server while it is measured.  These settings change nothing of the loaded
    # data, and the server that loads it does not need them.
    measured: Mapping[str, str] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    tables: Rewrite = unchanged
    keys: Rewrite = unchanged
    # SQL to run when the tables are loaded and indexed.
    after_load: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stage:
    """All steps up to one of them, with the chosen variants."""

    name: str
    title: str
    binary: str
    settings: Mapping[str, str]
    measured: Mapping[str, str]
    extensions: tuple[str, ...]
    tables: tuple[Rewrite, ...]
    keys: tuple[Rewrite, ...]
    after_load: tuple[str, ...]
    # Value of ol_delivery_d in an order line that is not delivered
    undelivered: str = "NULL"


VERTICAL_PARTITION = Step(
    "vertical-partition",
    "vertical partition",
    measured=partition.PRELOADED,
    extensions=(partition.EXTENSION,),
    after_load=partition.split(partition.USUAL),
)
BACKGROUND_VACUUM = Step(
    "background-vacuum", "Background Vacuum", measured=BACKGROUND_VACUUM_ON.settings
)


def _split_of(table: str, name: str, title: str) -> Step:
    after_load = partition.split({table: partition.USUAL[table]})
    return replace(VERTICAL_PARTITION, name=name, title=title, after_load=after_load)


# This stage shows the cost of the patches if none of them is used.
ALL_OFF = Step("off", "patched server, all off", binary="dense")
INDEX_ALIGNMENT = Step(
    "index-alignment", "index alignment", settings={alignment.SETTING: alignment.AUTO}
)
# New-Order reads the cold columns of stock.  So where reads are scarce, stock is better not split.
CUSTOMER_SPLIT = _split_of(
    "customer", "vertical-partition-customer", "vertical partition, customer only"
)
CUSTOMER_SPLIT_BACKGROUND = replace(
    BACKGROUND_VACUUM, name="background-vacuum-customer", title="Background Vacuum, customer only"
)
# Autovacuum analyzes stock, customer and order_line about once a minute, and reads 30,000 blocks each
# time, or all blocks of a smaller table.  The limit is 15 % of that.
FEW_BLOCKS = Step(
    "analyze-few-blocks", "ANALYZE with few blocks", measured={"analyze_max_blocks": "4500"}
)
# The values of c_data go to the TOAST table of customer, whose rows are small.
CUSTOMER_OUT_OF_LINE = Step(
    "out-of-line-customer",
    "toast_policy, c_data out of line",
    extensions=("toast_policy",),
    after_load=(
        "SELECT toast_policy.enable_out_of_line('customer', 128, 'c_data')",
        # ANALYZE would read the values of its sample, which are shorter than 1 kB.  The part of the
        # split that has c_data is not analyzed, because few of its rows change.
        "ALTER TABLE customer ALTER COLUMN c_data SET STATISTICS 0",
        "SELECT toast_policy.recompress('customer')",
        "VACUUM (FREEZE, ANALYZE) customer",
    ),
)
CUSTOMER_OUT_OF_LINE_BACKGROUND = replace(
    BACKGROUND_VACUUM,
    name="background-vacuum-out-of-line",
    title="Background Vacuum, c_data out of line",
)

# The whole stack: the first stage is the release as it is, the last one has everything.
WHOLE = (
    Step("stock", "stock types", binary="stock"),
    ALL_OFF,
    Step("wal-direct", "WAL direct", measured=DIRECT_AUTO.settings),
    Step(
        "compact-types",
        "compact types",
        tables=schema.compact_types,
        extensions=("compact_char2", *schema.SCALAR_EXTENSIONS),
    ),
    INDEX_ALIGNMENT,
    CUSTOMER_SPLIT,
    CUSTOMER_SPLIT_BACKGROUND,
)

# The end of the stack in the form that was published: both tables are split.
BOTH_SPLIT = (VERTICAL_PARTITION, BACKGROUND_VACUUM)

FIXED_STRINGS = ("compact_char2", "compact_char9", "compact_char16", "compact_char24")

# Each of these stages starts from the stock types on the patched server.  These stages are the
# parts of the stage "compact-types", and the split alone.
PARTS = (
    Step(
        "compact-strings",
        "char(n) as compact_charN",
        tables=schema.compact_strings,
        extensions=FIXED_STRINGS,
    ),
    Step(
        "compact-scalars",
        "the same, narrow scalars, column order",
        tables=schema.compact_scalars,
        extensions=(*FIXED_STRINGS, *schema.SCALAR_EXTENSIONS),
    ),
    Step(
        "compact-text",
        "all strings as compact_text",
        tables=schema.compact_text,
        extensions=("compact_types",),
    ),
    replace(VERTICAL_PARTITION, name="split", title="split alone"),
    *(_split_of(table, f"split-{table}", f"split of {table} alone") for table in partition.USUAL),
)


@dataclass(frozen=True)
class Branch:
    """Stages beside the whole stack.

    These stages have the steps of the stack up to the step "after", and then these steps.
    """

    after: Step
    steps: tuple[Step, ...]
    # Run these stages only if they are named on the command line.
    named: bool = False


# The stages of a branch run right after the stage that it starts from.
BRANCHES = (
    *(Branch(ALL_OFF, (part,), named=True) for part in PARTS),
    Branch(INDEX_ALIGNMENT, BOTH_SPLIT),
    Branch(CUSTOMER_SPLIT, (FEW_BLOCKS,), named=True),
    Branch(INDEX_ALIGNMENT, (CUSTOMER_OUT_OF_LINE, CUSTOMER_OUT_OF_LINE_BACKGROUND), named=True),
)


@dataclass(frozen=True)
class Variant:
    name: str
    title: str
    tables: Rewrite = unchanged
    keys: Rewrite = unchanged
    undelivered: str = "NULL"


VARIANTS = (
    Variant(
        "dbt2-key",
        "DBT-2's primary key of stock, which ends in s_quantity and so rules out HOT updates",
        keys=lambda keys: keys.replace("(s_w_id, s_i_id)", "(s_w_id, s_i_id, s_quantity)"),
    ),
    Variant(
        "sentinel",
        "ol_delivery_d is 1970-01-01 instead of null, which saves the null bitmap",
        tables=lambda tables: re.sub(
            r"(ol_delivery_d\s+timestamp)", r"\1 NOT NULL DEFAULT '1970-01-01'", tables
        ),
        undelivered="'1970-01-01'",
    ),
    Variant(
        "numeric-money",
        "amounts of single lines and payments as numeric, not as four-byte integers",
        tables=lambda tables: re.sub(
            r"\b(h_amount|ol_amount|i_price)(\s+)integer", r"\1\2numeric(8)", tables
        ),
    ),
    Variant(
        "wide-customers",
        "numbers of customers have room for the 96,000 of clause 1.3, of which 3,000 exist",
        tables=lambda tables: re.sub(r"\b(c_id|h_c_id|o_c_id)(\s+)integer", r"\1\2int4", tables),
    ),
)


def stages(names: tuple[str, ...] = (), variants: tuple[str, ...] = ()) -> list[Stage]:
    """Return the named stages, with the named variants applied.

    Without names, return all stages but those of branches that run only if they are named.
    """
    known = [
        step.name for steps in (WHOLE, *(branch.steps for branch in BRANCHES)) for step in steps
    ]
    for name in names:
        if name not in known:
            raise BenchError(f'unknown stage "{name}", known: {", ".join(known)}')
    stage = Stage("", "", "dense", {}, {}, (), (), (), ())
    for name in variants:
        variant = next((entry for entry in VARIANTS if entry.name == name), None)
        if variant is None:
            raise BenchError(
                f'unknown variant "{name}", known: {", ".join(entry.name for entry in VARIANTS)}'
            )
        undelivered = variant.undelivered if variant.undelivered != "NULL" else stage.undelivered
        stage = replace(
            stage,
            tables=(*stage.tables, variant.tables),
            keys=(*stage.keys, variant.keys),
            undelivered=undelivered,
        )
    chosen: list[Stage] = []
    for step in WHOLE:
        stage = _add(stage, step)
        if not names or step.name in names:
            chosen.append(stage)
        for branch in BRANCHES:
            if branch.after is step:
                chosen += _of_branch(stage, branch, names)
    return chosen


def _of_branch(stage: Stage, branch: Branch, names: tuple[str, ...]) -> list[Stage]:
    chosen = []
    for step in branch.steps:
        stage = _add(stage, step)
        if step.name in names or not (names or branch.named):
            chosen.append(stage)
    return chosen


def split_stage(method: str | None) -> Stage:
    """Return stock types on the patched server, with all tables split by one method, or none."""
    (stage,) = stages((ALL_OFF.name,))
    if method is None:
        return stage
    statements = partition.split(dict.fromkeys(partition.COLD, method))
    return _add(
        stage, replace(VERTICAL_PARTITION, title=f"split by {method}", after_load=statements)
    )


def _add(stage: Stage, step: Step) -> Stage:
    return Stage(
        step.name,
        step.title,
        step.binary or stage.binary,
        {**stage.settings, **step.settings},
        {**stage.measured, **step.measured},
        (*stage.extensions, *step.extensions),
        (*stage.tables, step.tables),
        (*stage.keys, step.keys),
        (*stage.after_load, *step.after_load),
        stage.undelivered,
    )
