"""The block device below a directory: its description and its read-ahead.

The further the kernel reads ahead, the more blocks a server with throttled reads gets from each
read.  So read-ahead decides what a study under a memory limit measures.
"""

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from bench.lib.paths import TOP, write_file

# Linux's default
READ_AHEAD_KB = 128
# The read-ahead of devices before the change; after a killed run, the next run restores it
SAVED = TOP / "build" / "read-ahead.json"

DESCRIBED = (
    ("scheduler", "scheduler {}"),
    ("rotational", "rotational {}"),
    ("logical_block_size", "logical blocks of {} bytes"),
    ("physical_block_size", "physical blocks of {} bytes"),
    ("read_ahead_kb", "read-ahead {} kB"),
)


def block_device(path: Path) -> str | None:
    """Return MAJOR:MINOR of the disk that holds a path, or None.

    Throttles and queues belong to disks, not to partitions.
    """
    number = os.stat(path).st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    try:
        if (device / "partition").exists():
            device = device.resolve().parent
        return (device / "dev").read_text().strip()
    except OSError:
        return None


def _queue(device: str) -> Path:
    return Path(f"/sys/dev/block/{device}/queue")


def _there(path: Path) -> Path:
    """Return the path, or its nearest parent that exists."""
    return next(parent for parent in (path, *path.parents) if parent.exists())


def file_system(path: Path) -> str:
    """Return the type of the file system that holds a path."""
    place = _there(path).resolve()
    found = "unknown", Path("/")
    with suppress(OSError), open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, where, kind, *_ = line.split()
            # The file has octal numbers for blanks and similar characters.
            mount = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), where))
            # A later mount covers the earlier ones at the same place.
            if place.is_relative_to(mount) and len(mount.parts) >= len(found[1].parts):
                found = kind, mount
    return found[0]


def describe(path: Path) -> str:
    """Return name, queue and file system of the device below a path, as far as the kernel tells."""
    system = file_system(path)
    device = block_device(_there(path))
    if device is None:
        return f"unknown, file system {system}"
    words = [Path(f"/sys/dev/block/{device}").resolve().name]
    for name, text in DESCRIBED:
        with suppress(OSError):
            value = (_queue(device) / name).read_text().strip()
            # "none [mq-deadline] kyber"
            chosen = re.search(r"\[(.*?)\]", value)
            words.append(text.format(chosen[1] if chosen else value))
    return ", ".join([*words, f"file system {system}"])


def read_ahead(device: str | None) -> int | None:
    """Return the read-ahead in kB; None if it is not known."""
    try:
        return int((_queue(device) / "read_ahead_kb").read_text()) if device else None
    except (OSError, ValueError):
        return None


def _set_read_ahead(device: str, kilobytes: int) -> None:
    (_queue(device) / "read_ahead_kb").write_text(str(kilobytes))


def _saved() -> dict[str, int]:
    try:
        saved = json.loads(SAVED.read_text(encoding="utf-8"))
        return {
            name: int(kilobytes)
            for name, kilobytes in saved.items()
            if re.fullmatch(r"\d+:\d+", name)
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def reduce_read_ahead(device: str | None) -> bool:
    """Set the read-ahead to Linux's default until restore_read_ahead() is called.

    Return true if it is the default now.
    """
    now = read_ahead(device)
    if device is None or now is None:
        return False
    if now == READ_AHEAD_KB:
        return True
    try:
        # Save it before the change: if something ends this run, the next one restores it.
        write_file(SAVED, json.dumps({device: now} | _saved()))
        _set_read_ahead(device, READ_AHEAD_KB)
    except OSError:
        return False
    return True


def restore_read_ahead() -> None:
    """Restore the read-ahead that the devices had before this run, or before a killed one."""
    for device, kilobytes in _saved().items():
        with suppress(OSError):
            _set_read_ahead(device, kilobytes)
    SAVED.unlink(missing_ok=True)
