"""The real values of the mix, read from their sources.  The project contains no copy of them.

Some values come from the server's release, the branch "pristine" of build/17/src: messages of its
catalogs, and the paths of its files.  tools/pg-versions pins release and checksum, so these values
are the same everywhere.

Other values come from the package index of a Debian machine: names, versions, sections, home pages
and one-line descriptions of packages.  They differ between point releases of Debian, so the mix
does not insist on them.
"""

import functools
import hashlib
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import TypeVar

TOP = Path(__file__).resolve().parents[2]
MAJOR = "17"
SOURCE = TOP / "build" / MAJOR / "src"

PATHS = 2500
MESSAGES = 1000
PACKAGES = 4000

Item = TypeVar("Item")


class MixError(Exception):
    """The mix cannot be made as it was frozen; the message gives the reason in one line."""


def source_is_held_out(source: str) -> bool:
    """Return true if the metadata of this source package is kept for the test columns.

    This is so for a quarter of the source packages.
    """
    return hashlib.md5(source.encode()).digest()[0] < 64


def spread(items: list[Item], n: int) -> list[Item]:
    """Return n of the items, evenly spaced."""
    return [items[i * len(items) // n] for i in range(min(n, len(items)))]


# --- the server's release ---------------------------------------------------


def pristine(*command: str) -> str:
    """Return the output of a git command on the unpatched release.

    The tree may belong to another account.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_CONFIG_GLOBAL": str(TOP / "tools" / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    try:
        # Name the repository.  Otherwise git would look for one further up, and find the project's
        # own.
        done = subprocess.run(
            ["git", f"--git-dir={SOURCE / '.git'}", *command],
            env=environment,
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        where = SOURCE.relative_to(TOP)
        raise MixError(
            f'the text mix needs the PostgreSQL source tree "{where}", run "tools/patches tree {MAJOR}"'
        ) from error
    return done.stdout.decode()


@functools.cache
def release() -> str:
    return (
        pristine("log", "-1", "--format=%s", "pristine", "--").strip().removeprefix("PostgreSQL ")
    )


@functools.cache
def pinned_release() -> str:
    lines = (TOP / "tools" / "pg-versions").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(MAJOR + " "))


@functools.cache
def files() -> list[str]:
    return [
        name
        for name in pristine("ls-tree", "-r", "-z", "--name-only", "pristine").split("\0")
        if name
    ]


@functools.cache
def paths() -> list[str]:
    return spread([name for name in files() if name.isascii()], PATHS)


@functools.cache
def messages(language: str) -> list[str]:
    """Return translated messages of up to 300 bytes, without format specifications and escapes."""
    catalogs = [name for name in files() if name.endswith(f"/po/{language}.po")]
    catalogs.sort(key=lambda name: name.split("/"))
    found = {}
    for msgid, msgstr in re.findall(
        r'^msgid ((?:".*"\n)+)msgstr ((?:".*"\n)+)',
        pristine("show", "--no-textconv", *(f"pristine:{name}" for name in catalogs)),
        re.M,
    ):
        msgid, text = ("".join(re.findall(r'^"(.*)"$', m, re.M)) for m in (msgid, msgstr))
        if msgid and 12 < len(text.encode()) <= 300 and not set(text) & set("%\\"):
            found[text] = None
    return spread(list(found), MESSAGES)


# --- the machine's package index --------------------------------------------


def index_file() -> str | None:
    """Return apt's package list of the machine's own Debian release; None if there is none.

    Updates and other archives are not in it.
    """
    try:
        base = platform.freedesktop_os_release().get("VERSION_CODENAME")
        targets = subprocess.run(
            [
                "apt-get",
                "indextargets",
                "--format",
                "$(FILENAME)|$(COMPONENT)|$(ORIGIN)|$(CODENAME)",
                "Created-By: Packages",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    found = (target.split("|") for target in targets)
    return next((name for name, *which in found if which == ["main", "Debian", base]), None)


@functools.cache
def packages() -> list[list[str]]:
    """Return rows of name, version, section, home page and description.

    If there is no index, return no rows.
    """
    index = index_file()
    if index is None:
        return []
    try:
        done = subprocess.run(
            ["/usr/lib/apt/apt-helper", "cat-file", index], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise MixError(f'could not read the package index "{index}"') from error
    names = ("Package", "Version", "Section", "Homepage", "Description")
    rows, descriptions = [], set()
    for stanza in done.stdout.decode(errors="replace").split("\n\n"):
        field = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", stanza, re.M))
        if not all(name in field for name in names) or field["Description"] in descriptions:
            continue
        if source_is_held_out(field.get("Source", field["Package"]).split()[0]):
            descriptions.add(field["Description"])
            rows.append([field[name] for name in names])
    return spread(rows, PACKAGES)
