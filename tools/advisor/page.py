"""The report as one HTML file, which needs no other file."""

import os
from pathlib import Path

import jinja2

from advisor import terminal
from advisor.errors import AdviseError
from advisor.report import Report, counted, percent, size, unestimated, visible

TEMPLATES = Path(__file__).resolve().parent / "templates"


def check(path: Path) -> None:
    """Raise an error if the page could not be written, before the work for it begins."""
    if not path.exists():
        if not path.resolve().parent.is_dir():
            raise AdviseError(f'could not write "{path}": there is no such directory')
        if not os.access(path.resolve().parent, os.W_OK):
            raise AdviseError(f'could not write "{path}": permission denied')
    elif not os.access(path, os.W_OK):
        raise AdviseError(f'could not write "{path}": permission denied')


def write(report: Report, top: int, path: Path) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=show,
    )
    shown, more, without = report.listed(top)
    page = environment.get_template("report.html").render(
        report=report,
        shown=shown,
        more=more,
        without=without,
        counted=counted,
        largest=max((table.now for table in shown), default=0) or 1,
        size=size,
        percent=percent,
        unestimated=unestimated,
        label=lambda line: terminal.label(report, line),
    )
    try:
        path.write_text(page, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise AdviseError(f'could not write "{path}": {error.strerror}') from error


def show(value: object) -> object:
    """Make control characters visible, of names of tables for example."""
    return visible(value) if type(value) is str else value
