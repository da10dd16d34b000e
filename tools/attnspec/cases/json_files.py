"""JSON files of a golden folder: their canonical text, their bundles in the wheel, and reading them.

Keys of canonical JSON are sorted, floats are written in the shortest decimals that read back exactly, a list of plain
values stays on one line, and the file ends with one newline: one text for one value, so that files can be compared byte
for byte. Non-finite floats are refused: fixtures name them as strings.

A bundle holds the cases of a profile one behind the other. A wheel compresses each file by itself and names it three
times: three thousand small ones take half as much again as two dozen bundles do. A checkout has the files themselves.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from attnspec.base.errors import FixtureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SUFFIX = ".cases"
"""Suffix of the name of a bundle, behind that of its profile."""

_END = b"\n}\n"
"""Where a file ends: all lines of the canonical JSON are indented but for the first one and the last."""

_ID = re.compile(rb'^ "id": "([^"]+)"', re.MULTILINE)


def canonical_json(value: Any) -> str:
    """Return the canonical text of JSON types; raise `ValueError` for a float that is not finite."""
    return _text(value, "\n") + "\n"


def _text(value: Any, newline: str) -> str:
    inner = newline + " "
    if isinstance(value, dict) and value:
        entries = cast("dict[str, Any]", value)
        lines = [f"{json.dumps(key)}: {_text(entries[key], inner)}" for key in sorted(entries)]
        return "{" + inner + ("," + inner).join(lines) + newline + "}"
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple | dict) for item in cast("Any", value)):
        items = cast("list[Any]", value)
        return "[" + inner + ("," + inner).join(_text(item, inner) for item in items) + newline + "]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def file_content(path: Path) -> bytes:
    """Return the bytes of a golden file, or of its part of the bundle; raise `FixtureError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        bundled = bundled_file(path)
        if bundled is not None:
            return bundled
        raise FixtureError(f"{path} cannot be read ({error.strerror}).") from None


def parse(path: Path, content: bytes) -> dict[str, Any]:
    """Return the JSON object of a file; raise `FixtureError`, with the reason that helps most, where it is none."""

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise FixtureError(f"{path} holds the key {twice!r} twice in one object.")
        return result

    def no_constants(name: str) -> Any:
        raise FixtureError(f'{path} holds the bare word {name}; fixtures write it as a string, such as "inf".')

    def finite(number: str) -> float:
        value = float(number)
        if math.isinf(value):
            raise FixtureError(f'{path} holds {number}, which is beyond float64; fixtures write infinity as "inf".')
        return value

    try:
        text = content.decode("utf-8").rstrip()
        document = json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constants, parse_float=finite)
    except UnicodeDecodeError as error:
        raise FixtureError(f"{path} is not UTF-8 text (byte {error.start}).") from None
    except json.JSONDecodeError as error:
        ends_early = error.pos >= len(error.doc) - 1 or not error.doc.endswith("}")
        cut = "; it seems to be cut off" if error.doc[:1] in ("", "{") and ends_early else ""
        raise FixtureError(
            f"{path} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}{cut})."
        ) from None
    except ValueError:
        raise FixtureError(f"{path} holds an integer with thousands of digits, which no fixture needs.") from None
    except RecursionError:
        raise FixtureError(f"{path} is nested too deeply to be a fixture.") from None
    if not isinstance(document, dict):
        raise FixtureError(f"{path} does not hold a JSON object.")
    return cast("dict[str, Any]", document)


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
