"""The advice of toast_policy.compare() on a column, compared with measurements.

The measurements are of the same values.
"""

from dataclasses import dataclass

from bench.lib.bars import Bar
from bench.lib.result import Result
from bench.toast.measure import Bench, Cell, table
from bench.toast.variants import EXTERNAL, LZ4HC_LEVEL, Variant

PAGE = 8192
# Estimates and recommendations may be wrong by up to this factor.
MOST = 1.10
ADVISE = (
    "SELECT strategy, codec, level, sampled, raw_bytes, stored_bytes, table_pages, recommended"
    " FROM toast_policy.compare(%s, 'v')"
)


@dataclass(frozen=True)
class Advice:
    """One row of advice, and the variant that it is about, if that was measured."""

    name: str
    variant: Variant | None
    pages: int
    share: float
    recommended: bool


def name_of(strategy: str, codec: str | None, level: int | None) -> str:
    """Return the variant's name.  Its codec is one of core, of the policy, or of our types."""
    kind = strategy.lower()
    kind = {"ztext": "own", "zbytea": "own", "toast_policy": "policy"}.get(kind, kind)
    if kind in ("plain", "external"):
        return kind
    if kind == "policy" and codec == "lz4" and level:
        codec = "lz4hc" if level == LZ4HC_LEVEL else f"lz4hc-{level}"
    return f"{kind}.{codec}"


def exists(bench: Bench) -> bool:
    found = bench.connection.execute(
        "SELECT to_regprocedure('toast_policy.compare(regclass, name, integer)')"
    )
    return found.fetchone() != (None,)


def ask(bench: Bench, cell: Cell) -> list[Advice]:
    """Ask for advice on the table that stores the values raw."""
    variants = {variant.name: variant for variant in cell.variants}
    rows = bench.connection.execute(ADVISE, [table(EXTERNAL)]).fetchall()
    advice = []
    for strategy, codec, level, sampled, raw, stored, pages, recommended in rows:
        name = name_of(strategy, codec, level)
        advice.append(Advice(name, variants.get(name), pages, stored / raw, recommended))
        bench.result.samples.append(
            {
                "test": "compare",
                "data": cell.values.name,
                "type": name,
                "sampled": sampled,
                "raw": raw,
                "stored": stored,
                "pages": pages,
                "recommended": recommended,
            }
        )
    return advice


def read_time(cell: Cell, variant: Variant) -> float:
    return cell.microseconds("read", variant)


def regret(cell: Cell, pick: Variant) -> tuple[float, Variant]:
    """Return the factor by which another variant beats the pick, and this variant.

    The other variant must beat the pick in both size and reading.  The factor is 1 if no variant
    does.
    """
    beaten = [
        (min(cell.size_ratio(pick, other), read_time(cell, pick) / read_time(cell, other)), other)
        for other in cell.variants
    ]
    # The pick itself is one of these variants, so the factor is at least 1.
    return max(beaten, key=lambda pair: pair[0])


def show(result: Result, advised: list[tuple[Cell, list[Advice]]]) -> list[Bar]:
    """Add metrics and tables, and return the bars."""
    rows: list[list[object]] = []
    picks: list[list[object]] = []
    bars = []
    for cell, advice in advised:
        name = cell.values.name
        errors = []
        for one in advice:
            if one.variant is None:
                continue
            size = cell.sizes[one.variant.name]
            pages = (size.total + size.index) // PAGE
            estimate = one.pages / pages
            errors.append(max(estimate, 1 / estimate) if estimate > 0 else float("inf"))
            rows.append(
                [
                    f"{cell.values.title}: {one.variant.title}",
                    f"{one.share:.3f}",
                    f"{size.stored / size.raw:.3f}",
                    f"{one.pages:,}",
                    f"{pages:,}",
                    f"{estimate:.3f}",
                ]
            )
        if errors:
            result.metrics[f"{name}.compare.estimate"] = max(errors)
            bars.append(
                Bar(
                    f"{name}.compare.estimate",
                    f"{cell.values.title}: largest error of an estimate",
                    MOST,
                )
            )
        pick = next((one for one in advice if one.recommended), None)
        if pick is None or pick.variant is None:
            picks.append([cell.values.title, pick.name if pick else "none", "not measured", "", ""])
            continue
        worse, better = regret(cell, pick.variant)
        result.metrics[f"{name}.compare.pick"] = worse
        # The factor by which another way is both smaller and faster to read
        bars.append(
            Bar(
                f"{name}.compare.pick",
                f"{cell.values.title}: recommendation against the best method",
                MOST,
            )
        )
        picks.append(
            [
                cell.values.title,
                pick.variant.title,
                cell.sizes[pick.variant.name],
                f"{read_time(cell, pick.variant):.2f}",
                "" if better == pick.variant else f"{better.title} {worse:.3f}",
            ]
        )
    result.table(
        "Estimates of compare(): stored share of the raw bytes; pages of heap, TOAST table and its index",
        [
            "values",
            "share, estimated",
            "share, measured",
            "pages, estimated",
            "pages, measured",
            "ratio",
        ],
        rows,
        "compare",
    )
    result.table(
        "Recommendations of compare(); better: a method that is both smaller and faster to read, by this factor",
        ["values", "recommended", "size", "read µs", "better"],
        picks,
        "compare.picks",
    )
    return bars
