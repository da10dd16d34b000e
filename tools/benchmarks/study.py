"""A study of ``spec/studies``, as the program that measured writes it: what, how, when, with what, and the figures."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base import __version__
from attnspec.cases import load_suite
from attnspec_controls import CONTROLS
from attnspec_mistakes import CATALOGUE

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Sequence

STUDIES = Path(__file__).resolve().parents[2] / "spec" / "studies"


@dataclass(frozen=True)
class Study:
    """What one study measured.

    `title`: its heading; `about`: what was measured and how to read the figures, in Markdown; `figures`: Markdown
    lines: tables, and the sentences between them; `details`: lines that are printed before the figures and not kept:
    what a reader asks for once, to look at one of them.
    """

    title: str
    about: str
    figures: Sequence[str]
    details: Sequence[str] = ()

    def text(self) -> str:
        """Return the whole page, with the day, the suite and the environment that it was measured with."""
        facts = table(
            ("measured with", ""),
            [
                ("command", f"`{command()}`"),
                ("date", today()),
                ("suite", measured_suite()),
                ("catalogue", f"{len(CATALOGUE)} mistakes, {len(CONTROLS)} controls"),
                ("environment", environment()),
            ],
        )
        return "\n".join([f"# {self.title}", "", self.about.strip(), "", *facts, "", *self.figures]).rstrip() + "\n"


def today() -> str:
    """Return the day on which a figure is measured."""
    return datetime.now(UTC).date().isoformat()


def measured_suite() -> str:
    """Say which cases a figure is measured with."""
    suite = load_suite()
    return f"attnspec {__version__}, {len(suite.cases)} cases, digest `{suite.digest}`"


def command() -> str:
    """Return the command that is running, from the root of the repository; where the page goes is no part of it."""
    program, *options = sys.argv
    if "--write" in options:
        options = [*options[: options.index("--write")], "--write"]
    return shlex.join(["python", f"tools/benchmarks/{Path(program).name}", *options])


def environment() -> str:
    """Say what the figures may depend on, without a name of the machine."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "ml_dtypes"))
    return f"Python {platform.python_version()}, {packages}; {platform.machine()}, {os.cpu_count()} processors"


def table(heading: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table: text in the first column, figures on the right in the others."""
    rule = ["---", *("---:" if len(heading) > 2 else "---" for _ in heading[1:])]
    return [f"| {' | '.join(map(str, row))} |" for row in (heading, rule, *rows)]


def add_write_option(parser: ArgumentParser, name: str) -> None:
    """Give a program the option to write its page: to ``spec/studies``, or to a file that is named."""
    page = STUDIES / f"{name}.md"
    reported = f"write the page, to spec/studies/{page.name} where no file is named"
    parser.add_argument("--write", nargs="?", type=Path, const=page, metavar="FILE", help=reported)


def publish(page: Study, file: Path | None) -> None:
    """Print the details and the figures, and write the page where a file is given."""
    print(*page.details, *page.figures, sep="\n")  # noqa: T201
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.text(), encoding="utf-8")
