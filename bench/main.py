"""The command line of bench/run.

Each study declares its options in its own file, see bench/studies/__init__.py.
"""

import sys

import click
import psycopg

from bench import studies
from bench.lib.console import BenchError
from bench.lib.session import Terminated
from bench.text_mix.sources import MixError

# A run that does not succeed ends with one line on stderr, and with an exit code other than 0.
INTERRUPTED = 130


class Commands(click.Group):
    """The studies and the report, as commands.

    Import only the file of the command that is run.  The option --help needs all files.
    """

    # the manual that --help prints before the options and commands
    manual = ""

    def format_help(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(self.manual)
        self.format_options(context, formatter)

    def list_commands(self, _context: click.Context) -> list[str]:
        return sorted([*studies.NAMES, "report"])

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name == "report":
            from bench.report import command

            return command
        return studies.command_of(name) if name in studies.NAMES else None


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
def cli() -> None:
    """Measure what each piece of pg_dense does, or show what was measured."""


def fail(message: str, code: int = 1) -> None:
    BenchError(message).show()
    sys.exit(code)


def usage_line(error: click.UsageError) -> str:
    message = error.format_message().rstrip(".")
    return f'{message[:1].lower()}{message[1:]}, see "bench/run --help"'


def main(name: str, manual: str) -> None:
    """Run the command line of the program with that name and manual, and exit."""
    cli.manual = manual
    try:
        code = cli.main(prog_name=name, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except BenchError as error:
        error.show()
        sys.exit(1)
    except click.UsageError as error:
        fail(usage_line(error), 2)
    except click.ClickException as error:
        fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        fail("interrupted", INTERRUPTED)
    except Terminated as error:
        fail(f"ended by {error}", INTERRUPTED)
    except MixError as error:
        fail(str(error))
    except psycopg.errors.DiskFull as error:
        fail(f"disk full: {error.diag.message_primary}")
    except psycopg.OperationalError as error:
        reason = (str(error).strip().splitlines() or ["connection lost"])[0]
        fail(f"lost the server: {reason} (logs of private instances: build/cluster/*/log)")
    except psycopg.Error as error:
        fail(f"the server said: {error.diag.message_primary or str(error).strip()}")
    except OSError as error:
        fail(f'{error.strerror}: "{error.filename}"' if error.filename else str(error))
