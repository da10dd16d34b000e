"""A selection that rotates: some of very many trials, others with every change of cases or code.

It follows from a digest of all that a trial depends on, so that one commit always tries the same.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROOT = Path(__file__).parents[2]
_INSTALLED = ("attnspec", "attnspec_adapters", "attnspec_draws", "attnspec_probes")
_COUNTS = ("golden/index.json", "reference_impl/**/*.py", *(f"tools/{package}/**/*.py" for package in _INSTALLED))
"""The files whose change makes another selection."""


def selection(names: Iterable[str], count: int) -> frozenset[str]:
    """Select `count` of some names, all where there are no more; others with every change of cases or code."""
    return frozenset(sorted(names, key=_weight)[:count])


def _weight(name: str) -> bytes:
    return hashlib.sha256(f"{_digest()} {name}".encode()).digest()


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _COUNTS for path in _ROOT.glob(pattern)}):
        digest.update(path.read_bytes())
    return digest.hexdigest()
