"""Bytes of files in the page cache."""

import ctypes
import mmap
import os
from pathlib import Path

from bench.lib import foreign

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_int64]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_ubyte)]
_MAP_FAILED = ctypes.c_void_p(-1).value


def _fail(what: str, handle: int) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}", os.readlink(f"/proc/self/fd/{handle}"))


def _resident(handle: int) -> int:
    """Return the bytes of a file that the page cache holds, without reading any of it.

    The kernel answers only root, the owner of the file, and accounts that may write to it.  To all
    others, it reports the whole file as cached.
    """
    size = os.fstat(handle).st_size
    if size == 0:
        return 0
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
    if address == _MAP_FAILED:
        raise _fail("could not map", handle)
    try:
        pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        found = (ctypes.c_ubyte * pages)()
        if _libc.mincore(address, size, found) != 0:
            raise _fail("could not read which pages are cached", handle)
    finally:
        _libc.munmap(address, size)
    return sum(page & 1 for page in bytes(found)) * mmap.PAGESIZE


def resident_below(directory: Path) -> int:
    """Return the cached bytes of all files below a directory; a file removed meanwhile has none."""
    return sum(map(_resident, foreign.walk(directory)))


def size_below(directory: Path) -> int:
    """Return the bytes of all files below a directory."""
    return sum(os.fstat(handle).st_size for handle in foreign.walk(directory))
