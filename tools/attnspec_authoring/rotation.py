"""A share at a time: the longest trials run in part, another part with every change of cases or code.

CI sets the number of shares, so that it answers within a coffee break; without it everything is tried. The share due
follows from a digest of all that a trial depends on, so that one commit always tries the same, and a few of them all.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from attnspec.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

VARIABLE = "ATTNSPEC_SHARES"
"""The variable of the environment that says in how many shares the whole is cut, of which one is due."""

_ROOT = Path(__file__).parents[2]
_INSTALLED = ("attnspec", "attnspec_adapters", "attnspec_draws", "attnspec_probes")
_COUNTS = ("golden/index.json", "reference_impl/**/*.py", *(f"tools/{package}/**/*.py" for package in _INSTALLED))
"""The files whose change makes another share due."""


def is_due(name: str) -> bool:
    """Check whether something, by name, is to be tried now; `UsageError` where the number of shares is none."""
    shares = _shares()
    return shares == 1 or _weight(name) % shares == 0


def selection(names: Iterable[str], count: int) -> frozenset[str]:
    """Select `count` of some names, all where there are no more; others with every change of cases or code."""
    return frozenset(sorted(names, key=_weight)[:count])


def _weight(name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{_digest()} {name}".encode()).digest()[:8])


def _shares() -> int:
    stated = os.environ.get(VARIABLE, "1")
    if not stated.isdecimal() or int(stated) < 1:
        raise UsageError(f"{VARIABLE}={stated}: give a whole number from 1 on, or leave it out.")
    return int(stated)


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _COUNTS for path in _ROOT.glob(pattern)}):
        digest.update(path.read_bytes())
    return digest.hexdigest()
