"""Compute which updates are HOT, only from sizes: from the free space of pages, and from pruning.

The server may prune a page when it looks up a row on it.  The server prunes the page if the page
has a dead tuple that nobody can see any more, and if one of the following is true: An update has
found no room on the page.  Less than a tenth of the page is free.  Or the free space is less than
the space that the fillfactor keeps free.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.tpcc.sizes import PAGE

HEADER, POINTER = 24, 4


def kept_free(fillfactor: int) -> int:
    return PAGE * (100 - fillfactor) // 100


def rows_of_page(length: int, fillfactor: int) -> int:
    """Return the number of tuples of an aligned length on a page."""
    return (PAGE - HEADER - kept_free(fillfactor)) // (length + POINTER)


def left_over(length: int) -> int:
    """Return the free bytes of a page that is as full as possible."""
    return PAGE - HEADER - rows_of_page(length, 100) * (length + POINTER)


def threshold(length: int) -> int:
    """Return the highest fillfactor that leaves room for one more row version.

    At this fillfactor, loading keeps more bytes free than a full page has left over.
    """
    return next(
        fillfactor for fillfactor in range(99, 9, -1) if kept_free(fillfactor) > left_over(length)
    )


@dataclass
class Page:
    # Free bytes, between line pointers and tuples
    free: int = PAGE - HEADER
    dead: int = 0
    # Dead tuples to which no index points.  After pruning, their line pointers can be used again.
    dead_heap_only: int = 0
    unused_pointers: int = 0
    # True if an update has found no room on the page
    full: bool = False

    @property
    def room(self) -> int:
        """Return the free bytes for a new tuple, without its line pointer."""
        return self.free - POINTER

    def add(self, length: int) -> None:
        self.free -= length
        if self.unused_pointers:
            self.unused_pointers -= 1
        else:
            self.free -= POINTER

    def prune(self, length: int) -> None:
        self.free += self.dead * length
        self.unused_pointers += self.dead_heap_only
        self.dead = self.dead_heap_only = 0
        self.full = False


class Table:
    """A table whose rows were loaded in the order of their numbers, and are updated one by one.

    The numbers begin at 1.
    """

    def __init__(self, rows: int, length: int, fillfactor: int, prunes: bool) -> None:
        self.length = length
        self.kept_free = kept_free(fillfactor)
        self.prunes = prunes
        self.pages: list[Page] = [Page()]
        self.page_of: dict[int, int] = {}
        # Rows whose last version was made by a HOT update
        self.heap_only: set[int] = set()
        for row in range(1, rows + 1):
            self._insert(row)

    def _insert(self, row: int) -> None:
        if self.pages[-1].room < self.length + self.kept_free:
            self.pages.append(Page())
        self.pages[-1].add(self.length)
        self.page_of[row] = len(self.pages) - 1

    def update(self, row: int) -> bool:
        """Update a row.  Return true if the update is HOT."""
        page = self.pages[self.page_of[row]]
        if self.prunes and page.dead and (page.full or page.room < max(self.kept_free, PAGE // 10)):
            page.prune(self.length)
        page.dead += 1
        page.dead_heap_only += row in self.heap_only
        if page.room >= self.length:
            page.add(self.length)
            self.heap_only.add(row)
            return True
        page.full = True
        self.heap_only.discard(row)
        self._insert(row)
        return False


def computed(
    rows: int, length: int, fillfactor: int, prunes: bool, updated: Sequence[int]
) -> list[bool]:
    """Return, for each of the updates, whether it is HOT."""
    table = Table(rows, length, fillfactor, prunes)
    return [table.update(row) for row in updated]
