"""Bytes and time of strings that are encoded with a trained dictionary of their column."""

from pathlib import Path

import click

from bench import text_mix
from bench.lib.bars import Bar, show_bars
from bench.lib.console import progress
from bench.lib.options import common, fill_in, running
from bench.lib.result import Result
from bench.lib.session import quietly, session
from bench.studies import dictionary_sizes, dictionary_times
from bench.studies.row_size import start
from bench.text_mix import held
from bench.tpcc.load import create_extensions

DATABASE = "bench_dictionary"

# Values of a column and rows of a table in a smoke run
FEW = 1000

# Highest ratios of the bytes to those of text
COLUMN_BARS = {
    "json": 0.45,
    "log": 0.40,
    "user_agent": 0.35,
    "arabic": 0.45,
    "greek": 0.50,
    "hindi": 0.45,
    "ipv6": 0.65,
    "status": 0.35,
}
SIZE_BARS = (
    Bar("mean.34", "bytes, trained to text: mean of the columns of the frozen mix", 0.50),
    *(
        Bar(name, f"bytes, trained to text: held-out column {name}", COLUMN_BARS[name])
        for name in held.PROMISED
    ),
    Bar("tables.mean", "heap and indexes, trained to compact_text: mean of the tables", 0.85),
)
# Highest ratios of the time to that of text, and limits of absolute times
TIME_BARS = (
    Bar("copy.text", "time to text: COPY FROM, text-heavy tables together", 2.5),
    Bar("like", "time to text: filter with LIKE '%word%'", 1.3),
    Bar("sort", "time to text: sort by a key of 24 bytes", 1.3),
    Bar("sort.statement", "time to text: sort by an SQL statement", 1.3),
    Bar("distinct", "time to text: distinct user agents", 1.3),
    Bar("hash_index", "time to text: CREATE INDEX USING hash", 1.5),
    Bar("decode_gbs.100", "GB/s to decode strings of about 100 bytes", least=1),
    Bar("decode_ns.24", "nanoseconds to decode a string of about 24 bytes", 15),
    Bar("encode_ns_byte", "nanoseconds to encode a byte", 15),
    Bar("train.seconds", "seconds to train on 100,000 values of 50 bytes", 2),
)


def run(
    rows: int,
    rounds: int,
    exact: bool,
    seed: int,
    quick: bool,
    running: bool,
    target: Path | None,
) -> None:
    result = Result("dictionary", seed, quick)
    result.describe(rows=rows, rounds=rounds, exact=exact)
    # Do this first: it fails if the mix cannot be made.
    mix = text_mix.state()
    with session() as stack:
        server = start(stack, "bench-dictionary", running)
        server.create_database(DATABASE)
        stack.callback(quietly, server.drop_database, DATABASE)
        with server.connect(DATABASE) as connection, progress() as bars:
            # A server that runs already has settings of its own.
            connection.execute(
                "SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '256MB'"
            )
            create_extensions(connection, ("compact_types",))
            result.describe_server(connection, **{"text mix": mix})
            task = bars.add_task("sizes")
            sizes = dictionary_sizes.Study(
                connection, result, FEW if quick else None, lambda: bars.advance(task)
            )
            bars.update(task, total=sizes.steps)
            sizes.measure()
            if not exact:
                timed = bars.add_task("times")
                times = dictionary_times.Study(
                    connection, result, rows, rounds, lambda: bars.advance(timed)
                )
                bars.update(timed, total=times.steps)
                times.measure()
        show_bars(result, SIZE_BARS if exact else SIZE_BARS + TIME_BARS)
    result.save(target)


@click.command("dictionary", short_help="Bytes and time of strings with a trained dictionary.")
@common
@running
@click.option(
    "--rows",
    type=click.IntRange(1000),
    help="Rows of a timed table; default: 100000, or 5000 with --quick.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help="Repeats of each timed test; default: 11, or 3 with --quick.",
)
@click.option(
    "--exact", is_flag=True, help="Sizes only, which do not depend on the machine; no times."
)
def command(target: Path | None, quick: bool, **options) -> None:
    """Strings with a dictionary that was trained on their column, against text and compact_text.

    The study measures bytes of values that were not used for training, pages of tables, and time.
    """
    fill_in(options, quick, rows=(100_000, 5_000), rounds=(11, 3))
    run(quick=quick, target=target, **options)
