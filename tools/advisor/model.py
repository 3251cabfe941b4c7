"""The model of sizes: rows, pages of a table, and B-tree indexes that are built anew.

The rules are those of the extensions: compact_types/compact_advise_order.c and
compact_advise_simulate.c for rows and pages, pg_dense/pg_dense_index.c and
dense_internal.index_model() for indexes.  Rows are made up from the statistics of the columns: as
many nulls and strings as long as the statistics have.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# Rows that are made up for a table whose rows differ in size
ROWS = 100
PAGE_HEADER = 24
LINE_POINTER = 4
# More columns are not searched for a better order, as in compact_types
MAX_STEP_COLUMNS = 200
# a size and an alignment; 0 and 1 for NULL
Item = tuple[int, int]


def align(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


@dataclass(frozen=True)
class Shape:
    """How the values of a column are stored: the length of the type, or -1 and the bytes of
    values, a share of nulls, and whether a value may have a header of one byte."""

    length: int
    alignment: int
    nulls: float = 0
    # bytes of values without a header, if the length varies
    contents: tuple[int, ...] = ()
    short: bool = True

    def values(self, count: int, seed: int) -> list[Item | None]:
        """Return the items of so many made-up rows, None for a null."""
        chosen = random.Random(seed)
        nulls = min(count, round(self.nulls * count)) if count > 1 else int(self.nulls >= 0.5)
        present = count - nulls
        if self.length > 0:
            items: list[Item | None] = [(self.length, self.alignment)] * present
        else:
            # even steps through the contents, which are a sample
            ordered = sorted(self.contents) or [0]
            items = [
                self.item(ordered[(2 * i + 1) * len(ordered) // (2 * present)])
                for i in range(present)
            ]
        items += [None] * nulls
        chosen.shuffle(items)
        return items

    def item(self, content: int) -> Item:
        if self.short and content + 1 <= 127:
            return (content + 1, 1)
        return (content + 4, self.alignment)

    @property
    def varies(self) -> bool:
        return 0 < self.nulls < 1 or (self.length < 0 and len(set(self.contents)) > 1)


class Rows:
    """Made-up rows, equal ones counted once.

    A column has a list of items for each of its shapes: 0 is the one of today.
    """

    def __init__(self, columns: Sequence[Sequence[Shape]]) -> None:
        self.n = len(columns)
        count = ROWS if any(shape.varies for shapes in columns for shape in shapes) else 1
        # The same seed gives all shapes of a column their nulls in the same rows.
        lists = [
            [shape.values(count, seed) for shape in shapes] for seed, shapes in enumerate(columns)
        ]
        rows = Counter(
            tuple(tuple(items[row] for items in shapes) for shapes in lists) for row in range(count)
        )
        self.rows = list(rows.items())
        self.count = count

    def sizes(self, version: Sequence[int], order: Sequence[int] | None = None) -> Counter[int]:
        """Return how many rows have which size on a page.

        version says which shape of each column is used.
        """
        columns = range(self.n) if order is None else order
        result: Counter[int] = Counter()
        for row, weight in self.rows:
            size, nulls = 0, False
            for column in columns:
                item = row[column][version[column]]
                if item is None:
                    nulls = True
                else:
                    size = -(-size // item[1]) * item[1] + item[0]
            header = align(23 + ((self.n + 7) // 8 if nulls else 0), 8)
            result[header + size] += weight
        return result

    def cost(self, version: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, int]:
        """Return the sum of the sizes, aligned and not, by which orders are compared."""
        sizes = self.sizes(version, order)
        return (
            sum(align(size, 8) * weight for size, weight in sizes.items()),
            sum(size * weight for size, weight in sizes.items()),
        )

    def best_order(self, version: Sequence[int], shapes: Sequence[Shape]) -> list[int]:
        """Return the best of several sorted orders of the columns, or today's."""
        best = list(range(self.n))
        cost = today = self.cost(version, best)
        if self.n > MAX_STEP_COLUMNS:
            return best
        for method in range(3):

            def key(column: int) -> int:
                shape = shapes[column]
                fixed = shape.length > 0
                if method == 2 and fixed and shape.alignment == 1:
                    return 33
                behind = 16 if method == 0 and fixed and shape.nulls > 0 else 0
                return (16 - shape.alignment if fixed else 32) + behind

            order = sorted(range(self.n), key=key)
            new = self.cost(version, order)
            if new < cost:
                best, cost = order, new
        return best if cost[0] < today[0] else list(range(self.n))


def rows_of_page(sizes: Counter[int], block: int, fillfactor: int) -> float:
    """Return how many rows fit on a page of a table."""
    total = sum(sizes.values())
    average = (
        sum((align(size, 8) + LINE_POINTER) * weight for size, weight in sizes.items()) / total
    )
    room = block - PAGE_HEADER - block * (100 - fillfactor) // 100
    # a page cannot have more line pointers than this
    most = (block - PAGE_HEADER) // (24 + LINE_POINTER)
    if len({align(size, 8) for size in sizes}) == 1:
        return min(max(math.floor(room / average), 1), most)
    return min(max(room / average - 0.5, 1), most)


def heap_file_bytes(pages: float, block: int, version: int) -> int:
    """Return the bytes of the file that ALTER TABLE fills with so many pages.

    Since 16, it extends the file by 1, 1, 2, 4 and so on, at most by 64 pages.
    """
    count = math.ceil(pages)
    if pages > 1 and version >= 160000:
        count = 2 ** math.ceil(math.log2(pages)) if pages <= 64 else math.ceil(pages / 64) * 64
    return count * block


@dataclass(frozen=True)
class KeyColumn:
    """A column of an index: length -1 if it varies, and then its average width and spread."""

    length: int
    alignment: int
    width: float
    spread: float
    nulls: float


SPREAD_ROWS = 50
SIZE_STEPS = 16
INDEX_HEADER = 8


def tuple_bytes(
    key: Sequence[KeyColumn], alignment: int, with_nulls: bool, complete: float
) -> float:
    """Return the average size of an index tuple; with_nulls, of one that has a null."""
    size = 16.0 if with_nulls else float(INDEX_HEADER)
    variance, varies, some = 0.0, False, False
    for column in key:
        present = 1 - min(column.nulls / (1 - complete), 1) if with_nulls else 1.0
        if present < 0.001:
            continue
        some = True
        if column.length > 0 and present > 0.999 and not varies:
            size = round_up(size, column.alignment)
        elif column.length > 0 and column.alignment > 1:
            size += present * (column.alignment - 1) / 2
        if column.length < 0 or present <= 0.999:
            varies = True
        size += present * column.width
        variance += present * column.spread**2 + present * (1 - present) * column.width**2
    if not some or not varies:
        return round_up(size, alignment)
    half = max(math.sqrt(3 * variance), 0.5)
    steps = range(-SIZE_STEPS, SIZE_STEPS + 1)
    return sum(round_up(round(size + half * step / SIZE_STEPS), alignment) for step in steps) / len(
        steps
    )


def round_up(size: float, alignment: int) -> float:
    return math.ceil(size / alignment) * alignment


def key_bytes(rows: float, size: float, alignment: int, posting: int) -> tuple[float, float]:
    """Return bytes and number of the tuples of a key with so many rows."""
    if rows <= 1:
        return size + LINE_POINTER, 1
    base = round_up(size, alignment)
    fits = max(int((posting - base) / 6), 1)
    full = math.floor(rows / fits)
    rest = rows - full * fits
    result, tuples = full * (round_up(base + fits * 6, alignment) + LINE_POINTER), float(full)
    if rest > 0:
        last = size if rest <= 1 else round_up(base + math.ceil(rest) * 6, alignment)
        result += last + LINE_POINTER
        tuples += 1
    return result, tuples


def average_key_bytes(
    rows: float, size: float, alignment: int, posting: int
) -> tuple[float, float]:
    """Return the averages for a key with so many rows on average."""
    mean = rows - 1
    if rows > SPREAD_ROWS or mean <= 0:
        return key_bytes(rows, size, alignment, posting)
    share, result, tuples = math.exp(-mean), 0.0, 0.0
    for extra in range(4 * SPREAD_ROWS):
        if extra > 0:
            share *= mean / extra
        if share < 1e-9 and extra > mean:
            break
        part, number = key_bytes(1 + extra, size, alignment, posting)
        result += share * part
        tuples += share * number
    return result, tuples


def btree_bytes(
    key: Sequence[KeyColumn],
    alignment: int,
    fillfactor: int,
    rows: float,
    groups: Sequence[tuple[float, float]],
    block: int,
) -> int:
    """Return the bytes of a B-tree index that is built on so many rows.

    Each group is the rows of a key, and the number of such keys.  Without groups, each row has a
    tuple of its own.
    """
    if rows < 1:
        return block
    page = block - PAGE_HEADER - 16 - 2 * LINE_POINTER
    posting = block * 10 // 100 // 8 * 8 - LINE_POINTER
    complete = math.prod(1 - min(column.nulls, 1) for column in key)
    size = tuple_bytes(key, alignment, False, complete)
    if complete < 1:
        size = complete * size + (1 - complete) * tuple_bytes(key, alignment, True, complete)
    if not groups:
        tuples, total = rows, rows * (size + LINE_POINTER)
    else:
        tuples = total = 0.0
        for key_rows, keys in groups:
            part, number = average_key_bytes(key_rows, size, alignment, posting)
            total += keys * part
            tuples += keys * number
    leaf = page - block * (100 - fillfactor) // 100
    per_page = total / tuples
    if per_page > block / 20:
        pages = tuples / max(page // (posting + LINE_POINTER), 1)
    elif not groups and size % alignment == 0:
        pages = tuples / max(math.floor(leaf / per_page), 1)
    else:
        pages = tuples / max(leaf / per_page - 0.5, 1)
    level = float(max(math.ceil(pages), 1))
    total_pages = level
    upper = page - block * 30 // 100
    entry = max(round_up(size, alignment), 8) + LINE_POINTER
    while level > 1:
        level = math.ceil(level / max(math.floor(upper / entry), 2))
        total_pages += level
    return int(total_pages + 1) * block
