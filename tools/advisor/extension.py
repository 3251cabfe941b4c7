"""The report of dense.report(), if the target has the extension pg_dense."""

from collections.abc import Callable, Sequence

import psycopg

from advisor.errors import AdviseError
from advisor.report import (
    BLOCKED,
    OPTION,
    PATCHED,
    PROPOSAL,
    REMARK,
    STOCK,
    USE_MIN_SIZE,
    Line,
    Report,
    Skipped,
    TableReport,
    quote_literal,
    Step,
)
from advisor.target import Table, Target, plain_ident

RISKY = "compact_types_with_risk "
# proposals to apply in "Next commands"
MOST_STEPS = 3
WITHOUT_RISK = """
SELECT r.proposal FROM dense.report(%(budget)s::int4, %(table)s::oid::regclass, 0, false) r
WHERE r.kind = 'proposal' AND r.feature = 'compact_types'
"""
# The report ends by itself; this many seconds more, and the server ends it.
GRACE = 5
REPORT = """
SELECT r.kind, r.proposal, r.relation::oid::int8 AS relation,
    coalesce(i.indrelid, r.relation::oid)::int8 AS table, r.feature, r.action,
    r.columns::text[] AS columns, r.bytes_now, r.bytes_after, r.confidence, r.risk, r.server,
    r.reason, r.blockers, r.statement, n.nspname::text AS index_schema, c.relname::text AS index
FROM dense.report(%(budget)s::int4, NULL, %(min_bytes)s::int8, %(with_risk)s::boolean) r
    LEFT JOIN pg_index i ON i.indexrelid = r.relation
    LEFT JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
"""


def fill(
    report: Report, target: Target, tables: Sequence[Table], min_bytes: int, with_risk: bool
) -> None:
    """Fill the report with the rows of dense.report()."""
    budget = max(int(target.left()), 1)
    target.connection.execute(
        "SELECT set_config('statement_timeout', %s, true)", (f"{(budget + GRACE) * 1000}ms",)
    )
    try:
        rows = target.rows(REPORT, budget=budget, min_bytes=min_bytes, with_risk=with_risk)
    except psycopg.errors.UndefinedFile as error:
        raise AdviseError(
            "the library of pg_dense is not installed on the server; use --statistics"
        ) from error
    by_oid = {table.oid: table for table in tables}
    found: dict[int, TableReport] = {}
    for table in tables:
        if table.status is None and table.bytes >= min_bytes:
            found[table.oid] = TableReport(table.name, table.bytes)
    all_small = not found
    for row in rows:
        if row.kind == "total":
            continue
        if row.kind == "skipped" and (row.table is None or row.feature is None):
            name = by_oid[row.table].name if row.table in by_oid else None
            missed = found.pop(row.table, None) if row.table is not None else None
            size_ = row.bytes_now if row.bytes_now is not None else missed.now if missed else None
            what = f"{name}: {row.reason}" if name and missed else row.reason
            hint = USE_MIN_SIZE if all_small and "smaller than min_bytes" in row.reason else ""
            report.skipped.append(Skipped(what, size_, hint))
            continue
        if row.table not in found:
            table = by_oid.get(row.table)
            name = table.name if table else f"table with OID {row.table}"
            found[row.table] = TableReport(name, table.bytes if table else 0)
        saved = None
        if row.bytes_now is not None and row.bytes_after is not None:
            saved = row.bytes_now - row.bytes_after
        reason = row.reason or ""
        action = row.action
        if action and row.index is not None:
            index = f"{plain_ident(row.index_schema)}.{plain_ident(row.index)}"
            action = action.replace("align the entries", f"align the entries of index {index}", 1)
        kind = {"proposal": PROPOSAL, "option": OPTION, "blocked": BLOCKED}.get(row.kind, REMARK)
        found[row.table].lines.append(
            Line(
                kind,
                action or reason,
                saved,
                row.confidence or "",
                reason if action else "",
                row.risk or "",
                PATCHED if row.server == "patched" else STOCK,
                row.statement or "",
                row.proposal or "",
                blockers="; ".join(row.blockers or ()),
                measured=True,
            )
        )
    # The budget may have ended before some tables.
    report.tables = list(found.values())
    report.order()
    oids = {id(table): oid for oid, table in found.items()}
    tables_of = {id(line): oids[id(table)] for table in report.tables for line in table.lines}
    for line in to_apply(report):
        if line.proposal.startswith(RISKY):
            line.without_risk = find_without_risk(target, tables_of[id(line)])


def find_without_risk(target: Target, table: int) -> str:
    """Return the proposal for types of this table that has no risk, or "" if there is none.

    A report with the risks has one proposal for the types of a table, with all of its columns.
    """
    budget = int(target.left())
    if budget < 1:
        return ""
    try:
        with target.connection.transaction():
            rows = target.rows(WITHOUT_RISK, budget=budget, table=table)
    except psycopg.Error:
        if target.connection.closed:
            raise
        return ""
    return rows[0].proposal if rows else ""


def to_apply(report: Report) -> list[Line]:
    """Return the proposals of the tables that save most, in the order of the report."""
    servers = (STOCK, PATCHED) if report.patched else (STOCK,)
    return [
        line
        for table in report.tables
        for line in table.lines
        if line.kind == PROPOSAL and line.proposal and line.server in servers
    ][:MOST_STEPS]


def steps(report: Report, command: Callable[[str], str]) -> list[Step]:
    """Return the commands that apply the largest savings, and take them back."""
    result = []

    def apply(what: str, name: str) -> None:
        result.append(Step(what, command(f"CALL dense.apply({quote_literal(name)})")))

    for line in to_apply(report):
        what = "apply a proposal; it locks the table while it runs"
        if line.without_risk:
            apply(what, line.without_risk)
            what = "or apply it with more columns; this locks the table, too"
        if line.risk:
            what += "; it has a risk, see above"
        apply(what, line.proposal)
    result.append(Step("see the changes that are in place", command("SELECT * FROM dense.status")))
    result.append(Step("take back everything that you applied", command("CALL dense.undo()")))
    return result
