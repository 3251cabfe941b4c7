"""All indexes of TPC-C, with stock types and with compact types, at both alignments."""

from dataclasses import dataclass, field

import psycopg
from psycopg import sql

from bench.indexes.alignment import AUTO, MAX, choose, index_size, verify
from bench.lib.console import progress
from bench.lib.result import Result
from bench.lib.server import Server
from bench.lib.session import quietly
from bench.tpcc.load import TABLES, Scale, create_extensions, load
from bench.tpcc.sizes import INDEXES
from bench.tpcc.stages import Stage, stages

DATABASE = "bench_index_tpcc"
STAGES = ("stock", "compact-types")
KEY = "pk_stock"
# The key of DBT-2, which replaces the other key in the total of DBT-2's schema
DBT2_KEY = "pk_stock_dbt2"
CREATE_DBT2_KEY = f"CREATE UNIQUE INDEX {DBT2_KEY} ON stock (s_w_id, s_i_id, s_quantity)"
ENTRIES = "SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass"


@dataclass
class Index:
    name: str
    columns: str
    entries: int = 0
    align: int = 0
    bytes: dict[str, int] = field(default_factory=dict)


def measure_stage(
    server: Server, stage: Stage, warehouses: int, scale: Scale, seed: int
) -> list[Index]:
    try:
        with progress() as bars:
            load(server, DATABASE, stage, warehouses, scale, seed, bars)
            with server.connect(DATABASE) as connection:
                create_extensions(connection, ("pageinspect",))
                connection.execute(CREATE_DBT2_KEY)
                return rebuild(connection, bars.track, stage)
    finally:
        quietly(server.drop_database, DATABASE)


def rebuild(connection: psycopg.Connection, track, stage: Stage) -> list[Index]:
    found = [
        Index(name, definition.partition(" btree ")[2].strip("()"))
        for name, _, definition in connection.execute(INDEXES, [list(TABLES)]).fetchall()
    ]
    for index in track(found, description=f"indexes, {stage.title}"):
        for kind in (MAX, AUTO):
            choose(connection, kind)
            connection.execute(sql.SQL("REINDEX INDEX {}").format(sql.Identifier(index.name)))
            # Keep the alignment of the last kind.
            index.align = verify(connection, index.name, kind)
            index.bytes[kind] = index_size(connection, index.name)
        # The build counts the entries.  Before it, reltuples may be an estimate of VACUUM.
        index.entries = connection.execute(ENTRIES, [index.name]).fetchone()[0]
    return found


def total(indexes: list[Index], kind: str, without: str) -> int:
    return sum(index.bytes[kind] for index in indexes if index.name != without)


def measure(result: Result, server: Server, warehouses: int, scale: Scale) -> None:
    measured = {
        stage.name: measure_stage(server, stage, warehouses, scale, result.seed)
        for stage in stages(STAGES)
    }
    plain, compact = (measured[name] for name in STAGES)
    result.samples += [
        {
            "test": "tpcc",
            "stage": stage,
            "index": index.name,
            "columns": index.columns,
            "rows": index.entries,
            "align": index.align,
            "kind": kind,
            "bytes": size,
        }
        for stage, indexes in measured.items()
        for index in indexes
        for kind, size in index.bytes.items()
    ]
    rows: list[list[object]] = []
    for before, after in zip(plain, compact):
        rows.append(
            [
                f"{before.name} ({before.columns})",
                f"{before.entries:,}",
                *cells(before.bytes[MAX], before.bytes[AUTO], after.bytes[MAX], after.bytes[AUTO]),
            ]
        )
    for title, suffix, without in (
        ("all", "", DBT2_KEY),
        ("all, DBT-2's key of stock", ".dbt2", KEY),
    ):
        sums = [
            total(indexes, kind, without) for indexes in (plain, compact) for kind in (MAX, AUTO)
        ]
        plain_max, plain_auto, compact_max, compact_auto = sums
        result.metrics[f"tpcc.plain{suffix}"] = plain_auto / plain_max
        result.metrics[f"tpcc.compact{suffix}"] = compact_auto / compact_max
        result.metrics[f"tpcc.all{suffix}"] = compact_auto / plain_max
        rows.append([title, "", *cells(*sums)])
    result.metrics["tpcc.total"] = result.metrics["tpcc.plain.dbt2"]
    result.table(
        f"All indexes of TPC-C, {warehouses} warehouses, bytes: stock types and compact types at alignment max and"
        " auto; both: compact types at auto to stock types at max",
        [
            "index",
            "entries",
            "stock types: max",
            "auto",
            "ratio",
            "compact types: max",
            "auto",
            "ratio",
            "both",
        ],
        rows,
        "tpcc",
    )


def cells(plain_max: int, plain_auto: int, compact_max: int, compact_auto: int) -> list[str]:
    return [
        f"{plain_max:,}",
        f"{plain_auto:,}",
        f"{plain_auto / plain_max:.3f}",
        f"{compact_max:,}",
        f"{compact_auto:,}",
        f"{compact_auto / compact_max:.3f}",
        f"{compact_auto / plain_max:.3f}",
    ]
