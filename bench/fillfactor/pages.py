"""What becomes of an update, from sizes alone: room on a page, and what pruning makes of it.

A page is pruned when a row on it is looked up, if it has a dead tuple that nobody
can see any more and either an update has found no room there or less than a tenth
of the page is free, or less than what its fillfactor keeps free.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.tpcc.sizes import PAGE

HEADER, POINTER = 24, 4


def kept_free(fillfactor: int) -> int:
    return PAGE * (100 - fillfactor) // 100


def rows_of_page(length: int, fillfactor: int) -> int:
    """Of tuples of an aligned length."""
    return (PAGE - HEADER - kept_free(fillfactor)) // (length + POINTER)


def left_over(length: int) -> int:
    """Bytes of a page that is as full as can be."""
    return PAGE - HEADER - rows_of_page(length, 100) * (length + POINTER)


def threshold(length: int) -> int:
    """The highest fillfactor that leaves room for one more version: it keeps more free than is left over anyway."""
    return next(
        fillfactor for fillfactor in range(99, 9, -1) if kept_free(fillfactor) > left_over(length)
    )


@dataclass
class Page:
    # Between line pointers and tuples.
    free: int = PAGE - HEADER
    dead: int = 0
    # Of the dead ones those that no index points to: their line pointers can be used again.
    dead_heap_only: int = 0
    unused_pointers: int = 0
    # An update has found no room.
    full: bool = False

    @property
    def room(self) -> int:
        """For a tuple, besides its line pointer."""
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
    """Rows that were loaded in the order of their numbers, from 1, and are updated one by one."""

    def __init__(self, rows: int, length: int, fillfactor: int, prunes: bool) -> None:
        self.length = length
        self.kept_free = kept_free(fillfactor)
        self.prunes = prunes
        self.pages: list[Page] = [Page()]
        self.page_of: dict[int, int] = {}
        # Rows whose last version was a HOT update's.
        self.heap_only: set[int] = set()
        for row in range(1, rows + 1):
            self._insert(row)

    def _insert(self, row: int) -> None:
        if self.pages[-1].room < self.length + self.kept_free:
            self.pages.append(Page())
        self.pages[-1].add(self.length)
        self.page_of[row] = len(self.pages) - 1

    def update(self, row: int) -> bool:
        """Whether it is HOT."""
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
    """Which of these updates are HOT."""
    table = Table(rows, length, fillfactor, prunes)
    return [table.update(row) for row in updated]
