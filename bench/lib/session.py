"""Allow one run at a time, and clean up also after an interrupt or an error."""

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
    """Run one part of the clean-up, and ignore its errors, so that the others run too."""
    with suppress(BenchError, OSError, psycopg.Error):
        action(*arguments)


@contextmanager
def _lock() -> Iterator[None]:
    """Lock the directory of the instances, which all accounts that may run a bench share."""
    try:
        CLUSTERS.mkdir(parents=True, exist_ok=True)
        handle = os.open(CLUSTERS, os.O_RDONLY)
    except OSError:
        # There can be no instance in it.  A study that needs one raises its own error.
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BenchError("another bench/run is running in this checkout") from error
    finally:
        os.close(handle)


@contextmanager
def session() -> Iterator[ExitStack]:
    """Yield an ExitStack for clusters and control groups.

    A second interrupt does not stop the clean-up of this stack.
    """
    with _lock():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _terminate)
        stack = ExitStack()
        # A killed run may have left the read-ahead changed.
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
