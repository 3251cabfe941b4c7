"""One run at a time, and nothing left behind however it ends."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

import psycopg

from bench.lib.console import BenchError
from bench.lib.device import restore_read_ahead
from bench.lib.paths import CLUSTERS


class Terminated(Exception):
    """SIGTERM or SIGHUP arrived."""


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(signal.Signals(number).name)


def quietly(action, *arguments) -> None:
    """Cleaning up goes on when one part of it fails."""
    with suppress(BenchError, OSError, psycopg.Error):
        action(*arguments)


@contextmanager
def _lock() -> Iterator[None]:
    """On the directory of the instances, which the accounts that may run a bench share."""
    try:
        CLUSTERS.mkdir(parents=True, exist_ok=True)
        handle = os.open(CLUSTERS, os.O_RDONLY)
    except OSError:
        # Nobody can have an instance there; a study that needs one says so itself.
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BenchError("another bench/run is at work in this checkout") from error
    finally:
        os.close(handle)


@contextmanager
def session() -> Iterator[ExitStack]:
    """An ExitStack for clusters and control groups, which a second interrupt cannot cut short."""
    with _lock():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _terminate)
        stack = ExitStack()
        # A run that was killed may have left it as it was set.
        restore_read_ahead()
        stack.callback(restore_read_ahead)
        try:
            yield stack
        finally:
            handlers = {
                number: signal.signal(number, signal.SIG_IGN)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            }
            stack.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)
