"""What is compared: cumulative stages, and variants that apply to all of them.

A later stage is one more entry of STEPS.  Every step keeps what the steps
before it changed; the transactions stay the same, since they address tables by
plain names.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from bench.bgvacuum.variants import ON as BACKGROUND_VACUUM
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
    # Of the server; what a session may set holds for the load as well.
    settings: Mapping[str, str] = field(default_factory=dict)
    # Of the server while it is measured: what changes nothing of what is loaded, and is nothing to ask of a server
    # that only loads.
    measured: Mapping[str, str] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    tables: Rewrite = unchanged
    keys: Rewrite = unchanged
    # SQL that runs when the tables are loaded and indexed.
    after_load: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stage:
    """All steps up to one, and the variants chosen."""

    name: str
    title: str
    binary: str
    settings: Mapping[str, str]
    measured: Mapping[str, str]
    extensions: tuple[str, ...]
    tables: tuple[Rewrite, ...]
    keys: tuple[Rewrite, ...]
    after_load: tuple[str, ...]
    # How an order line says that it is not delivered.
    undelivered: str = "NULL"


VERTICAL_PARTITION = Step(
    "vertical-partition",
    "vertical partition",
    measured=partition.PRELOADED,
    extensions=(partition.EXTENSION,),
    after_load=partition.split(partition.USUAL),
)

BACKGROUND = Step("background-vacuum", "Background Vacuum", measured=BACKGROUND_VACUUM.settings)


def _split_of(table: str, name: str, title: str) -> Step:
    after_load = partition.split({table: partition.USUAL[table]})
    return replace(VERTICAL_PARTITION, name=name, title=title, after_load=after_load)


STOCK_TYPES = Step("off", "patched server, all off", binary="dense")

STEPS = (
    Step("stock", "stock types", binary="stock"),
    # What the patches cost where none of them is used
    STOCK_TYPES,
    Step("wal-direct", "WAL direct", measured=DIRECT_AUTO.settings),
    Step(
        "compact-types",
        "compact types",
        tables=schema.compact_types,
        extensions=("compact_char2", *schema.SCALAR_EXTENSIONS),
    ),
    Step("index-alignment", "index alignment", settings={alignment.SETTING: alignment.AUTO}),
    VERTICAL_PARTITION,
    BACKGROUND,
)

FIXED_STRINGS = ("compact_char2", "compact_char9", "compact_char16", "compact_char24")

# Only run when named, each on the stock tables and the patched server: what the step "compact-types" is made of, and the split alone.
PARTS = (
    Step("compact-strings", "char(n) as compact_charN", tables=schema.compact_strings, extensions=FIXED_STRINGS),
    Step(
        "compact-scalars",
        "the same, narrow scalars, column order",
        tables=schema.compact_scalars,
        extensions=(*FIXED_STRINGS, *schema.SCALAR_EXTENSIONS),
    ),
    Step("compact-text", "all strings as compact_text", tables=schema.compact_text, extensions=("compact_types",)),
    replace(VERTICAL_PARTITION, name="split", title="split alone"),
    *(_split_of(table, f"split-{table}", f"split of {table} alone") for table in partition.USUAL),
)

# On top of what comes before the vertical partition, and in the place of it: New-Order reads the cold columns of stock,
# which does better in one piece where reads are what is short.  The last one is the whole stack.
CUSTOMER = _split_of("customer", "vertical-partition-customer", "vertical partition, customer only")
INSTEAD = (
    (CUSTOMER,),
    (CUSTOMER, replace(BACKGROUND, name="background-vacuum-customer", title="Background Vacuum, customer only")),
)
WHOLE = INSTEAD[-1][-1]


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
        tables=lambda tables: re.sub(r"(ol_delivery_d\s+timestamp)", r"\1 NOT NULL DEFAULT '1970-01-01'", tables),
        undelivered="'1970-01-01'",
    ),
    Variant(
        "numeric-money",
        "amounts of single lines and payments as numeric, not as four-byte integers",
        tables=lambda tables: re.sub(r"\b(h_amount|ol_amount|i_price)(\s+)integer", r"\1\2numeric(8)", tables),
    ),
    Variant(
        "wide-customers",
        "numbers of customers have room for the 96,000 of clause 1.3, of which 3,000 exist",
        tables=lambda tables: re.sub(r"\b(c_id|h_c_id|o_c_id)(\s+)integer", r"\1\2int4", tables),
    ),
)


def stages(names: tuple[str, ...] = (), variants: tuple[str, ...] = ()) -> list[Stage]:
    """The named stages, or else all STEPS and what is there INSTEAD, with the named variants applied.

    PARTS come right after the stage without them.
    """
    known = [step.name for step in (*STEPS, *PARTS, *(steps[-1] for steps in INSTEAD))]
    for name in names:
        if name not in known:
            raise BenchError(f'unknown stage "{name}", known: {", ".join(known)}')
    stage = Stage("", "", "dense", {}, {}, (), (), (), ())
    for name in variants:
        variant = next((entry for entry in VARIANTS if entry.name == name), None)
        if variant is None:
            raise BenchError(f'unknown variant "{name}", known: {", ".join(entry.name for entry in VARIANTS)}')
        undelivered = variant.undelivered if variant.undelivered != "NULL" else stage.undelivered
        stage = replace(
            stage, tables=(*stage.tables, variant.tables), keys=(*stage.keys, variant.keys), undelivered=undelivered
        )
    chosen: list[Stage] = []
    instead: list[Stage] = []
    for step in STEPS:
        if step is VERTICAL_PARTITION:
            instead = [reduce(_add, steps, stage) for steps in INSTEAD if not names or steps[-1].name in names]
        stage = _add(stage, step)
        if not names or step.name in names:
            chosen.append(stage)
        if step is STOCK_TYPES:
            chosen += [_add(stage, part) for part in PARTS if part.name in names]
    return chosen + instead


def split_stage(method: str | None) -> Stage:
    """Stock types, and the tables that can be split all by one method, or by none."""
    (stage,) = stages((STOCK_TYPES.name,))
    if method is None:
        return stage
    statements = partition.split(dict.fromkeys(partition.COLD, method))
    return _add(stage, replace(VERTICAL_PARTITION, title=f"split by {method}", after_load=statements))


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
