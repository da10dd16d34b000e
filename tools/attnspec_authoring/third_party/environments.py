"""Environments of their own: a fresh one with a library in a given version, and this checkout of attnspec."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

_ROOT = Path(__file__).parents[3]


@contextmanager
def environment_with(requirements: Sequence[str]) -> Generator[str]:
    """Give the interpreter of an environment that has these requirements, until the block ends.

    Raises `MissingDependencyError` with pip's last words where they cannot be installed.
    """
    with tempfile.TemporaryDirectory(prefix="attnspec-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        done = subprocess.run(
            [*command, "--editable", str(_ROOT), *requirements], capture_output=True, text=True, check=False
        )
        if done.returncode:
            # What a pip inside of pip said is indented.
            said = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("ERROR")]
            raise MissingDependencyError(
                f"{', '.join(requirements)} cannot be installed: {said[-1] if said else done.stderr.strip()}"
            )
        yield python


def pinned(requirements: Sequence[str], version: str) -> list[str]:
    """Return requirements of which the first is in this version: mlx[cpu] becomes mlx[cpu]==0.32.4."""
    first, *others = requirements
    return [f"{first}=={version}", *others]
