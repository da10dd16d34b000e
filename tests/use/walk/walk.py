"""Walk through README.md and the guides as a newcomer does: a fresh clone, a fresh environment, every command in order.

``python tests/use/walk/walk.py`` does all of it. A page given by name is walked alone, behind the installation that
README says; ``--skip TEXT`` leaves out the commands that hold the text.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "spec/guides/kernel.md")
"""The pages that are walked from their beginning to their end; tests of their own walk the other guides."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")
_STATUS = re.compile(r"\s+# ends with (\d+)$")
_INSTALLS = "pip install ../attnspec"


class Command(NamedTuple):
    """One command, and the exit status that the page says it has."""

    words: str
    status: int = 0

    @property
    def is_of_the_checkout(self) -> bool:
        """Whether it is for the checkout and not for the reader's own folder."""
        return self.words.startswith(("make ", ".venv/"))


class File(NamedTuple):
    """A file that the reader writes."""

    name: str
    text: str


class FailedError(Exception):
    """A command of a page did not end as the page says."""


def steps(page: str) -> Iterator[Command | File]:
    """Give what a reader of a page does, in its order.

    Parameters
    ----------
    page
        The text of the page.
    """
    for kind, block in _BLOCK.findall(page):
        named = _FILE.match(block)
        if kind == "python" and named is not None:
            yield File(named[1], block)
        elif kind == "console":
            for line in block.splitlines():
                words = line.removeprefix("$ ")
                says = _STATUS.search(words)
                yield Command(_STATUS.sub("", words), 0 if says is None else int(says[1]))


class Walk:
    """A newcomer's folders: a clone of the repository, an empty folder beside it, and an environment.

    Parameters
    ----------
    folder
        An empty folder for all of them.
    """

    def __init__(self, folder: Path) -> None:
        self.checkout, self.folder, environment = folder / "attnspec", folder / "mine", folder / "environment"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.checkout)], check=True)
        self.folder.mkdir()
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        lent = {"PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL"}
        kept = {name: value for name, value in os.environ.items() if name not in lent and not name.startswith("PYTEST")}
        self._environment = kept | {"PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def go(self, page: str, *, skip: tuple[str, ...] = ()) -> int:
        """Do what a page says, and return how many commands were run.

        Parameters
        ----------
        page
            The page, below the root of the repository.
        skip
            Texts; a command that holds one is left out.

        Raises
        ------
        FailedError
            If a command does not end as the page says.
        """
        count = 0
        for step in steps((self.checkout / page).read_text("utf-8")):
            if isinstance(step, File):
                (self.folder / step.name).write_text(step.text, "utf-8")
            elif not any(text in step.words for text in skip):
                self._run(step)
                count += 1
        return count

    def install(self) -> None:
        """Install the checkout as README says, for a page that begins behind it."""
        self._run(Command(_INSTALLS))

    def _run(self, command: Command) -> None:
        where = self.checkout if command.is_of_the_checkout else self.folder
        begun = time.monotonic()
        done = subprocess.run(
            command.words, shell=True, cwd=where, env=self._environment, capture_output=True, text=True, check=False
        )
        print(f"{time.monotonic() - begun:6.1f} s  {command.words}", flush=True)
        if done.returncode != command.status or "Traceback" in done.stderr:
            raise FailedError(
                f"{command.words}\nended with {done.returncode}; the page says {command.status}.\n"
                f"{done.stdout}\n{done.stderr}"
            )


def main() -> int:
    """Walk the pages that the command line names, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"{', '.join(PAGES)} if none is named")
    parser.add_argument("--skip", action="append", default=[], metavar="TEXT", help="leave out commands that hold TEXT")
    options = parser.parse_args()
    pages: list[str] = options.pages or [*PAGES]
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(Path(folder))
        if pages[0] != PAGES[0]:
            walk.install()
        try:
            count = sum(walk.go(page, skip=tuple(options.skip)) for page in pages)
        except FailedError as failed:
            print(failed, file=sys.stderr)
            return 1
    print(f"{count} commands ended as the pages say.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
