"""Stored tolerances: the error bounds of golden cases, computed by ``attnspec regenerate`` and read with the cases.

A tolerance depends on the case and on the error model alone, and takes longer than all the rest of a run. So it is
stored: in 20 bits, of which 8 are of the mantissa, rounded up, by at most 0.4 %. Beside the tolerances lie slopes, the
derivatives by which systematic errors are measured, in 8 bits. The record ``tolerances.json`` holds the digest of the
model's source and that of each file ``tolerances/PROFILE.bin``, which holds those of its cases. What no digest vouches
for is computed as if nothing were stored.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from operator import is_
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

TOLERANCES = "tolerances.json"
"""The record of a golden folder that vouches for its stored tolerances."""

FOLDER = "tolerances"
"""The folder that holds the stored tolerances, a file for each profile."""

SUFFIX = ".bin"

FORMAT = 3

_KEPT_BITS, _LEFT_OUT = 8, 44
"""Bits of a float64's mantissa that are kept, and those below them, which are rounded up."""

_STEPS, _SILENT = 127, -128
"""Slopes are whole numbers of so many steps to the largest of an output; the last one is of silent elements."""

_MODEL = ("bounds", "families")
"""The rooms whose source is the error model."""

Grade = tuple[str, bool]
"""Dtype, and whether half precision is graded fused."""


class Ends(NamedTuple):
    """The interval of elements whose tolerance says nothing: which these are, and both ends, infinite elsewhere."""

    elements: NDArray[np.bool_]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]


class StoredTolerances(NamedTuple):
    """The stored tolerances of a case, as its entry says where they lie in the numbers of its profile.

    They belong to the `parts` of the case of which they were computed: its inputs, attributes, expected values and
    changed argument, as objects, for a changed case is another one.
    `sensitive_to` are the conventions of which a choice would change something that is stored. `without_effect` maps an
    argument to the dtypes in which what is expected stays the same, within its tolerance, if it is left out.
    """

    entry: Mapping[str, Any]
    numbers: _Numbers
    parts: tuple[object, ...]

    def belong_to(self, parts: tuple[object, ...]) -> bool:
        """Return whether a case has the very parts of which they were computed."""
        return all(map(is_, self.parts, parts))

    def of_changed_call(self, parts: tuple[object, ...]) -> StoredTolerances | None:
        """Return those of the call with its one argument changed, a case of its own parts; None where none are."""
        entry = self.entry.get("changed")
        return None if entry is None else StoredTolerances(entry, self.numbers, parts)

    @property
    def sensitive_to(self) -> Sequence[str]:
        """The conventions under which the stored numbers do not hold."""
        return self.entry["sensitive_to"]

    @property
    def without_effect(self) -> Mapping[str, Sequence[str]]:
        """The arguments without which a right answer would be right, too, each with the dtypes where that holds."""
        return self.entry.get("without_effect", {})

    def error(self, output: str, grade: Grade) -> NDArray[np.float64]:
        """Return the tolerance of each element of an output in a grade."""
        first, shape = self.entry["outputs"][output]
        size = math.prod(shape)
        first += size * self.entry["grades"].index(grade_name(grade))
        return self.numbers.tolerances[first : first + size].reshape(shape)

    def slope(self, direction: str, output: str) -> NDArray[np.float64] | None:
        """Return the derivative of each element in a direction, NaN for silent ones; None where none are stored."""
        found = self.entry.get("slopes", {}).get(direction, {}).get(output)
        if found is None:
            return None
        first, step = found
        shape = self.entry["outputs"][output][1]
        return self.numbers.slopes[first : first + math.prod(shape)].reshape(shape) * step

    def marks(self, kind: str, grade: Grade | None = None) -> dict[str, NDArray[np.bool_]]:
        """Return marked elements by output: ``unspecified`` or ``by_convention``, or in a grade ``left_open``."""
        return {output: self._marked(output, first) for output, first in self._entries(kind, grade).items()}

    def ends(self, output: str, grade: Grade) -> Ends | None:
        """Return the elements of an output that an interval alone bounds in a grade, and its ends; None for none."""
        position = self._entries("in_interval", grade).get(output)
        if position is None:
            return None
        first_mark, first_end = position
        elements = self._marked(output, first_mark)
        count = int(np.count_nonzero(elements))
        lowest, highest = np.full(elements.shape, -np.inf), np.full(elements.shape, np.inf)
        lowest[elements] = self.numbers.ends[first_end : first_end + count]
        highest[elements] = self.numbers.ends[first_end + count : first_end + 2 * count]
        return Ends(elements, lowest, highest)

    def _marked(self, output: str, first: int) -> NDArray[np.bool_]:
        shape = self.entry["outputs"][output][1]
        return self.numbers.marks[first : first + math.prod(shape)].reshape(shape)

    def _entries(self, kind: str, grade: Grade | None) -> Mapping[str, Any]:
        found = self.entry.get(kind, {})
        return found if grade is None else found.get(grade_name(grade), {})


class _Numbers(NamedTuple):
    """The numbers of all cases of a profile: tolerances, marked elements, ends of intervals, and slopes in steps."""

    tolerances: NDArray[np.float64]
    marks: NDArray[np.bool_]
    ends: NDArray[np.float64]
    slopes: NDArray[np.float64]


class ProfileTolerances(NamedTuple):
    """The stored tolerances of a profile: the entry of each case, by id, and the numbers of all."""

    entries: Mapping[str, Mapping[str, Any]]
    numbers: _Numbers

    def of(self, case_id: str, sha256: str, parts: tuple[object, ...]) -> StoredTolerances | None:
        """Return those of a case whose file has a digest; None where none are stored for it."""
        entry = self.entries.get(case_id)
        if entry is None or entry["sha256"] != sha256:
            return None
        return StoredTolerances(entry, self.numbers, parts)


def grade_name(grade: Grade) -> str:
    """Return the name of a grade in the file, such as ``bfloat16 fused``."""
    dtype, fused = grade
    return f"{dtype} fused" if fused else dtype


def grade_called(name: str) -> Grade:
    """Return the grade of a name."""
    dtype, _, fused = name.partition(" ")
    return dtype, bool(fused)


def rounded_up(tolerances: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return tolerances as the upper 20 bits of the next larger number that has no others."""
    bits = np.ascontiguousarray(tolerances, dtype=np.float64).view(np.uint64)
    return ((bits + np.uint64(2**_LEFT_OUT - 1)) >> np.uint64(_LEFT_OUT)).astype(np.uint32)


def _as_numbers(codes: NDArray[np.uint32]) -> NDArray[np.float64]:
    return (codes.astype(np.uint64) << np.uint64(_LEFT_OUT)).view(np.float64)


def in_steps(slopes: NDArray[np.float64]) -> tuple[NDArray[np.int8], float]:
    """Return slopes as whole numbers of steps, and the size of a step; NaN is silent."""
    largest = float(np.max(np.abs(slopes), initial=0.0, where=np.isfinite(slopes)))
    step = largest / _STEPS
    steps = np.round(slopes / step) if step > 0 else np.where(np.isfinite(slopes), 0.0, np.nan)
    return np.where(np.isfinite(steps), steps, _SILENT).astype(np.int8), step


def packed(
    entries: Mapping[str, Mapping[str, Any]],
    codes: NDArray[np.uint32],
    marks: NDArray[np.bool_],
    ends: NDArray[np.float64],
    slopes: NDArray[np.int8],
) -> bytes:
    """Return the content of a profile's file: a line of JSON, and the numbers plane by plane."""
    counts = {"tolerances": codes.size, "marks": marks.size, "ends": ends.size, "slopes": slopes.size}
    header = json.dumps({"format": FORMAT, **counts, "cases": entries}, sort_keys=True, separators=(",", ":"))
    planes = (
        (codes >> _KEPT_BITS).astype("<u2").tobytes(),
        (codes & (2**_KEPT_BITS - 1)).astype(np.uint8).tobytes(),
        np.packbits(marks).tobytes(),
        ends.astype("<f8").tobytes(),
        slopes.tobytes(),
    )
    return b"".join((header.encode(), b"\n", *planes))


def unpacked(content: bytes) -> ProfileTolerances:
    """Return the stored tolerances that the content of a profile's file holds."""
    line, _, planes = content.partition(b"\n")
    header = json.loads(line)
    count, marks, ends, slopes = (header.get(name, 0) for name in ("tolerances", "marks", "ends", "slopes"))
    upper = np.frombuffer(planes, "<u2", count)
    lower = np.frombuffer(planes, np.uint8, count, 2 * count)
    after = 3 * count + (marks + 7) // 8
    marked = np.unpackbits(np.frombuffer(planes, np.uint8, (marks + 7) // 8, 3 * count), count=marks).view(np.bool_)
    tolerances = _as_numbers((upper.astype(np.uint32) << np.uint32(_KEPT_BITS)) | lower)
    bounds = np.frombuffer(planes[after:], "<f8", ends)
    steps = np.frombuffer(planes, np.int8, slopes, after + 8 * ends)
    speaking = np.where(steps == _SILENT, np.nan, steps)
    tolerances.flags.writeable = marked.flags.writeable = speaking.flags.writeable = False
    entries: Mapping[str, Any] = header["cases"] if header["format"] == FORMAT else {}
    return ProfileTolerances(entries, _Numbers(tolerances, marked, bounds, speaking))


def compressed(content: bytes) -> bytes:
    """Return the content of a file as it is stored; other versions of zlib may give other bytes for the same."""
    return zlib.compress(content, 9)


@lru_cache(maxsize=64)  # Cases are read one by one, and a golden folder has fewer profiles.
def read_profile(folder: Path, profile: str) -> ProfileTolerances | None:
    """Return the stored tolerances of a profile; None where none are, or no digest vouches for them."""
    return _vouched_profile(folder, profile)


def _vouched_profile(folder: Path, profile: str) -> ProfileTolerances | None:
    digest = _vouched_files(folder / TOLERANCES).get(profile)
    if digest is None:
        return None
    try:
        content = zlib.decompress((folder / FOLDER / f"{profile}{SUFFIX}").read_bytes())
    except (OSError, zlib.error):
        return None
    return unpacked(content) if hashlib.sha256(content).hexdigest() == digest else None


def unsound_files(folder: Path) -> list[str]:
    """Return a sentence on each file of stored tolerances that its record does not vouch for, or on the record."""
    record = folder / TOLERANCES
    if not record.exists():
        return []
    known = _vouched_files(record)
    if not known:
        return [f"{record} is damaged or was written for another error model. Run `attnspec regenerate`."]
    return [
        f"{folder / FOLDER / profile}{SUFFIX} is missing or not the file that {record} vouches for. "
        "Restore it, or run `attnspec regenerate --all`."
        for profile in known
        if _vouched_profile(folder, profile) is None
    ]


def _vouched_files(record: Path) -> Mapping[str, str]:
    """Return profile to the digest of its tolerances; nothing where the model has changed since they were computed."""
    try:
        document = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(document, dict):
        return {}
    known = cast("dict[str, Any]", document)
    return known.get("files", {}) if known.get("format") == FORMAT and known.get("model") == model_digest() else {}


@cache
def model_digest() -> str:
    """Return the SHA-256 over the source of the error model."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for room in _MODEL for path in (package / room).rglob("*.py")):
        # A checkout may have other line ends.
        source = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(package).as_posix()} {len(source)}\n".encode() + source)
    return digest.hexdigest()
