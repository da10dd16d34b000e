"""Bundles: files of golden cases one behind the other, one bundle a profile, as the wheel holds them.

A wheel compresses each file by itself and names it three times: three thousand small ones take half as much again as
two dozen bundles do. A checkout has the files themselves, which everybody can read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SUFFIX = ".cases"
"""Suffix of the name of a bundle, behind that of its profile."""

_END = b"\n}\n"
"""Where a file ends: all lines of the canonical JSON are indented but for the first one and the last."""

_ID = re.compile(rb'^ "id": "([^"]+)"', re.MULTILINE)


def bundled_ids(bundles: Sequence[Path], indexed: Iterable[str] | None = None) -> list[str]:
    """Return the id of every case in the bundles of a folder of golden files.

    With the ids of an index no bundle is read: a case that it names and a bundle lacks is missed when the case is read.
    """
    if indexed is None:
        return [case_id for bundle in bundles for case_id in _files_in(bundle)]
    profiles = {bundle.stem for bundle in bundles}
    return [case_id for case_id in indexed if case_id.partition("/")[0] in profiles]


def bundled_file(path: Path) -> bytes | None:
    """Return the content of a case's file from the bundle of its profile; None where there is none."""
    for profile in path.parents:
        bundle = profile.parent / f"{profile.name}{SUFFIX}"
        if bundle.is_file():
            return _files_in(bundle).get(path.relative_to(profile.parent).with_suffix("").as_posix())
    return None


@lru_cache(maxsize=1)  # Cases are read profile by profile, and a bundle is as large as all that is read of it.
def _files_in(bundle: Path) -> dict[str, bytes]:
    """Return id to content of the files in a bundle."""
    files = [part + _END for part in bundle.read_bytes().split(_END)[:-1]]
    named = [(_ID.search(file), file) for file in files]
    return {found[1].decode(): file for found, file in named if found is not None}
