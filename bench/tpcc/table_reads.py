"""The blocks read, by table.  Blocks that the page cache holds count, too."""

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
    """Return the blocks read since the statistics began, by table.

    The two parts of a split table count as two tables.
    """
    return {
        table: dict(zip(KINDS, counts)) for table, *counts in connection.execute(COUNTED).fetchall()
    }


def difference(begin: Reads, end: Reads) -> Reads:
    return {
        table: {kind: end[table][kind] - begin[table][kind] for kind in KINDS} for table in begin
    }


def rows(samples: Sequence[Sequence[Mapping]]) -> list[list[object]]:
    """Return a row for each table, the one that is read most first.

    A cell has the blocks read per New-Order: the medians of the samples of a stage.
    """
    medians: list[dict[str, dict[str, float]]] = []
    for taken in samples:
        # Samples from before the blocks were counted by table have no such counts.
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
