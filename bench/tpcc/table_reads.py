"""Which tables the blocks that are read belong to.  Those that the page cache holds count as well."""

from collections.abc import Mapping, Sequence

import numpy
import psycopg

KINDS = ("heap", "indexes")
COUNTED = """
SELECT relid::regclass::text,
       coalesce(heap_blks_read, 0) + coalesce(toast_blks_read, 0),
       coalesce(idx_blks_read, 0) + coalesce(tidx_blks_read, 0)
FROM pg_statio_user_tables
"""

Reads = dict[str, dict[str, int]]


def snapshot(connection: psycopg.Connection) -> Reads:
    """Since the statistics began, by table; the parts of one that is split are two."""
    return {
        table: dict(zip(KINDS, counts)) for table, *counts in connection.execute(COUNTED).fetchall()
    }


def difference(begin: Reads, end: Reads) -> Reads:
    return {
        table: {kind: end[table][kind] - begin[table][kind] for kind in KINDS} for table in begin
    }


def rows(samples: Sequence[Sequence[Mapping]]) -> list[list[object]]:
    """A line for each table, the one that is read most first: per New-Order, the medians of each stage's samples."""
    medians: list[dict[str, dict[str, float]]] = []
    for taken in samples:
        # Those of before they were counted have none.
        stage = [sample for sample in taken if "table_reads" in sample]
        tables = sorted({table for sample in stage for table in sample["table_reads"]})
        medians.append(
            {
                table: {
                    kind: float(
                        numpy.median(
                            [
                                sample["table_reads"][table][kind] / sample["new_orders"]
                                for sample in stage
                            ]
                        )
                    )
                    for kind in KINDS
                }
                for table in tables
            }
        )
    most = {
        table: max(sum(stage.get(table, {}).values()) for stage in medians)
        for table in {table for stage in medians for table in stage}
    }
    return [
        [
            table,
            *(
                f"{stage[table]['heap']:.2f} + {stage[table]['indexes']:.2f}"
                if table in stage
                else ""
                for stage in medians
            ),
        ]
        for table in sorted(most, key=lambda table: (-most[table], table))
    ]
