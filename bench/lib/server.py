"""Private PostgreSQL instances through tools/cluster, and servers that already run."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from bench.lib.console import BenchError, note
from bench.lib.paths import CLUSTERS, TOOLS, bindir, build_hint


def run_tool(command: list[str], prefix: tuple[str, ...] = ()) -> str:
    """Run one of tools/ and return its output.  Raise an error with its last line of stderr."""
    try:
        done = subprocess.run(
            [*prefix, str(TOOLS / command[0]), *command[1:]],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        raise BenchError(f'could not run "tools/{command[0]}": {error.strerror}') from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise BenchError(
            f"tools/{command[0]} {command[1]} failed: {lines[-1].removeprefix('tools/' + command[0] + ': error: ')}"
        )
    return done.stdout


def has_stock() -> bool:
    """Return true if there is a stock server.  Print a note if there is none."""
    if (bindir("stock") / "postgres").exists():
        return True
    note(
        f'no stock server: the comparison with it is left out; build one with "{build_hint("stock")}"'
    )
    return False


def fetch_dicts(
    connection: psycopg.Connection, query: str, *parameters: object
) -> list[dict[str, Any]]:
    """Return the rows of a query, by the names of their columns."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters or None).fetchall()


def connect(environment: Mapping[str, str], database: str) -> psycopg.Connection:
    connection = psycopg.connect(
        host=environment["PGHOST"],
        port=environment["PGPORT"],
        user=environment.get("PGUSER", "postgres"),
        dbname=database,
        autocommit=True,
        connect_timeout=30,
        application_name="bench",
    )
    connection.prepare_threshold = None
    return connection


class Server:
    """A server as studies use it: connections, new databases, and its log for messages."""

    environment: dict[str, str]
    bindir: Path
    log: str

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return connect(self.environment, database)

    @contextmanager
    def snapshot(self, database: str = "postgres") -> Iterator[None]:
        """Hold a snapshot in another session, which is older than all changes made meanwhile."""
        with self.connect(database) as other:
            other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            other.execute("SELECT 1")
            yield

    def create_database(self, name: str) -> None:
        with self.connect() as connection:
            self.drop_database(name)
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name))
            )

    def drop_database(self, name: str) -> None:
        with self.connect() as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )

    def postmaster(self) -> int:
        """Return the process id of the postmaster, the parent of all backends.

        Return 0 if it is not visible.
        """
        with self.connect() as connection:
            backend = connection.info.backend_pid
            try:
                with open(f"/proc/{backend}/stat", encoding="ascii") as stat:
                    return int(stat.read().rpartition(")")[2].split()[1])
            except OSError:
                return 0


@dataclass
class Cluster(Server):
    """A private instance, which tools/cluster keeps under its name."""

    name: str
    bindir: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.bindir / "postgres").exists():
            raise BenchError(f'there is no server in "{self.bindir}", run "make server" first')
        self.log = str(CLUSTERS / self.name / "log")

    @property
    def data(self) -> Path:
        return CLUSTERS / self.name / "data"

    def has_setting(self, name: str) -> bool:
        """Return true if the server has the setting.  The server need not run: ask its program."""
        done = subprocess.run(
            [self.bindir / "postgres", "--describe-config"],
            capture_output=True,
            text=True,
            check=False,
        )
        return any(line.startswith(f"{name}\t") for line in done.stdout.splitlines())

    def start(
        self,
        settings: Mapping[str, str],
        prefix: tuple[str, ...] = (),
        initdb_arguments: Sequence[str] = (),
    ) -> None:
        command = ["cluster", "start", self.name, "--bin", str(self.bindir)]
        for argument in initdb_arguments:
            command += ["--initdb-arg", argument]
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        run_tool(command, prefix)
        lines = run_tool(["cluster", "env", self.name]).splitlines()
        self.environment = dict(line.split("=", 1) for line in lines)

    def stop(self, immediate: bool = False) -> None:
        run_tool(["cluster", "stop", self.name, *(["--immediate"] if immediate else [])])

    def remove(self) -> None:
        run_tool(["cluster", "stop", self.name, "--immediate"])
        run_tool(["cluster", "remove", self.name])

    def copy_to(self, name: str) -> "Cluster":
        run_tool(["cluster", "copy", self.name, name])
        return Cluster(name, self.bindir)


class RunningServer(Server):
    """The server that the libpq variables name; it is neither started nor stopped."""

    def __init__(self) -> None:
        self.environment = {
            "PGHOST": os.environ.get("PGHOST", ""),
            "PGPORT": os.environ.get("PGPORT", "5432"),
            "PGUSER": os.environ.get("PGUSER") or pwd.getpwuid(os.geteuid()).pw_name,
        }
        program = shutil.which("pgbench")
        if not program:
            raise BenchError("pgbench was not found in PATH")
        self.bindir = Path(program).parent
        self.log = "unknown"
