"""A file system on a block device of its own, whose counters count writes to it only.

The device is a loop device on a file.  This module unmounts, detaches and removes only devices
that it made.
"""

import os
import pwd
import shutil
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.lib.device import block_device
from bench.lib.paths import TOP

# Avoid writes in the background: mkfs must leave no tables to initialize later, and times of access
# and change must not be written.
FORMAT = ("-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard")
OPTIONS = "noatime,lazytime"


class NoDevice(Exception):
    """There is no device; the message is the reason."""


def _run(*words: str) -> str:
    program = shutil.which(words[0], path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not program:
        raise NoDevice(f"{words[0]} was not found")
    done = subprocess.run(
        [program, *words[1:]],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise NoDevice(reason if reason.startswith(words[0]) else f"{words[0]}: {reason}")
    return done.stdout.strip()


@dataclass
class LoopDevice:
    """A mounted loop device, with a directory for the account that the servers run as."""

    image: Path
    mount: Path
    name: str = ""
    # MAJOR:MINOR
    number: str | None = None

    @property
    def directory(self) -> Path:
        return self.mount / "own"

    def make(self, megabytes: int) -> None:
        # Let the servers' account enter these directories.
        for part in (self.image.parent, self.mount):
            part.mkdir(exist_ok=True)
            part.chmod(0o755)
        self.image.touch(0o600, exist_ok=False)
        with open(self.image, "wb") as image:
            os.posix_fallocate(image.fileno(), 0, megabytes << 20)
        self.name = _run("losetup", "--find", "--show", str(self.image))
        _run("mkfs.ext4", *FORMAT, self.name)
        _run("mount", "-t", "ext4", "-o", OPTIONS, self.name, str(self.mount))
        account = pwd.getpwnam(os.environ.get("PGDENSE_ACCOUNT", "nobody"))
        self.directory.mkdir()
        os.chown(self.directory, account.pw_uid, account.pw_gid)
        self.number = block_device(self.mount)

    def remove(self) -> None:
        """Remove the device, also one that a killed run has left."""
        if os.path.ismount(self.mount):
            with suppress(NoDevice):
                _run("umount", str(self.mount))
        if os.path.lexists(self.image):
            with suppress(NoDevice):
                for line in _run("losetup", "--associated", str(self.image)).splitlines():
                    _run("losetup", "--detach", line.partition(":")[0])
            self.image.unlink()
        for directory in (self.mount, self.image.parent):
            with suppress(OSError):
                directory.rmdir()


def _check(home: Path) -> None:
    """Raise NoDevice if another account could put a link there.

    Root would overwrite or remove the link's target.
    """
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        parent = home.parent.stat()
    except OSError as error:
        raise NoDevice(f'could not make "{home}": {error.strerror}') from error
    if parent.st_uid not in (0, TOP.stat().st_uid) or parent.st_mode & stat.S_IWOTH:
        raise NoDevice(f'another account can write to "{home.parent}"')
    if home.is_symlink():
        raise NoDevice(f'"{home}" is a symbolic link')


def create(home: Path, megabytes: int) -> LoopDevice:
    """Create a device in its own directory, which need not exist.  Raise NoDevice on failure."""
    if os.geteuid() != 0:
        raise NoDevice("not started by root")
    _check(home)
    device = LoopDevice(home / "image", home / "mount")
    device.remove()
    try:
        device.make(megabytes)
    except (NoDevice, OSError, KeyError) as error:
        device.remove()
        if isinstance(error, OSError):
            raise NoDevice(f'could not make "{device.image}": {error.strerror}') from error
        raise NoDevice(str(error)) from error
    except BaseException:
        device.remove()
        raise
    return device
