"""Names of studies, stages and metrics in words, for the report."""

import re
from typing import Any

from bench.bgvacuum.variants import DEFAULT, EAGER
from bench.tpcc.stages import BRANCHES, WHOLE
from bench.vertical.variants import ALL as VERTICAL

STUDIES = {
    "row-size": "Bytes of rows and values",
    "types-speed": "Time of compact types",
    "dictionary": "Strings with a trained dictionary",
    "index-size": "Bytes and time of indexes",
    "wal": "WAL with direct I/O",
    "bgvacuum": "Background vacuum",
    "instructions": "Instructions with background vacuum",
    "analyze": "ANALYZE with few blocks",
    "vertical-partition": "Split tables",
    "fillfactor": "HOT updates and fillfactor",
    "fk-restore": "Restores with a foreign key",
    "toast-strategies": "Large values by storage strategy",
    "toast-chunks": "Large values of which compression saves no chunk",
    "toast-codecs": "Large values by codec",
    "tpcc": "TPC-C with little memory",
    "tpcc-switched": "TPC-C, background vacuum on and off in one run",
}
# The rest of the name of a file that is not the usual one of its study
FILES = {
    "18": "PostgreSQL 18",
    "stages": "each stage",
    "split": "the split alone",
    "direct": "direct I/O for tables",
    "out-of-line": "values out of line",
    "temporary": "temporary tables",
}

# The stages of the whole stack as additions to the stage before
ADDED = {
    "stock": "stock PostgreSQL",
    "off": "patched server, all switches off",
    "wal-direct": "+ WAL with direct I/O",
    "compact-types": "+ compact types",
    "index-alignment": "+ aligned indexes",
    "vertical-partition-customer": "+ split of the table customer",
    "background-vacuum-customer": "+ background vacuum",
}
STAGES = {
    step.name: step.title
    for steps in (WHOLE, *(branch.steps for branch in BRANCHES))
    for step in steps
}

# The variants of the studies bgvacuum and vertical-partition
VARIANTS = {variant.name: variant.title for variant in (*DEFAULT, EAGER, *VERTICAL)}

TPCC = {
    "tpmc": "New-Orders a minute",
    "reads": "device reads per New-Order",
    "wal_bytes": "WAL per New-Order",
    "written_bytes": "device bytes written per New-Order",
    "cpu": "CPU time per New-Order",
    "growth": "growth of tables by UPDATE",
    "size": "bytes of",
}
# Parts of the names of metrics
PARTS = {
    "all": "all features",
    "sb128": "shared_buffers 128MB",
    "best": "best of all memory sizes",
    "curve": "long run",
    "switched": "switched on, to off",
    "tps": "operations a second",
    "strings": "char(n) as compact_charN",
    "scalars": "narrow scalars as well",
    "text": "compact_text",
    "mix.mean": "mean of the columns of text",
    "index_growth": "growth of the indexes",
    "client_reads": "blocks read by clients",
    "backend_writes": "blocks written by backends",
    "session_writes": "blocks written by sessions",
    "bgwriter_writes": "blocks written by the background writer",
    "checkpointer_writes": "blocks written by the checkpointer",
    "block_writes": "blocks written",
    "block_reads": "blocks read",
    "cached_reads": "reads from the page cache",
    "refaults": "pages read again",
    "newpage": "updates to another page",
    "page_cache": "page cache",
    "dirty_cache": "dirty page cache",
    "private": "private memory",
    "writes": "blocks written",
    "wal": "WAL",
    "cpu": "CPU time",
    "off": "switches off",
    "read_cpu": "CPU time of a read, bytes",
    "insert_cpu": "CPU time of INSERT, bytes",
    "core": "core patch",
    "growth_chunks": "growth in chunks",
    "max": "largest ratio",
    "size_vs_lz4": "size to lz4",
    "size_vs_pglz": "size to pglz",
    "read_vs_lz4": "read to lz4",
    "read_vs_pglz": "read to pglz",
    "stored_vs_lz4": "bytes of values to lz4",
    "stored_vs_pglz": "bytes of values to pglz",
    "insert_vs_external": "INSERT to EXTERNAL",
    "insert_vs_extended": "INSERT to EXTENDED",
    "read_vs_extended": "read to EXTENDED",
    "size_vs_extended": "size to EXTENDED",
    "filter_late": "filter on the tenth string",
    "sum_late": "sum of the tenth column",
    "hash_join": "hash join",
    "sort": "sort",
    "copy": "COPY FROM",
    "copy_out": "COPY TO",
    "insert": "INSERT",
    "varchar": "to varchar",
    "like": "LIKE",
    "bytes_per_update": "bytes per UPDATE",
    "pages_per_update": "pages per UPDATE",
    "wal_per_update": "WAL per UPDATE",
    "simple": "without prepared statements",
    "tracked": "updates tracked",
    "resident": "WAL in the page cache",
    "relieved": "cache relieved",
    "off_archived": "switches off, with an archiver",
    "relieved_archived": "cache relieved, with an archiver",
    "hot": "share of HOT updates, fillfactor",
    "snapshot": "with an old snapshot",
    "together": "in one transaction",
    "after_j2": "after, -j 2",
    "to_immediate": "to immediate",
    "trigger_share": "share of the trigger",
    "after": "foreign key after the rows",
    "key": "key before the rows",
    "immediate": "immediate foreign key",
    "deferred": "deferred foreign key",
}
# Parts that mean something else in these studies
OF_STUDY = {
    "row-size": {"all": "all compact types"},
    "dictionary": {
        "mean.34": "mean of the frozen mix",
        "mean.held": "mean of the held-out columns",
        "mean.real": "mean of the real columns",
        "compact_text.mean.34": "compact_text, mean of the frozen mix",
        "compact_text.mean.held": "compact_text, mean of the held-out columns",
        "compact_text.mean.real": "compact_text, mean of the real columns",
        "tables.mean.with_dictionaries": "heap, indexes and dictionaries, mean of the tables",
        "held": "held-out column",
        "tables": "table",
        "compact_text": "to compact_text",
        "text": "tables together",
        "statement": "SQL statement",
        "distinct": "DISTINCT",
        "hash_index": "CREATE INDEX USING hash",
        "train": "training",
        "cpu_seconds": "seconds of CPU time",
    },
    "vertical-partition": {"hot": "hot columns", "cold": "cold columns", "off": "rewrite off"},
    "wal": {"bytes": "device bytes per commit"},
}


def study(name: str, stem: str) -> str:
    """Return the title of a result file in words."""
    title = STUDIES.get(name, name)
    rest = stem.removeprefix(name).strip("-") if stem.startswith(name) else stem
    return f"{title}, {FILES.get(rest, rest)}" if rest else title


def stage(name: str) -> str:
    return STAGES.get(name, name)


def added(name: str) -> str:
    """Return a stage of the whole stack as an addition to the stage before."""
    return ADDED.get(name, f"+ {stage(name)}")


def variant(name: str) -> str:
    return VARIANTS.get(name, name)


def metric(result: dict[str, Any], name: str) -> str:
    """Return a metric in words: the claim of its promise, or the words of the parts of its name."""
    for bar in result["bars"]:
        if bar["metric"] == name and not bar["goal"]:
            return claim(result, bar)
    return _of_name(result, name)


def claim(result: dict[str, Any], bar: dict[str, Any]) -> str:
    """Return a promise in words."""
    said, name = str(bar["claim"]), str(bar["metric"])
    # The claim of a promise without a title is the name of the metric.
    if said.endswith(f", {name}"):
        said = said.removesuffix(name) + _of_name(result, name)
    return re.sub(r"\btps\b", "transactions a second", said)


def _of_name(result: dict[str, Any], name: str) -> str:
    kind = str(result["study"])
    words = {**PARTS, **OF_STUDY.get(kind, {})}
    if kind in ("tpcc", "tpcc-switched"):
        words |= STAGES
        first, _, rest = name.partition(".")
        if first in TPCC:
            if memory := re.fullmatch(r"memory(\d+)", rest):
                return f"{TPCC[first]}, {memory[1]} MB of memory"
            if first == "size":
                what, _, at = rest.partition(".")
                return f"{TPCC[first]} {what}" + (f", {stage(at)}" if at else "")
            return TPCC[first] + (f", {words.get(rest, rest)}" if rest else "")
    if name in words:
        return words[name]
    return ", ".join(words.get(part, part) for part in name.split("."))
