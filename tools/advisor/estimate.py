"""Estimates of the savings of the features in a table.

The types of columns come from the statistics of the target (rules.py), or from advise() in a
scratch database (scratch.py).  Everything here is a ratio: the model's size after the change to
the model's size now, times the size that the table or index has.  So free space is not counted as
a saving, other than in dense.report().
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from advisor import model, rules
from advisor.model import KeyColumn, Rows, Shape
from advisor.report import OPTION, PATCHED, PROPOSAL, REMARK, BLOCKED, Line, size
from advisor.target import Column, Index, Table, Target, boolean, fillfactor, plain_ident

# bench/results/row-size.json, mix.mean: bytes of a value of compact_text to those of text, the
# mean over 34 columns
TEXT_RATIO = 0.575
# longer strings are stored as they are, or compressed by TOAST
TEXT_MOST = 1000
# an index of so few pages is not looked at
INDEX_PAGES = 5
# dense.report() looks at a TOAST table from this share of the table, and from so many pages
TOAST_SHARE, TOAST_PAGES = 0.02, 8
WORTH = 0.98


@dataclass
class Advice:
    """Types for columns of a table, by their numbers."""

    types: dict[int, rules.NewType] = field(default_factory=dict)
    # columns that could have a type: this type, and what prevents it
    blocked: dict[int, tuple[str, str]] = field(default_factory=dict)
    # columns that could have seconds4 if fractions were rounded
    rounded: dict[int, rules.NewType] = field(default_factory=dict)
    # columns that could have compact_text: bytes after to bytes now
    texts: dict[int, float] = field(default_factory=dict)
    confidence: str = "medium"
    # a sample says what part of the heap is left, instead of the made-up rows
    heap_ratio: float | None = None
    reason: str = ""

    def prevent(self, why: str) -> None:
        """Withdraw all types, because the table cannot be changed, and keep the reason."""
        for attnum, kind in self.types.items():
            self.blocked[attnum] = (kind.name, why)
        for attnum in self.texts:
            self.blocked[attnum] = ("compact_text", why)
        self.types, self.rounded, self.texts = {}, {}, {}


def prevents(table: Table, column: Column, keys: Mapping[str, set[int]]) -> str | None:
    """Return why the column gets no narrower integer, as far as catalogs tell; "" if no such type
    is even considered."""
    if rules.looks_like_reference(column.name) or keys.get(column.name, set()) - {table.oid}:
        return ""
    if column.sequence:
        return "the values come from a sequence"
    if any(index.unique and column.attnum in attnums(index) for index in table.indexes):
        return "part of a key"
    if column.referenced:
        return "part of a foreign key"
    return None


def attnums(index: Index) -> list[int]:
    return [part.attnum for part in index.columns]


def has_types(table: Table) -> bool:
    """Return true if compact_types looks at the table, even if something prevents a change."""
    return table.kind == "r" and table.method == "heap"


def can_convert(table: Table) -> bool:
    return has_types(table) and not table.fixed


def from_statistics(
    table: Table, target: Target, keys: Mapping[str, set[int]], with_risk: bool
) -> Advice:
    """Choose types by the statistics alone."""
    advice = Advice(reason="by the statistics of the last ANALYZE; the rows were not read")
    if not has_types(table):
        return advice
    for column in table.columns:
        if not column.core or column.generated or not column.analyzed or column.nulls == 1:
            continue
        new = None
        if column.type in rules.INTEGERS and column.low is not None and column.high is not None:
            new = rules.narrow_integer(column.length, column.low, column.high, table.updates)
            why = prevents(table, column, keys) if new else None
            if new and why is not None:
                if why and with_risk:
                    advice.blocked[column.attnum] = (new.name, why)
                continue
        elif column.type == rules.BPCHAR and column.deterministic:
            lengths = column.common + column.bounds
            new = rules.compact_char(
                column.typmod,
                max(lengths, default=None),
                column.ascii_only is True,
                target.single_byte,
            )
        elif column.type == rules.NUMERIC:
            new = rules.compact_decimal(column.typmod, (column.width or 0) + 0.5, column.number)
        elif column.type in rules.SECONDS:
            new = rules.seconds(column.type, column.typmod, column.whole_seconds)
            if new is None and column.typmod != 0 and with_risk:
                rounded = rules.seconds(column.type, 0, column.whole_seconds)
                if rounded:
                    advice.rounded[column.attnum] = rounded
        elif column.type in rules.STRINGS and column.deterministic:
            if 2 <= (column.width or 0) <= TEXT_MOST:
                advice.texts[column.attnum] = TEXT_RATIO
        if new and (with_risk or not new.risk):
            advice.types[column.attnum] = new
    if table.fixed:
        advice.prevent(table.fixed)
    return advice


#
# Rows
#


def contents(column: Column) -> tuple[int, ...]:
    """Return bytes of values of a column of varying length, without their headers.

    The lengths are those in the statistics, in the shares that they have there.  If their average
    is not that of all values, because values are compressed or out of line, they are scaled.
    """
    average = (column.width or 0) + 0.5
    lengths = [max(length, 0) for length in column.bounds]
    if column.common:
        listed = sum(column.frequencies)
        rest = max(1 - (column.nulls or 0) - listed, 0)
        each = rest / len(lengths) if lengths else 0
        weights = [each * 100] * len(lengths) + [share * 100 for share in column.frequencies]
        lengths = [
            length
            for length, weight in zip(lengths + column.common, weights)
            for _ in range(max(round(weight), 1 if weight > 0.3 else 0))
        ]
    if not lengths:
        # a spread as in dense_internal.index_model()
        half = min(0.1 * average, 2) * math.sqrt(3)
        lengths = [round(average - 1 + half * step / 4) for step in range(-4, 5)]
    stored = [length + (1 if length <= 126 else 4) for length in lengths]
    found = statistics.fmean(stored)
    if column.width is not None and not column.width <= found < column.width + 1:
        factor = average / found if found else 1
        lengths = [
            round(bytes_ * factor) - (1 if bytes_ * factor <= 127 else 4) for bytes_ in stored
        ]
    return tuple(max(length, 0) for length in lengths)


def shape(column: Column) -> Shape:
    if column.generated == "v":
        return Shape(1, 1, nulls=1)
    nulls = column.nulls or 0
    if column.length > 0:
        return Shape(column.length, column.alignment, nulls)
    return Shape(-1, column.alignment, nulls, contents(column), column.storage != "p")


def text_shape(now: Shape, ratio: float) -> Shape:
    return Shape(
        -1,
        now.alignment,
        now.nulls,
        tuple(max(round((length + 1) * ratio) - 1, 0) for length in now.contents),
        now.short,
    )


def useful(
    rows: Rows, shapes: Sequence[Shape], versions: list[int], new: dict[int, rules.NewType]
) -> None:
    """Withdraw the types that make no row shorter, as compact_advise_choose() does.

    versions has 1 for the columns that get a type; new has these types by position.
    """
    today = list(range(rows.n))
    while True:
        order = rows.best_order(versions, shapes)
        all_today = rows.cost(versions)[0]
        all_best = rows.cost(versions, order)[0]
        least: tuple[int, int] | None = None
        for position, kind in new.items():
            if versions[position] == 0 or kind.always or rows.n > model.MAX_STEP_COLUMNS:
                continue
            without = list(versions)
            without[position] = 0
            saved = rows.cost(without, order)[0] - all_best
            if rows.cost(without, today)[0] <= all_today and saved <= 0:
                if least is None or saved < least[0]:
                    least = (saved, position)
        if least is None:
            return
        versions[least[1]] = 0


#
# Indexes
#


@dataclass
class IndexEstimate:
    index: Index
    now: int
    types: int
    aligned: int
    alignment: int
    known: bool


def spread(column: Column | None) -> float | None:
    if column is None or not column.bounds:
        return None
    return statistics.pstdev(column.bounds)


def estimate_index(
    index: Index,
    table: Table,
    rows: float,
    new: Mapping[int, rules.NewType],
    ratios: Mapping[int, float],
    target: Target,
) -> IndexEstimate:
    """Estimate the size of an index with the new types, and aligned to what its columns need."""
    unknown = IndexEstimate(index, index.bytes, index.bytes, index.bytes, 8, False)
    if (
        index.method != "btree"
        or not index.usable
        or index.bytes <= INDEX_PAGES * target.block
        or rows <= 0
    ):
        return unknown
    if index.partial:
        if index.rows < 0:
            return unknown
        rows = index.rows
    by_number = {column.attnum: column for column in table.columns}
    now: list[KeyColumn] = []
    after: list[KeyColumn] = []
    alignment, known = 2, True
    equal_now = equal_after = True
    groups: list[tuple[float, float]] = []
    keys = 1.0
    for position, part in enumerate(index.columns):
        column = by_number.get(part.attnum) or index.expressions.get(position)
        width = part.length
        if part.length < 0:
            if column is None or column.width is None:
                known = False
                width = 16
            else:
                width = column.width + 0.5
                # statistics count a long header for an expression
                if part.attnum == 0 and 5 <= column.width <= 129:
                    width -= 3
        deviation = 0.0
        if part.length < 0:
            found = spread(column)
            deviation = min(0.1 * width, 2) if found is None else found
        nulls = 0.0 if index.partial or column is None else column.nulls or 0.0
        now.append(KeyColumn(part.length, part.alignment, width, deviation, nulls))
        changed = new.get(part.attnum)
        ratio = ratios.get(part.attnum, changed.ratio if changed else 1)
        if changed and changed.length > 0:
            after.append(KeyColumn(changed.length, changed.alignment, changed.length, 0, nulls))
        elif part.length < 0:
            after.append(
                KeyColumn(part.length, part.alignment, width * ratio, deviation * ratio, nulls)
            )
        else:
            after.append(now[-1])
        alignment = max(alignment, after[-1].alignment)
        if position >= index.keys:
            continue
        equal_now = equal_now and part.equal
        equal_after = equal_after and (part.equal or changed is not None)
        if index.unique:
            continue
        if column is None or column.distinct is None:
            known = False
            distinct = float(max(table.rows, 1))
        else:
            distinct = column.distinct
            if distinct <= 0:
                distinct = -distinct * max(table.rows, 1)
        if index.keys == 1 and not index.partial:
            frequencies = column.frequencies if column else []
            groups = [(share * rows, 1.0) for share in frequencies]
            rest = max(distinct - len(groups), 0)
            if rest >= 0.5:
                groups.append((max(rows * (1 - nulls - sum(frequencies)), rest) / rest, rest))
            if nulls * rows >= 1:
                groups.append((nulls * rows, 1.0))
        else:
            keys = min(keys * max(distinct + (1 if nulls > 0 else 0), 1), max(rows, 1))
    if (
        index.unique
        or len(index.columns) > index.keys
        or not boolean(index.options.get("deduplicate_items"), True)
    ):
        equal_now = equal_after = False
    elif not groups:
        groups = [(max(rows, 1) / keys, keys)]
    fill = fillfactor(index.options, 90)
    item = index.options.get("item_alignment", target.default_alignment)
    present = alignment if target.patched and item.lower() == "auto" else 8

    def size_of(key: list[KeyColumn], aligned: int, equal: bool) -> int:
        return model.btree_bytes(key, aligned, fill, rows, groups if equal else [], target.block)

    modelled = size_of(now, present, equal_now)
    if modelled <= 0:
        return unknown
    factor = index.bytes / modelled

    def scaled(bytes_: int) -> int:
        return min(round(bytes_ * factor), index.bytes)

    narrow = scaled(size_of(after, present, equal_after))
    aligned = scaled(size_of(after, alignment, equal_after))
    return IndexEstimate(
        index,
        index.bytes,
        narrow,
        min(aligned, narrow),
        alignment,
        known and index.options.get("item_alignment") is None,
    )


#
# A table
#


def listed(columns: Sequence[str], most: int = 6) -> str:
    """Return names for people, with the number of those that are too many."""
    more = len(columns) - most
    return ", ".join(columns[:most]) + (f" and {more} more" if more > 0 else "")


def grouped(texts: Mapping[str, str]) -> str:
    """Return texts on columns, each text once and with the columns that it is about."""
    columns: dict[str, list[str]] = {}
    for column, text in texts.items():
        if text:
            columns.setdefault(text, []).append(column)
    return "; ".join(f"{listed(names, 4)}: {text}" for text, names in columns.items())


def estimate(table: Table, advice: Advice, target: Target) -> list[Line]:
    """Return what the features would do with a table, the largest saving first."""
    lines: list[Line] = []
    columns = table.columns
    analyzed = any(column.analyzed for column in columns)
    if (table.rows < 0 or not analyzed) and advice.heap_ratio is None:
        if table.heap > target.block:
            lines.append(
                Line(
                    REMARK,
                    "no estimate: never analyzed; run ANALYZE",
                    statement=f"ANALYZE {table.sql_name}",
                    unknown=True,
                )
            )
        return lines + prevented(table, advice)
    rows = table.rows
    if table.pages > 0:
        rows = table.rows / table.pages * (table.heap / target.block)
    fill = fillfactor(table.options, 100)
    now = [shape(column) for column in columns]
    position_of = {column.attnum: position for position, column in enumerate(columns)}
    new = {position_of[attnum]: kind for attnum, kind in advice.types.items()}
    shapes = []
    for position, column in enumerate(columns):
        mine = [now[position]]
        kind = new.get(position) or advice.rounded.get(column.attnum)
        if kind and kind.length < 0:
            mine.append(text_shape(now[position], kind.ratio))
        elif kind:
            mine.append(Shape(kind.length, kind.alignment, now[position].nulls))
        elif column.attnum in advice.texts:
            mine.append(text_shape(now[position], advice.texts[column.attnum]))
        shapes.append(mine)
    made_up = Rows(shapes)
    none = [0] * len(columns)
    versions = [1 if position in new else 0 for position in range(len(columns))]
    if advice.heap_ratio is None:
        useful(made_up, now, versions, new)

    def heap_after(version: Sequence[int], order: Sequence[int] | None = None) -> int:
        """Return the bytes of the heap with these rules."""
        before = model.rows_of_page(made_up.sizes(none), target.block, fill)
        after = model.rows_of_page(made_up.sizes(version, order), target.block, fill)
        pages = table.heap / target.block * min(before / after, 1)
        return min(model.heap_file_bytes(pages, target.block, target.version), table.heap)

    #
    # Types
    #
    chosen = {
        columns[position].attnum: kind for position, kind in new.items() if versions[position]
    }
    if table.heap <= target.block:
        chosen, versions = {}, none
    estimates = [estimate_index(index, table, rows, chosen, {}, target) for index in table.indexes]
    converts = False
    heap = table.heap
    if chosen:
        if advice.heap_ratio is None:
            heap = heap_after(versions)
        else:
            pages = table.heap / target.block * min(advice.heap_ratio, 1)
            heap = min(model.heap_file_bytes(pages, target.block, target.version), table.heap)
        saved = table.heap - heap + sum(each.now - each.types for each in estimates)
        if saved > 0:
            converts = True
            names = {attnum: plain_ident(columns[position_of[attnum]].name) for attnum in chosen}
            reasons = [
                advice.reason,
                grouped({names[attnum]: kind.reason for attnum, kind in chosen.items()}),
            ]
            shrink = sum(each.now - each.types for each in estimates)
            if shrink > 0:
                reasons.append(f"the indexes shrink by {size(shrink)}")
            lines.append(
                Line(
                    PROPOSAL,
                    "change "
                    + listed(
                        [f"{names[attnum]} to {kind.name}" for attnum, kind in chosen.items()], 12
                    ),
                    saved,
                    advice.confidence,
                    "; ".join(reasons),
                    grouped({names[attnum]: kind.risk for attnum, kind in chosen.items()}),
                )
            )
    if not converts:
        heap, chosen, versions = table.heap, {}, none
        estimates = [estimate_index(index, table, rows, {}, {}, target) for index in table.indexes]

    #
    # Alignment of indexes
    #
    for each in estimates:
        bytes_ = each.types if converts else each.now
        if (
            each.alignment >= 8
            or not bytes_ > INDEX_PAGES * target.block
            or each.aligned > WORTH * bytes_
            or "item_alignment" in each.index.options
            or (target.patched and target.default_alignment == "auto")
        ):
            continue
        lines.append(
            Line(
                PROPOSAL,
                f"align the entries of index {each.index.name} to {each.alignment} bytes",
                bytes_ - each.aligned,
                "medium" if each.known else "low",
                "entries are rounded up to 8 bytes; how many keys are equal is from the statistics",
                "a stock server cannot read the index until it is rebuilt",
                PATCHED,
            )
        )

    #
    # Options
    #
    def option(
        version: list[int],
        ratios: Mapping[int, float],
        action: str,
        reason: str,
        low: str,
        types_: Mapping[int, rules.NewType],
        risk: str = "",
        order: list[int] | None = None,
    ) -> None:
        after = heap_after(version, order)
        base = heap_after(versions)
        changed = [
            estimate_index(index, table, rows, types_, ratios, target) for index in table.indexes
        ]
        saved = (
            base
            - after
            + sum(before.types - each.types for before, each in zip(estimates, changed))
        )
        if saved > 0.005 * table.bytes:
            lines.append(Line(OPTION, action, saved, low, reason, risk))

    texts = {
        attnum: ratio
        for attnum, ratio in advice.texts.items()
        if attnum not in chosen and len(shapes[position_of[attnum]]) > 1
    }
    if not analyzed:
        return lines + prevented(table, advice)
    if texts and can_convert(table) and table.heap > target.block:
        version = list(versions)
        for attnum in texts:
            version[position_of[attnum]] = 1
        names = [plain_ident(columns[position_of[attnum]].name) for attnum in texts]
        option(
            version,
            texts,
            f"store {listed(names)} as compact_text",
            f"a value takes {TEXT_RATIO} times the bytes, the mean of 34 columns that were measured;"
            " yours can be anything from 0.31 to 0.89",
            "low",
            chosen,
        )
    if advice.rounded:
        version = list(versions)
        more = dict(chosen)
        for attnum, kind in advice.rounded.items():
            version[position_of[attnum]] = 1
            more[attnum] = kind
        names = [plain_ident(columns[position_of[attnum]].name) for attnum in advice.rounded]
        option(
            version,
            {},
            f"round {listed(names)} to whole seconds, as seconds4",
            "all times in the statistics are whole seconds",
            "low",
            more,
            "fractions of a second are lost",
        )
    if can_convert(table) and table.heap > target.block:
        version = [versions[position] for position in range(len(columns))]
        used = [
            shapes[position][1] if version[position] else now[position]
            for position in range(len(columns))
        ]
        order = made_up.best_order(version, used)
        if order != list(range(len(columns))):
            names = [plain_ident(columns[position].name) for position in order]
            option(
                version,
                {},
                f"create the table anew with the columns in the order {listed(names, 12)}",
                "columns are aligned, and gaps between them take bytes",
                "medium",
                chosen,
                "applications that use SELECT * see another order",
                order,
            )
    if table.toast > TOAST_PAGES * target.block and table.toast > TOAST_SHARE * table.heap:
        lines += toast(table, target)
    lines += prevented(table, advice)
    order_of_kinds = (PROPOSAL, OPTION, REMARK, BLOCKED)
    lines.sort(key=lambda line: (order_of_kinds.index(line.kind), -(line.bytes_saved or 0)))
    return lines


def prevented(table: Table, advice: Advice) -> list[Line]:
    """Return the line on the columns that could have a type, but cannot be changed."""
    if not advice.blocked:
        return []
    names = {column.attnum: plain_ident(column.name) for column in table.columns}
    changes = [f"{names[attnum]} to {kind}" for attnum, (kind, _) in advice.blocked.items()]
    reasons = [table.fixed] if table.fixed else []
    others = {
        names[attnum]: why for attnum, (_, why) in advice.blocked.items() if why != table.fixed
    }
    if others:
        reasons.append(grouped(others))
    return [Line(BLOCKED, "change " + listed(changes, 4), blockers="; ".join(reasons))]


COMPRESSIONS = {"p": "pglz", "l": "lz4"}


def toast(table: Table, target: Target) -> list[Line]:
    """Return what to look at in a table that has large values."""
    ways: dict[str, list[str]] = {}
    for column in table.columns:
        if column.length != -1 or column.storage not in "xem":
            continue
        if column.storage == "e":
            way = "not compressed"
        else:
            way = "with " + COMPRESSIONS.get(column.compression, target.toast_compression)
        ways.setdefault(way, []).append(plain_ident(column.name))
    if not ways:
        return []
    how = "; ".join(f"{listed(names, 4)} {way}" for way, names in ways.items())
    return [
        Line(
            OPTION,
            f"compress large values in another way: {size(table.toast)} are in the TOAST table",
            None,
            "low",
            f"now {how}; statistics do not tell how much another way saves, toast_policy.advise()"
            " measures it",
        )
    ]
