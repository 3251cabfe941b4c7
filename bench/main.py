"""The command line of bench/run."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import psycopg

from bench.lib import paths
from bench.lib.console import BenchError
from bench.lib.session import Terminated
from bench.text_mix.sources import MixError

SEED = 20240607

# A run that does not succeed ends with one line on stderr, and with an exit code other than 0.
INTERRUPTED = 130


def writable(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Raise an error at once, not after an hour of measuring, if the path cannot be written."""
    if path:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BenchError(f'could not create directory "{path.parent}": {error.strerror}') from error
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BenchError(f'"{path}" is not writable')
    return path


def chosen_major(_context: click.Context, _option: click.Parameter, name: str | None) -> None:
    if name is not None:
        paths.choose_major(name)


major = click.option(
    "--major",
    metavar="NUMBER",
    expose_value=False,
    is_eager=True,
    callback=chosen_major,
    help="Major version of the PostgreSQL servers to measure; default: the first in tools/pg-versions.",
)


def common(command: Callable) -> Callable:
    for option in (
        major,
        click.option(
            "--json",
            "target",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            callback=writable,
            help="File for the results; default: build/bench/results/STUDY.json, or STUDY-NUMBER.json for another major version.",
        ),
        click.option("--quick", is_flag=True, help="A smoke run, which proves nothing."),
        click.option("--seed", type=click.IntRange(0, 2**31), default=SEED, show_default=True),
    ):
        command = option(command)
    return command


running = click.option(
    "--running", is_flag=True, help="Use the server that PGHOST and PGPORT name instead of a private one."
)
lite = click.option("--lite", is_flag=True, help="A hundredth of the rows a warehouse, for tests.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Measure what each piece of pg_dense does, or show what was measured."""


def fill_in(options: dict[str, Any], quick: bool, **defaults: tuple[Any, Any]) -> None:
    """Set options that are not given to the default of a full run, or of a smoke run."""
    for name, (full, smoke) in defaults.items():
        if options[name] is None:
            options[name] = smoke if quick else full


@cli.command("row-size", short_help="Bytes a row, stock types against compact types.")
@common
@running
@lite
@click.option("--warehouses", type=click.IntRange(1), help="Default: 2, or 1 with --quick.")
def row_size(target: Path | None, quick: bool, seed: int, running: bool, lite: bool, warehouses: int | None) -> None:
    """Bytes a row, stock types against compact types.

    The study measures TPC-C, text-heavy tables, and a mix of text columns.
    """
    from bench.studies import row_size as study

    study.run(warehouses or (1 if quick else 2), seed, quick, running, lite, target)


@cli.command("types-speed", short_help="Time of compact_char24 against char(24).")
@common
@running
@click.option("--rows", type=click.IntRange(100), help="Default: 100000, or 10000 with --quick.")
@click.option("--rounds", type=click.IntRange(1), help="Repeats of each test; default: 21, or 3 with --quick.")
@click.option(
    "--collation", default="C", show_default=True, metavar="NAME", help="Collation of all strings: a name in pg_collation."
)
def types_speed(
    target: Path | None, quick: bool, seed: int, running: bool, rows: int | None, rounds: int | None, collation: str
) -> None:
    """Time of compact_char24 against char(24) and varchar(24).

    The tests are filter, insert, COPY, sort, join, and lookup.
    """
    from bench.studies import types_speed as study

    study.run(
        rows or (10_000 if quick else 100_000), rounds or (3 if quick else 21), collation, seed, quick, running, target
    )


@cli.command("index-size", short_help="Bytes and time of B-tree indexes by item alignment.")
@common
@running
@lite
@click.option("--rows", type=click.IntRange(1000), help="Rows of an index; default: 400000, or 20000 with --quick.")
@click.option("--rounds", type=click.IntRange(1), help="Repeats of each timed test; default: 21, or 3 with --quick.")
@click.option("--warehouses", type=click.IntRange(1), help="Warehouses of TPC-C; default: 10, or 1 with --quick.")
@click.option("--exact", is_flag=True, help="Sizes only, which do not depend on the machine; no times.")
def index_size(rows: int | None, rounds: int | None, warehouses: int | None, quick: bool, **options) -> None:
    """B-tree indexes with item alignment max and auto.

    The study measures bytes by the shape of the key, bytes of TPC-C's indexes, and time.
    """
    from bench.studies import index_size as study

    study.run(
        rows=rows or (20_000 if quick else 400_000),
        rounds=rounds or (3 if quick else 21),
        warehouses=warehouses or (1 if quick else 10),
        quick=quick,
        **options,
    )


@cli.command("wal", short_help="Device bytes, page cache and time of WAL with direct I/O.")
@common
@click.option(
    "--clients", type=click.IntRange(1, 50), multiple=True, metavar="NUMBER", help="Number of clients; default: 1, 8 and 32; repeatable."
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(["fdatasync", "open_datasync"]),
    multiple=True,
    help="Value of wal_sync_method for timed tests; default: both; repeatable.",
)
@click.option("--pairs", type=click.IntRange(1), help="Rounds of each timed test; default: 9, or 1 with --quick.")
@click.option("--seconds", type=click.FloatRange(0.5), help="Seconds of a run; default: 5, or 1 with --quick.")
@click.option("--scale", type=click.IntRange(1), help="Scale factor of pgbench; default: 5, or 1 with --quick.")
@click.option(
    "--memory",
    type=click.IntRange(64),
    metavar="MB",
    help="Memory limit for the server and its page cache, in the test of data that stays cached; default: 400, or 128 with --quick.",
)
@click.option("--exact", is_flag=True, help="Bytes on the device and in the page cache only; no times.")
def wal(
    target: Path | None, quick: bool, seed: int, clients: tuple[int, ...], methods: tuple[str, ...], **options
) -> None:
    """WAL with direct I/O and in smaller units.

    The study measures device bytes per commit, page cache, and commits a second.
    """
    from bench.studies import wal as study

    fill_in(options, quick, pairs=(9, 1), seconds=(5.0, 1.0), scale=(5, 1), memory=(400, 128))
    chosen = study.Options(
        quick=quick,
        seed=seed,
        clients=tuple(dict.fromkeys(clients)) or (1, 8, 32),
        methods=tuple(dict.fromkeys(methods)) or ("fdatasync", "open_datasync"),
        **options,
    )
    study.run(chosen, target)


@cli.command("bgvacuum", short_help="Growth, reads, writes and decline with background vacuum.")
@common
@click.option(
    "--workload",
    "workloads",
    type=click.Choice(["mixed", "uniform", "indexed", "groups", "insert_only", "append_only", "temporary", "tpcc"]),
    multiple=True,
    help="Default: all; repeatable.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME[:SERVER[:SETTING=VALUE,...]]",
    help="Variant to compare, the first with all others; SERVER is a directory below build/MAJOR or a path."
    " Default: stock, off, on; repeatable.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Setting of all servers; repeatable.")
@click.option("--pairs", type=click.IntRange(1), help="Runs of each variant; default: 5, or 1 with --quick.")
@click.option("--cycles", type=click.IntRange(100), help="Cycles of operations in a run; default: that of the workload.")
@click.option("--batch", type=click.IntRange(1), default=20, show_default=True, help="Cycles in one call of the load.")
@click.option("--rate", type=click.FloatRange(1), help="Highest number of cycles a second.")
@click.option("--rows", type=click.IntRange(100), help="Rows of a table; default: 1150000, or 20000 with --quick.")
@click.option("--warehouses", type=click.IntRange(1), help="Warehouses of TPC-C; default: 2, or a small one with --quick.")
@click.option("--clients", type=click.IntRange(1, 50), default=4, show_default=True)
@click.option("--shared-buffers", metavar="SIZE", help="Default: 32MB, or 1MB with --quick.")
@click.option("--switched", is_flag=True, help="Only runs that switch background vacuum on and off in turn.")
def bgvacuum(target: Path | None, **options) -> None:
    """Background vacuum: growth of tables, reads, WAL, writes by type of process, and decline.

    The runs last several autovacuum cycles.
    """
    from bench.studies import bgvacuum as study

    study.run(study.choose(**options), target)


@cli.command("vertical-partition", short_help="Reads and updates by key of tables split into hot and cold columns.")
@common
@click.option("--rounds", type=click.IntRange(1), help="Runs of each statement; default: 9, or 1 with --quick.")
@click.option("--calls", type=click.IntRange(10), help="Statements of a run; default: 20000, or 200 with --quick.")
@click.option(
    "--updates",
    type=click.IntRange(10),
    help="Updates whose bytes and pages are counted; default: 3000, or 100 with --quick.",
)
@click.option("--exact", is_flag=True, help="Bytes, pages and buffers only, which do not depend on the machine; no times.")
def vertical_partition(target: Path | None, quick: bool, **options) -> None:
    """Tables split into hot and cold columns: point reads and updates by key.

    The study measures time, buffers, and the bytes and pages that an update writes.
    """
    from bench.studies import vertical_partition as study

    fill_in(options, quick, rounds=(9, 1), calls=(20_000, 200), updates=(3_000, 100))
    study.run(study.Options(quick=quick, **options), target)


@cli.command("fillfactor", short_help="HOT updates, their cost, and clustering, by fillfactor.")
@common
@click.option("--rows", type=click.IntRange(100, 3_000_000), help="Rows of the table; default: 10000, or 1000 with --quick.")
@click.option("--updates", type=click.IntRange(10), help="Updates of a run; default: 2000, or 200 with --quick.")
@click.option("--rounds", type=click.IntRange(1), help="Timed runs; default: 21, or 1 with --quick.")
@click.option("--exact", is_flag=True, help="Counts, bytes and pages only, which do not depend on the machine; no times.")
def fillfactor(target: Path | None, quick: bool, **options) -> None:
    """Fillfactor 100 and less: share of HOT updates and its causes, time, WAL, and pages.

    The study also measures the correlation of a clustered key.
    """
    from bench.studies import fillfactor as study

    fill_in(options, quick, rows=(10_000, 1_000), updates=(2_000, 200), rounds=(21, 1))
    study.run(study.Options(quick=quick, **options), target)


@cli.command("fk-restore", short_help="pg_restore with a foreign key created before or after the rows.")
@common
# If the referenced table is smaller, the lookups scan all of it.
@click.option("--rows", type=click.IntRange(5_000), help="Rows that reference others; default: 1000000, or 5000 with --quick.")
@click.option("--rounds", type=click.IntRange(1), help="Restores of each kind; default: 7, or 1 with --quick.")
def fk_restore(target: Path | None, quick: bool, **options) -> None:
    """pg_restore with a foreign key created before the rows, or after them: time by step.

    Before the rows, the foreign key is immediate or deferred.
    """
    from bench.studies import fk_restore as study

    fill_in(options, quick, rows=(1_000_000, 5_000), rounds=(7, 1))
    study.run(study.Options(quick=quick, **options), target)


def toast(command: Callable) -> Callable:
    """Add the options of the three studies of large values."""
    for option in (
        click.option("--rounds", type=click.IntRange(1), help="Repeats of each test; default: 11, or 3 with --quick."),
        click.option(
            "--rows", type=click.IntRange(10), help="Rows of a table, at most; default: 4000, or 200 with --quick."
        ),
        running,
        common,
    ):
        command = option(command)
    return command


def toast_arguments(options: dict[str, Any]) -> dict[str, Any]:
    fill_in(options, options["quick"], rows=(4000, 200), rounds=(11, 3))
    return options


@cli.command("toast-strategies", short_help="Storage strategies, the policy and each codec.")
@toast
def toast_strategies(**options) -> None:
    """PLAIN, EXTERNAL, EXTENDED, MAIN, the policy and each codec.

    The values are random or repeated ones of five sizes.
    """
    from bench.studies import toast_strategies as study

    study.run(**toast_arguments(options))


@cli.command("toast-chunks", short_help="Compression that saves no chunk, and narrow rows.")
@toast
def toast_chunks(**options) -> None:
    """Large values whose compression saves no TOAST chunk.

    These are the five tests published on pgsql-hackers.
    """
    from bench.studies import toast_chunks as study

    study.run(**toast_arguments(options))


@cli.command("toast-codecs", short_help="Codecs on documents, text, digests and random bytes.")
@toast
def toast_codecs(**options) -> None:
    """Size, INSERT and read of each codec.

    The values are JSON, SGML, hexadecimal digests, random bytes, and repeated bytes.
    """
    from bench.studies import toast_codecs as study

    study.run(**toast_arguments(options))


def tpcc_server(command: Callable) -> Callable:
    """Add the options of the studies of TPC-C under a memory limit."""
    for option in (
        click.option("--shared-buffers", default="270MB", show_default=True, metavar="SIZE"),
        click.option("--unlimited", is_flag=True, help="No memory limit and no read throttle."),
        click.option("--iops", type=click.IntRange(1), default=1500, show_default=True, help="Limit for the server's reads a second."),
        click.option(
            "--memory",
            type=click.IntRange(64),
            default=400,
            show_default=True,
            metavar="MB",
            help="Limit for the server and its page cache.",
        ),
        click.option("--clients", type=click.IntRange(1), default=8, show_default=True),
        click.option("--warehouses", type=click.IntRange(1), help="Default: 10, or 2 with --quick."),
        lite,
        common,
    ):
        command = option(command)
    return command


@cli.command("tpcc", short_help="Throughput, latency, I/O and size of TPC-C.")
@tpcc_server
@click.option("--pairs", type=click.IntRange(1), help="Runs of each stage; default: 3, or 1 with --quick.")
@click.option("--warmup", type=click.FloatRange(0), metavar="SECONDS", help="Default: 120, or 5 with --quick.")
@click.option("--seconds", type=click.FloatRange(1), help="Seconds to measure; default: 180, or 20 with --quick.")
@click.option(
    "--sweep",
    is_flag=True,
    help="Also run with shared_buffers of 128MB, and with memory of 250, 400, 550 and 700 MB, two thirds of it as shared_buffers.",
)
@click.option("--sweep-pairs", type=click.IntRange(1), help="Runs of each stage in the sweep; default: as --pairs.")
@click.option(
    "--curve",
    type=click.FloatRange(0),
    default=0,
    metavar="MINUTES",
    help="Also run the first and the last stage once for so long, measured from the beginning; default: none.",
)
@click.option(
    "--pairs-of",
    multiple=True,
    metavar="NAME",
    help="Stage that runs as often as --pairs says, where the others run once; default: all; repeatable.",
)
@click.option(
    "--stage",
    "stage_names",
    multiple=True,
    metavar="NAME",
    help="Compare only this stage; default: all, or those of the file with --extend; repeatable.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME",
    help="Change the schema of all stages: dbt2-key, sentinel, numeric-money, wide-customers; repeatable.",
)
@click.option("--think", is_flag=True, help="Keying and think times of the TPC-C specification.")
@click.option("--direct", is_flag=True, help="Direct I/O for tables and indexes too, so that they do not use the page cache.")
@click.option("--fresh", is_flag=True, help="Repeat also the runs that an interrupted study has finished.")
@click.option(
    "--extend",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take over the runs of this result, which must have the same options, and add missing pairs and the sweep.",
)
@click.option(
    "--curve-of",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take over the long runs of this result and its --curve; its window and its other stages may differ.",
)
def tpcc(target: Path | None, quick: bool, **options) -> None:
    """Throughput, latency, I/O and size of DBT-2-style TPC-C, stage by stage."""
    from bench.studies import tpcc as study

    fill_in(options, quick, warehouses=(10, 2), pairs=(3, 1), warmup=(120.0, 5.0), seconds=(180.0, 20.0))
    study.run(study.Options(quick=quick, **options), target)


@cli.command("tpcc-switched", short_help="TPC-C, background vacuum on and off within one run.")
@tpcc_server
@click.option("--blocks", type=click.IntRange(1), help="Blocks of four phases, off on on off; default: 6, or 2 with --quick.")
@click.option("--warmup", type=click.FloatRange(0), metavar="SECONDS", help="Default: 180, or 3 with --quick.")
@click.option("--phase", type=click.FloatRange(1), metavar="SECONDS", help="Length of a phase; default: 60, or 3 with --quick.")
def tpcc_switched(target: Path | None, quick: bool, **options) -> None:
    """TPC-C with all of pg_dense, background vacuum switched on and off in turn within one run."""
    from bench.studies import tpcc_switched as study

    fill_in(options, quick, warehouses=(10, 2), blocks=(6, 2), warmup=(180.0, 3.0), phase=(60.0, 3.0))
    study.run(study.Options(quick=quick, **options), target)


@cli.command("tpcc-selftest", short_help="Prove that the consistency checks can fail.")
@major
@running
@click.option("--seed", type=click.IntRange(0, 2**31), default=SEED, show_default=True)
@click.option("--stage", "stage_name", default="compact-types", show_default=True, metavar="NAME")
@click.option("--variant", "variants", multiple=True, metavar="NAME")
def tpcc_selftest(running: bool, seed: int, stage_name: str, variants: tuple[str, ...]) -> None:
    """Prove on a small database that each of the twelve consistency conditions can fail.

    The output is TAP.
    """
    from bench.studies import tpcc_selftest as study

    study.run(running, seed, stage_name, variants)


@cli.command("demo", short_help="Stock and compact types side by side.")
@major
@click.option("--keep", is_flag=True, help="Leave the instance running.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=SEED, show_default=True)
def demo(keep: bool, seed: int) -> None:
    """TPC-C with stock types and with compact types, side by side, in about a minute."""
    from bench.studies import demo as study

    study.run(keep, seed)


@cli.command("report", short_help="An HTML page, doc/benchmarks.md and the figures of README.md.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory of the studies' JSON files; default: bench/results.",
)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Default: build/bench/report.html."
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Default: doc/benchmarks.md, or none with --results.",
)
@click.option(
    "--readme",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File whose table of figures is replaced; default: README.md, or none with --results.",
)
def report(results: Path | None, html: Path | None, markdown: Path | None, readme: Path | None) -> None:
    """Write an HTML page, the tables of doc/benchmarks.md and the figures in README.md.

    They are made from the results of the studies.
    """
    from bench import report as writer

    # The studies are the commands that write results.
    studies = [name for name, command in cli.commands.items() if any(option.name == "target" for option in command.params)]
    writer.run(studies, results, html, markdown, readme)


def fail(message: str, code: int = 1) -> None:
    BenchError(message).show()
    sys.exit(code)


def usage_line(error: click.UsageError) -> str:
    message = error.format_message().rstrip(".")
    return f'{message[:1].lower()}{message[1:]}, see "bench/run --help"'


def main(name: str) -> None:
    try:
        code = cli.main(prog_name=name, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except BenchError as error:
        error.show()
        sys.exit(1)
    except click.UsageError as error:
        fail(usage_line(error), 2)
    except click.ClickException as error:
        fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        fail("interrupted", INTERRUPTED)
    except Terminated as error:
        fail(f"ended by {error}", INTERRUPTED)
    except MixError as error:
        fail(str(error))
    except psycopg.errors.DiskFull as error:
        fail(f"disk full: {error.diag.message_primary}")
    except psycopg.OperationalError as error:
        reason = (str(error).strip().splitlines() or ["connection lost"])[0]
        fail(f"lost the server: {reason} (logs of private instances: build/cluster/*/log)")
    except psycopg.Error as error:
        fail(f"the server said: {error.diag.message_primary or str(error).strip()}")
    except OSError as error:
        fail(f'{error.strerror}: "{error.filename}"' if error.filename else str(error))
