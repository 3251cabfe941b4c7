"""Open files below directories of the account that the servers run as, for a bench/run of root.

The owner of a directory may have put a link, a pipe or a device in the place of a file.  These
functions open a regular file of exactly that name, or nothing.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def open_regular(path: str | Path, directory: int | None = None) -> int:
    """Return a descriptor for reading.  Raise OSError if there is no such regular file.

    A relative path starts at the open directory.
    """
    handle = os.open(
        path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=directory
    )
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(0, "not a regular file", str(path))
    return handle


def read_text(path: Path) -> str:
    with open(open_regular(path), encoding="utf-8", errors="replace") as file:
        return file.read()


def walk(directory: Path) -> Iterator[int]:
    """Yield a descriptor of each regular file below a directory.

    The directory itself may be a symbolic link.  The next step closes the descriptor.
    """
    top = os.path.realpath(directory)
    if not os.path.isdir(top):
        return
    for _, _, names, parent in os.fwalk(top):
        for name in names:
            try:
                handle = open_regular(name, parent)
            except OSError:
                # It is no regular file, or it has been removed meanwhile.
                continue
            try:
                yield handle
            finally:
                os.close(handle)
