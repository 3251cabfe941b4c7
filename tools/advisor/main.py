"""The command line of tools/advise."""

import logging
import re
import shlex
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import psycopg

from advisor import estimate, extension, page, terminal
from advisor.errors import AdviseError, NoSample, Terminated
from advisor.report import (
    REMARK,
    USE_MIN_SIZE,
    Line,
    Report,
    Skipped,
    Step,
    TableReport,
    is_plain,
    size,
)
from advisor.scratch import LEAST_SECONDS, Scratch, check_local
from advisor.target import Table, Target

PROGRAM = "tools/advise"
INTERRUPTED = 130
LOST = ("08", "57")
UNITS = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}

HELP = """Estimate how much pg_dense would save in a database, before anything is installed there.

DATABASE is the name of a database, a connection string or a URI.  The usual environment variables
of PostgreSQL's programs, such as PGHOST, are in effect.

The tool writes nothing in the database.  Everything runs in READ ONLY transactions.  It does
not wait for locks for longer than two seconds.  A standby is enough, and so is a role that may read
some of the tables.  The tool only counts the tables that the role may not read.

The figures come from one of three sources, and the first lines of the report name it:

\b
1. The extension pg_dense, if the database has it: the rows of dense.report().
2. With --scratch, a sample of rows.  The tool copies it to a scratch database
   of an instance on this machine, on which the extensions are installed, asks
   the advisors there, and extends the answer to the size of the tables.  All
   that happens in a transaction that is rolled back at the end.  No object is
   left in the scratch database.  But its catalogs then have dead rows, so drop
   the scratch database afterwards.  It cannot be DATABASE itself.
   Connect to DATABASE as a role that may read the tables and has no other
   privilege: GRANT pg_read_all_data.  When a query is planned, the server can
   run functions that owners of tables have written, as the role that reads.
   The tool takes no sample of a table if it finds such a function.
3. Otherwise the statistics that ANALYZE has left.  Compact text is then not
   counted in the total, because statistics do not tell how much it saves.

Most changes have a risk: for example, a narrower type refuses values that the
present type accepts.  The report names the risk.  --without-risk leaves such
changes out.

\b
Examples:
  tools/advise shop
  tools/advise "host=db.example.org user=reader dbname=shop" --html shop.html
  createdb scratch && tools/advise shop --scratch scratch

The exit code is 0 if there is a report, 1 after an error, 2 after a wrong argument, and 130 after
an interrupt.
"""


class Bytes(click.ParamType):
    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,15})\s*([a-zA-Z]*)", value)
        if not match or match[2].lower() not in UNITS:
            self.fail(f'"{value}" is no size, such as 10MB')
        return min(int(match[1]) * UNITS[match[2].lower()], 2**62)


@click.command(
    help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.argument("database", metavar="DATABASE")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, readable=False),
    metavar="FILE",
    help="Also write the report as an HTML page, in one file.",
)
@click.option(
    "--scratch",
    metavar="CONNINFO",
    help="A scratch database on this machine, with the extensions installed on its server.",
)
@click.option(
    "--statistics",
    is_flag=True,
    help="Use the statistics, even if the database has the extension pg_dense.",
)
@click.option(
    "--without-risk",
    is_flag=True,
    help="Leave out changes that could make a statement of an application fail.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=1, max=86400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time that the tool may take.",
)
@click.option(
    "--min-size",
    type=Bytes(),
    default="1MB",
    show_default=True,
    metavar="SIZE",
    help="Count smaller tables, but do not examine them.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of tables to list; the total counts all tables.",
)
def cli(
    database: str,
    html: str | None,
    scratch: str | None,
    statistics: bool,
    without_risk: bool,
    budget: float,
    min_size: int,
    top: int,
) -> None:
    if scratch is not None and statistics:
        raise click.UsageError("--scratch and --statistics exclude each other")
    if not database:
        raise click.UsageError("DATABASE is empty")
    if scratch is not None:
        check_local(scratch)
    if html is not None:
        page.check(Path(html))
    target = Target(database, budget)
    try:
        report = make(target, scratch, statistics, not without_risk, min_size)
    finally:
        target.close()
    report.order()
    report.steps = steps(target, report, database, scratch, without_risk)
    terminal.show(report, top)
    if html is not None:
        page.write(report, top, Path(html))
        click.echo(f'\nwrote "{html}"')


def make(
    target: Target, scratch: str | None, statistics: bool, with_risk: bool, min_size: int
) -> Report:
    """Return the report, with its tables in no order."""
    report = Report(target.database, target.version_text, "", patched=target.patched)
    if target.standby:
        report.server += ", a standby"
    tables = target.tables()
    if scratch is None and not statistics and target.has_extension():
        report.source = "the extension pg_dense, by dense.report()"
        report.facts = [
            "The advisors of the installed features read rows of each table: all, or a sample.",
            "Each line names its confidence: high if all pages were read.",
            risk_fact(with_risk),
        ]
        extension.fill(report, target, tables, min_size, with_risk)
        return report
    skip(report, tables, min_size)
    wanted = [table for table in tables if table.status is None and table.bytes >= min_size]
    target.describe(wanted)
    keys = target.key_names()
    target.end_catalogs()
    if scratch is None:
        report.source = "plain statistics (pg_stats), confidence medium or low"
        report.facts = [
            "No row was read, and nothing was installed. Each line names its assumption.",
            "Values that the statistics do not contain can prevent a type.",
            "compact_text is only an option: statistics do not tell how much it saves.",
        ]
    else:
        report.source = "a sample of rows, copied to the scratch database, confidence medium"
        report.facts = [
            "The advisors saw the sample, and the figures are extended to the whole table.",
            "Values that are not in the sample can prevent a type.",
            "No object is left in the scratch database. But its catalogs have dead rows, so drop"
            " this database afterwards.",
        ]
    report.facts += [
        "Free space that a rewrite returns is not counted as a saving.",
        "Objects that use a column, such as views and functions, were not examined.",
        "The tool reads no CHECK constraints. They can prevent a type, or rule out its risk.",
        risk_fact(with_risk),
    ]
    if scratch is None:
        for number, table in enumerate(wanted):
            if not in_time(report, target, wanted, number):
                break
            try:
                advice = estimate.from_statistics(table, target, keys, with_risk)
                lines = estimate.estimate(table, advice, target)
            except Exception as error:
                lines = [failed(error)]
            report.tables.append(TableReport(table.name, table.bytes, lines))
        return report
    there = Scratch(scratch, target)
    try:
        sample(report, target, there, wanted, keys, with_risk)
    finally:
        there.close()
    return report


def failed(error: Exception) -> Line:
    """Return the line for a table whose estimate ended with an error."""
    why = " ".join(str(error).split())
    return Line(
        REMARK,
        "nothing: the estimate failed",
        reason=f"{type(error).__name__}: {why}" if why else type(error).__name__,
        unknown=True,
    )


def in_time(report: Report, target: Target, wanted: list[Table], number: int) -> bool:
    """Return false, and say so in the report, if the budget is used up."""
    if target.left() > 0:
        return True
    rest = wanted[number:]
    report.skipped.append(
        Skipped(
            f"the budget was used up before {len(rest)} of {len(wanted)} tables",
            sum(table.bytes for table in rest),
        )
    )
    return False


def sample(
    report: Report,
    target: Target,
    scratch: Scratch,
    wanted: list[Table],
    keys: dict[str, set[int]],
    with_risk: bool,
) -> None:
    """Ask the advisors about a sample of each table; a table gets time by its size."""
    total = sum(table.bytes for table in wanted)
    for number, table in enumerate(wanted):
        if not in_time(report, target, wanted, number):
            return
        seconds = max(target.left() * table.bytes / max(total, 1), LEAST_SECONDS)
        total -= table.bytes
        try:
            lines = sample_one(target, scratch, table, keys, with_risk, seconds)
        except psycopg.errors.UndefinedTable:
            report.skipped.append(Skipped(f"{table.name}: dropped meanwhile", table.bytes))
            continue
        except psycopg.Error:
            raise
        except Exception as error:
            lines = [failed(error)]
        report.tables.append(TableReport(table.name, table.bytes, lines))


def sample_one(
    target: Target,
    scratch: Scratch,
    table: Table,
    keys: dict[str, set[int]],
    with_risk: bool,
    seconds: float,
) -> list[Line]:
    """Ask the advisors about a sample of one table, or its statistics if there is no sample."""
    more: list[Line] = []
    try:
        advice, more = scratch.advise(table, target, keys, with_risk, seconds)
    except psycopg.errors.UndefinedTable:
        raise
    except (psycopg.Error, NoSample) as error:
        if target.connection.closed or scratch.connection.closed:
            raise
        advice = estimate.from_statistics(table, target, keys, with_risk)
        advice.confidence = "low"
        why = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        why = why or " ".join(str(error).split())
        advice.reason += f", because no sample could be taken: {why}"
    lines = estimate.estimate(table, advice, target)
    if more:
        lines = [line for line in lines if not line.action.startswith("compress large")] + more
    return lines


SMALLER = "smaller than "
REASONS = {
    "denied": "that the role may not read",
    "denied in part": "of which the role may read some columns only",
    "row security": "whose rows row-level security hides from the role",
    "foreign": "whose rows are not stored here: foreign tables",
    "temporary": "of other sessions: temporary tables",
    "unlogged": "without rows on a standby: unlogged tables",
    "dropped": "that were dropped meanwhile",
}


def skip(report: Report, tables: list[Table], min_size: int) -> None:
    """Count the tables that are not examined."""
    groups: dict[str, list[Table]] = defaultdict(list)
    for table in tables:
        if table.status is not None:
            groups[REASONS[table.status]].append(table)
        elif table.bytes < min_size:
            groups[SMALLER + size(min_size)].append(table)
    all_small = not any(table.status is None and table.bytes >= min_size for table in tables)
    for reason, members in groups.items():
        count = "1 table" if len(members) == 1 else f"{len(members)} tables"
        hint = USE_MIN_SIZE if all_small and reason.startswith(SMALLER) else ""
        bytes_ = sum(table.bytes for table in members)
        report.skipped.append(Skipped(f"{count} {reason}", bytes_, hint))


def risk_fact(with_risk: bool) -> str:
    if with_risk:
        return "Changes that have a risk are counted. --without-risk leaves them out."
    return "Changes that have a risk are left out."


def shell_quote(word: str) -> str:
    """Return a word for a shell.  Double quotes keep the quotes of SQL readable."""
    quoted = shlex.quote(word)
    return f'"{word}"' if quoted != word and not set('$`"\\!') & set(word) else quoted


def steps(
    target: Target, report: Report, database: str, scratch: str | None, without_risk: bool
) -> list[Step]:
    """Return the commands to run next.  A password in the connection string is not repeated."""
    info = target.info
    words = ["psql"]
    if info["host"]:
        words += ["-h", info["host"]]
    if info["port"] != 5432:
        words += ["-p", str(info["port"])]
    words += ["-d", target.database]
    plain = is_plain(target.database)
    psql = " ".join(shell_quote(word) for word in words)
    # libpq reads a name that looks like a connection string as one
    name = target.database
    if not plain or "=" in name or "://" in name:
        psql = "psql CONNINFO"
    again = shell_quote(name) if database == name and "=" not in name else "CONNINFO"
    if not plain:
        again = "CONNINFO"

    def command(statement: str) -> str:
        return f"{psql} -c {shell_quote(statement)}"

    if report.source.startswith("the extension"):
        found = extension.steps(report, command)
        return [step for step in found if is_plain(step.command)]
    result = []
    bare = [
        line.statement
        for table in report.tables
        for line in table.lines
        if line.statement.startswith("ANALYZE") and is_plain(line.statement)
    ]
    if bare:
        result.append(
            Step("collect statistics for tables without statistics", command("; ".join(bare[:5])))
        )
    if scratch is None:
        result.append(
            Step(
                "get better figures without an installation on that server, by an instance on this"
                " machine that has the extensions",
                f"createdb -T template0 -E {target.encoding} -l C scratch\n"
                f"tools/advise {again} --scratch scratch",
            )
        )
    result.append(
        Step(
            "install the extensions on the server, with the pg_config of this server",
            "make install PG_CONFIG=/path/to/pg_config",
        )
    )
    result.append(
        Step(
            "create the extensions in the database, as a superuser",
            command(
                "CREATE EXTENSION pg_dense; CREATE EXTENSION compact_types;"
                " CREATE EXTENSION toast_policy; CREATE EXTENSION vertical_partition"
            ),
        )
    )
    result.append(Step("see exact figures, and the statements", f"tools/advise {again}"))
    return result


ended: list[int] = []


def on_signal(number: int, _frame: Any) -> None:
    """End the program once; a second signal does not disturb that."""
    ended.append(number)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Terminated(signal.Signals(number).name)


def fail(message: str, code: int = 1) -> None:
    """End with an error.  What fails after a signal fails because of the signal."""
    if ended:
        message, code = "interrupted", INTERRUPTED
    click.echo(f"{PROGRAM}: error: {' '.join(message.split())}", err=True)
    sys.exit(code)


def usage_line(error: click.UsageError) -> str:
    message = error.format_message().rstrip(".")
    # "DATABASE" keeps its letters
    if message[1:2].islower():
        message = message[:1].lower() + message[1:]
    return f'{message}; usage: {PROGRAM} [OPTION]... DATABASE, see "{PROGRAM} --help"'


def main() -> None:
    # psycopg logs what goes wrong while a connection is being closed
    logging.disable()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, on_signal)
    try:
        code = cli.main(prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except AdviseError as error:
        fail(str(error))
    except click.UsageError as error:
        fail(usage_line(error), 2)
    except click.ClickException as error:
        fail(error.format_message())
    except (click.Abort, KeyboardInterrupt, Terminated):
        fail("interrupted", INTERRUPTED)
    except psycopg.errors.QueryCanceled:
        fail("the budget is used up before there is a report, give more with --budget")
    except psycopg.Error as error:
        # classes 08 and 57 are of connections and of a shutdown
        if isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08")[:2] in LOST:
            fail("lost the server: " + (error.diag.message_primary or str(error) or "no reason"))
        fail("the server said: " + (error.diag.message_primary or str(error)))
    except UnicodeDecodeError:
        fail("a name in the catalogs is not valid UTF-8")
    except BrokenPipeError:
        # as "tools/advise shop | head" has it
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        fail(f'{error.strerror}: "{error.filename}"' if error.filename else str(error))
