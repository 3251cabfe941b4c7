"""How much of files is in the page cache."""

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_int64]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_ubyte)]
_MAP_FAILED = ctypes.c_void_p(-1).value


def files(directory: Path) -> Iterator[Path]:
    """All regular files below a directory, which may be a symbolic link itself."""
    for parent, _, names in os.walk(os.path.realpath(directory)):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _fail(what: str, path: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}", str(path))


def resident(path: Path) -> int:
    """Bytes of a file that the page cache holds; looking does not bring any in.

    The kernel answers only the owner of a file, root, and those who may write to
    it; anybody else is told that all of it is there.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(handle).st_size
        if size == 0:
            return 0
        address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
        if address == _MAP_FAILED:
            raise _fail("could not map", path)
        try:
            pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
            found = (ctypes.c_ubyte * pages)()
            if _libc.mincore(address, size, found) != 0:
                raise _fail("could not ask for cached pages", path)
        finally:
            _libc.munmap(address, size)
    finally:
        os.close(handle)
    return sum(page & 1 for page in bytes(found)) * mmap.PAGESIZE


def resident_below(directory: Path) -> int:
    """Of all files below a directory; those that go away meanwhile hold nothing."""
    total = 0
    for path in files(directory):
        try:
            total += resident(path)
        except FileNotFoundError:
            continue
    return total
