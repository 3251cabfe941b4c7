"""A memory limit and a read throttle for a server, by a control group of its own.

The kernel charges page cache and shared buffers to the group whose process touched them first.  So
the files have to be evicted before the server starts in the group.  This module changes and
removes only groups that it made.  While a group exists, the read-ahead of its device is the
kernel's default.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.lib import device as devices, foreign, pagecache
from bench.lib.console import BenchError
from bench.lib.console import note as print_note

PREFIX = "pg_dense-bench-"
UNLIMITED = "running without memory and I/O limits"
# Bytes of the server's files that other processes may have read into the page cache
FOREIGN_CACHE = 32 * 2**20


_said: set[str] = set()


def note(message: str) -> None:
    """Print a message once, not for every run."""
    if message not in _said:
        _said.add(message)
        print_note(message)


def evict(directory: Path) -> None:
    """Write back and drop the cached pages of every file below a directory."""
    for handle in foreign.walk(directory):
        with suppress(OSError):
            os.fdatasync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def _mounts() -> list[tuple[str, Path, set[str]]]:
    found = []
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, where, kind, options, *_ = line.split()
            if kind in ("cgroup", "cgroup2"):
                found.append((kind, Path(where), set(options.split(","))))
    return found


def _own_groups() -> dict[str, str]:
    """Return the paths of our groups by controller name.  The v2 hierarchy has the empty name."""
    groups = {}
    with open("/proc/self/cgroup", encoding="utf-8") as lines:
        for line in lines:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            for controller in controllers.split(","):
                groups[controller] = path
    return groups


def _reachable(mount: Path, path: str) -> Path:
    """Return our group's directory, or the mount point if the mount does not have it."""
    own = mount / path.lstrip("/")
    return own if own.is_dir() and ".." not in own.parts else mount


@dataclass
class ControlGroup:
    version: int
    memory: Path
    io: Path
    device: str | None
    memory_mb: int
    # 0 means no limit.
    read_iops: int

    def join_prefix(self) -> tuple[str, ...]:
        """Return words to put before a command, so that it and its children run in the group."""
        directories = dict.fromkeys((self.memory, self.io))
        script = "".join(f"echo $$ > '{directory}/cgroup.procs' && " for directory in directories)
        return ("bash", "-c", script + 'exec "$@"', "bash")

    def limit(self) -> None:
        memory = str(self.memory_mb * 1024 * 1024)
        if self.version == 1:
            (self.memory / "memory.limit_in_bytes").write_text(memory)
            if self.device:
                (self.io / "blkio.throttle.read_iops_device").write_text(
                    f"{self.device} {self.read_iops}"
                )
        else:
            (self.memory / "memory.max").write_text(memory)
            if self.device:
                (self.io / "io.max").write_text(f"{self.device} riops={self.read_iops or 'max'}")

    def lift(self) -> None:
        """Remove the limits, for the checks after a run."""
        if self.version == 1:
            (self.memory / "memory.limit_in_bytes").write_text("-1")
            if self.device:
                (self.io / "blkio.throttle.read_iops_device").write_text(f"{self.device} 0")
        else:
            (self.memory / "memory.max").write_text("max")
            if self.device:
                (self.io / "io.max").write_text(f"{self.device} riops=max")

    def counters(self) -> dict[str, int]:
        """Return the number and the bytes of the group's reads from the device."""
        if not self.device:
            return {}
        if self.version == 1:
            pattern = rf"^{self.device} Read (\d+)"
            reads = re.search(pattern, (self.io / "blkio.throttle.io_serviced").read_text(), re.M)
            volume = re.search(
                pattern, (self.io / "blkio.throttle.io_service_bytes").read_text(), re.M
            )
        else:
            text = (self.io / "io.stat").read_text()
            reads = re.search(rf"^{self.device} .*\brios=(\d+)", text, re.M)
            volume = re.search(rf"^{self.device} .*\brbytes=(\d+)", text, re.M)
        return {
            "reads": int(reads.group(1)) if reads else 0,
            "read_bytes": int(volume.group(1)) if volume else 0,
        }

    def memory_peak(self) -> int:
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        try:
            return int((self.memory / name).read_text())
        except OSError:
            return 0

    def _statistics(self, **names: tuple[str, str]) -> dict[str, int]:
        """Return numbers of memory.stat; each has a name in version 1 and one in version 2.

        A number that the kernel does not have is missing.
        """
        text = (self.memory / "memory.stat").read_text()
        found = {
            key: re.search(rf"^{name[self.version - 1]} (\d+)", text, re.M)
            for key, name in names.items()
        }
        return {key: int(match.group(1)) for key, match in found.items() if match}

    def file_cache(self) -> int:
        """Return the bytes of page cache charged to the group, without shared memory."""
        return self.memory_use()["page_cache"]

    def memory_use(self) -> dict[str, int]:
        """Return the bytes of the group's page cache, of its part that is dirty, and of private memory."""
        found = self._statistics(
            cache=("total_cache", "file"),
            shared=("total_shmem", "shmem"),
            dirty_cache=("total_dirty", "file_dirty"),
            private=("total_rss", "anon"),
        )
        return {"page_cache": found.pop("cache") - found.pop("shared"), **found}

    def refaults(self) -> dict[str, int]:
        """Return how many pages were read again soon after they had left the page cache."""
        return self._statistics(
            refaults=("total_workingset_refault_file", "workingset_refault_file")
        )

    def kills(self) -> int:
        """Return the number of the group's processes that were killed for want of memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        try:
            found = re.search(r"^oom_kill (\d+)", (self.memory / name).read_text(), re.M)
        except OSError:
            return 0
        return int(found.group(1)) if found else 0

    def remove(self) -> None:
        devices.restore_read_ahead()
        for directory in dict.fromkeys((self.memory, self.io)):
            _remove(directory)

    def describe(self) -> str:
        throttled = self.device and self.read_iops
        throttle = (
            f"{self.read_iops} reads a second from device {self.device}"
            if throttled
            else "no read throttle"
        )
        ahead = devices.read_ahead(self.device)
        return f"cgroup v{self.version}: {self.memory_mb} MB of memory, {throttle}, read-ahead {ahead or 'unknown'} kB"


def require_own_cache(data: Path, group: ControlGroup) -> None:
    """Raise an error if the page cache holds more of the server's files than its group counts.

    If another process reads them, such as a search through the whole checkout, the memory limit
    does not apply to that part.  An excess of FOREIGN_CACHE bytes is allowed.
    """
    excess = pagecache.resident_below(data) - group.file_cache()
    if excess > FOREIGN_CACHE:
        raise BenchError(
            f"another process has read files of the server: the page cache holds {excess // 2**20} MB of them beyond the"
            " memory limit; leave build/cluster alone, and run the same command again"
        )


def _remove(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()


def _sweep(parent: Path) -> None:
    """Remove groups that a killed run left behind.  The kernel keeps a group with processes."""
    for directory in parent.glob(PREFIX + "*"):
        if not Path(f"/proc/{directory.name.removeprefix(PREFIX)}").exists():
            _remove(directory)


def _candidates() -> list[tuple[int, Path, Path]]:
    """Return version and parent directories for memory and I/O, the preferred ones first."""
    mounts, own = _mounts(), _own_groups()
    found = []
    memory = next(
        (where for kind, where, options in mounts if kind == "cgroup" and "memory" in options), None
    )
    blkio = next(
        (where for kind, where, options in mounts if kind == "cgroup" and "blkio" in options), None
    )
    if memory and blkio:
        found.append(
            (
                1,
                _reachable(memory, own.get("memory", "/")),
                _reachable(blkio, own.get("blkio", "/")),
            )
        )
    for kind, where, _ in mounts:
        if kind != "cgroup2":
            continue
        # A group with processes cannot pass controllers down.  Look upwards for one that does.
        directory = _reachable(where, own.get("", "/"))
        while True:
            try:
                handed_down = (directory / "cgroup.subtree_control").read_text().split()
            except OSError:
                handed_down = []
            if {"memory", "io"} <= set(handed_down):
                found.append((2, directory, directory))
            if directory == where:
                break
            directory = directory.parent
    return found


def create(
    memory_mb: int, read_iops: int, data: Path, otherwise: str = UNLIMITED
) -> ControlGroup | None:
    """Return a new group with both limits set, or None.

    If it is None, print the reason, and `otherwise`: what the caller does then.
    """
    if os.geteuid() != 0:
        note(f"no writable cgroup, as not started by root: {otherwise}")
        return None
    device = devices.block_device(data)
    for version, memory_parent, io_parent in _candidates():
        _sweep(memory_parent)
        _sweep(io_parent)
        name = PREFIX + str(os.getpid())
        group = ControlGroup(
            version, memory_parent / name, io_parent / name, device, memory_mb, read_iops
        )
        try:
            group.memory.mkdir(exist_ok=True)
            group.io.mkdir(exist_ok=True)
            group.limit()
        except OSError:
            group.remove()
            continue
        if not device:
            note(f'"{data}" is not on a block device: running without an I/O limit')
        elif not devices.reduce_read_ahead(device):
            ahead = devices.read_ahead(device) or "unknown"
            note(
                f"read-ahead of device {device} cannot be set to {devices.READ_AHEAD_KB} kB, and stays as it is ({ahead} kB)"
            )
        return group
    note(f"no writable cgroup: {otherwise}")
    return None
