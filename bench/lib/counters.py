"""Counters of a server's work: CPU time, blocks, WAL, and the device below it."""

import os
import time
from pathlib import Path

import psycopg

from bench.lib.cgroup import ControlGroup

TICK = os.sysconf("SC_CLK_TCK")
BLOCK = 8192
SECTOR = 512


def _stat(process: int) -> list[str]:
    try:
        # The command's name is in parentheses and may hold blanks.
        return (
            Path(f"/proc/{process}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return []


def cpu_seconds(postmaster: int) -> float:
    """Return the CPU seconds of the postmaster, of its children, and of those already reaped."""
    fields = _stat(postmaster)
    if not fields:
        return 0.0
    ticks = sum(int(value) for value in fields[11:15])
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            child = _stat(int(entry))
            if child and int(child[1]) == postmaster:
                ticks += int(child[11]) + int(child[12])
    return ticks / TICK


def backend_cpu(process: int) -> float | None:
    """Return the CPU seconds of a process, to the nanosecond; None if the kernel does not tell."""
    try:
        nanoseconds = int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return nanoseconds / 1e9 if nanoseconds else None


def wait_for_sleep(process: int) -> None:
    """Wait until a process sleeps, for a second at most.

    The kernel has not yet counted the last milliseconds of a process that runs.
    """
    until = time.monotonic() + 1
    while _stat(process)[:1] == ["R"] and time.monotonic() < until:
        time.sleep(0.0001)


def written_by_processes(postmaster: int) -> dict[int, int] | None:
    """Return the bytes that each child of the postmaster has written, by process id.

    Return None if the kernel does not tell.  The kernel counts a page when it becomes dirty in the
    page cache, or when it is written with direct I/O.
    """
    written = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        fields = _stat(int(entry))
        if not fields or int(fields[1]) != postmaster:
            continue
        try:
            lines = Path(f"/proc/{entry}/io").read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            continue
        except OSError:
            return None
        written[int(entry)] = int(
            next(line.split()[1] for line in lines if line.startswith("write_bytes:"))
        )
    return written


def device_counters(device: str | None) -> dict[str, int]:
    """Return counters of the whole disk, which include the I/O of other programs."""
    if not device:
        return {}
    try:
        fields = Path(f"/sys/dev/block/{device}/stat").read_text(encoding="ascii").split()
    except OSError:
        return {}
    return {
        "device_reads": int(fields[0]),
        "device_read_bytes": int(fields[2]) * SECTOR,
        "device_writes": int(fields[4]),
        "device_write_bytes": int(fields[6]) * SECTOR,
    }


def server_counters(connection: psycopg.Connection) -> dict[str, float]:
    """Return cumulative counters of the server.

    The counters count blocks read from and written to the kernel, blocks written by each type of
    process, bytes of WAL, and the full-page images in it.
    """
    if connection.info.server_version >= 160000:
        blocks = (
            "SELECT sum(reads), sum(writes),"
            " sum(writes) FILTER (WHERE backend_type = 'client backend'),"
            " sum(writes) FILTER (WHERE backend_type = 'background writer'),"
            " sum(writes) FILTER (WHERE backend_type = 'checkpointer') FROM pg_stat_io"
        )
        if connection.info.server_version >= 180000:
            blocks += " WHERE object <> 'wal'"
    else:
        blocks = (
            "SELECT (SELECT sum(blks_read) FROM pg_stat_database),"
            " buffers_checkpoint + buffers_clean + buffers_backend,"
            " buffers_backend, buffers_clean, buffers_checkpoint FROM pg_stat_bgwriter"
        )
    names = (
        "block_reads",
        "block_writes",
        "session_writes",
        "bgwriter_writes",
        "checkpointer_writes",
    )
    counted = dict(
        zip(names, (float(count or 0) for count in connection.execute(blocks).fetchone()))
    )
    wal, images = connection.execute(
        "SELECT pg_current_wal_lsn() - '0/0', wal_fpi FROM pg_stat_wal"
    ).fetchone()
    return counted | {"wal_bytes": float(wal), "wal_fpi": float(images)}


def snapshot(
    connection: psycopg.Connection, postmaster: int, device: str | None, group: ControlGroup | None
) -> dict[str, float]:
    taken: dict[str, float] = {"cpu_seconds": cpu_seconds(postmaster)}
    taken.update(server_counters(connection))
    taken.update(device_counters(device))
    if group:
        taken.update({"group_" + name: value for name, value in group.counters().items()})
    return taken


def difference(begin: dict[str, float], end: dict[str, float]) -> dict[str, float]:
    return {name: end[name] - begin[name] for name in begin if name in end}
