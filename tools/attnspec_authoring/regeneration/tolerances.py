"""Stored tolerances of a golden folder: computed, compared with what is stored, and written profile by profile.

A stored number that still holds is kept: sums differ between processors in their last bits, and where such a sum lies
at the border of two of the numbers that are stored, either is right.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case, canonical_json, run_attributes
from attnspec.cases.stored_tolerances import (
    FOLDER,
    FORMAT,
    SUFFIX,
    TOLERANCES,
    Ends,
    Grade,
    ProfileTolerances,
    StoredTolerances,
    compressed,
    grade_called,
    grade_name,
    in_steps,
    model_digest,
    packed,
    rounded_up,
    unpacked,
)
from attnspec.contract import CONVENTIONS, OPERATIONS, declarations
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import Choices
from attnspec.contract.dtypes import REFERENCE_DTYPE, rounded_to, to_run_dtype
from attnspec.contract.implementation import Outputs
from attnspec.grading import RIGHT, InInterval, Run, Values, in_interval, verdicts
from attnspec.grading.expectation import reference_outputs
from attnspec.grading.pull import computed_slopes
from attnspec.runner.changed_call import changed_run, expected_by_reference
from attnspec.runner.planning import prepare

if TYPE_CHECKING:
    from pathlib import Path

SLACK = 1e-9
"""Relative difference that sums in another order may make: far above any, and far below the 0.4 % of the rounding."""

STEP = 2.0**-8
"""Largest relative step from one number that is stored to the next: by so much a tolerance may be rounded up."""

FEW = 0.01
"""Share of an output's slopes that lie at the border of where they are straight, and may be silent elsewhere."""

Marks = Mapping[str, NDArray[np.bool_]]


class _Bounds(NamedTuple):
    """The part of a case's bounds that is stored: errors, marked elements, and conventions that would change them.

    `intervals` has the elements that an interval alone bounds, and its ends at these. `slopes` are those of an output
    in a direction. `changed` are the bounds of the case's call with one argument changed; `without_effect` has
    arguments, with dtypes, that may as well be left out.
    """

    grades: tuple[Grade, ...]
    errors: Mapping[tuple[str, Grade], NDArray[np.float64]]
    unspecified: Marks
    by_convention: Marks
    left_open: Mapping[Grade, Marks]
    intervals: Mapping[tuple[str, Grade], tuple[NDArray[np.bool_], NDArray[np.float64]]]
    sensitive_to: tuple[str, ...]
    slopes: Mapping[tuple[str, str], NDArray[np.float64]] = MappingProxyType({})
    without_effect: Mapping[str, Sequence[str]] = MappingProxyType({})
    changed: _Bounds | None = None


def tolerance_files(
    folder: Path, cases: Iterable[Case], digests: Mapping[str, str], *, anew: Callable[[Case], bool]
) -> dict[str, bytes]:
    """Return file name to content for the record of stored tolerances and the file of each profile.

    `digests` are those of the cases' files, by id. The stored bounds of a case are kept where its digest and that of
    the model are the present ones, or, where `anew` says that they are computed, where they hold.
    """
    by_profile: dict[str, list[Case]] = {}
    for case in cases:
        if case.expected is not None and not case.thinned:
            by_profile.setdefault(case.profile, []).append(case)
    is_same_model = _stored_model(folder) == model_digest()
    files: dict[str, bytes] = {}
    contents: dict[str, str] = {}
    for profile, of_profile in sorted(by_profile.items()):
        path = folder / FOLDER / f"{profile}{SUFFIX}"
        present = _content(path)
        stored = None if present is None else unpacked(present)
        written = _Written()
        for case in of_profile:
            known = _stored_bounds(stored, case, digests[case.id])
            if known is None or not is_same_model or anew(case):
                computed = _computed_bounds(case)
                known = known if known is not None and _hold(known, computed) else computed
            written.add(case, digests[case.id], known)
        content = written.content()
        files[f"{FOLDER}/{profile}{SUFFIX}"] = path.read_bytes() if content == present else compressed(content)
        contents[profile] = hashlib.sha256(content).hexdigest()
    record = canonical_json({"files": contents, "format": FORMAT, "model": model_digest()})
    return {TOLERANCES: record.encode(), **files}


def _stored_model(folder: Path) -> str | None:
    try:
        return json.loads((folder / TOLERANCES).read_bytes())["model"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _content(path: Path) -> bytes | None:
    try:
        return zlib.decompress(path.read_bytes())
    except (OSError, zlib.error):
        return None


def _stored_bounds(profile: ProfileTolerances | None, case: Case, digest: str) -> _Bounds | None:
    """Return the bounds of a case that a file holds; None where it holds none for this digest."""
    stored = None if profile is None else profile.of(case.id, digest, case.parts)
    if stored is None:
        return None
    changed = stored.of_changed_call(case.parts)
    return _read(stored)._replace(changed=None if changed is None else _read(changed))


def _read(stored: StoredTolerances) -> _Bounds:
    grades = tuple(map(grade_called, stored.entry["grades"]))
    keys = [(output, grade) for output in stored.entry["outputs"] for grade in grades]
    found = {key: stored.ends(*key) for key in keys}
    return _Bounds(
        grades,
        {key: stored.error(*key) for key in keys},
        stored.marks("unspecified"),
        stored.marks("by_convention"),
        {grade: marks for grade in grades if (marks := stored.marks("left_open", grade))},
        {key: (ends.elements, _ends_at(ends.elements, ends)) for key, ends in found.items() if ends is not None},
        tuple(stored.sensitive_to),
        {
            (direction, output): slope
            for direction, of_outputs in stored.entry.get("slopes", {}).items()
            for output in of_outputs
            if (slope := stored.slope(direction, output)) is not None
        },
        stored.without_effect,
    )


def _computed_bounds(case: Case) -> _Bounds:
    """Return the bounds of a case under the normative conventions, as the model computes them."""
    case = case._replace(stored_tolerances=None)
    normative = declarations.resolve_conventions({}, case.operation)
    runs = prepare(case, case.runs, normative)
    changed: dict[str, Run] = {}
    if case.changed_argument is not None:
        for dtype, run in runs.items():
            other = changed_run(run, case.changed_argument)
            follows = None if other is None else expected_by_reference(run, other.case)
            if follows is not None:
                changed |= prepare(follows, [dtype], normative)
    bounds = _bounds_of(runs, normative)._replace(
        slopes=_slopes_of(next(iter(runs.values()))), without_effect=_without_effect(case, runs)
    )
    return bounds._replace(changed=_bounds_of(changed, normative)) if changed else bounds


def _without_effect(case: Case, runs: Mapping[str, Run]) -> dict[str, Sequence[str]]:
    """Return the arguments that a case need not state, with the dtypes in which its golden values do not show them."""
    operation = OPERATIONS[case.operation]
    needed = {*operation.required_arguments, *operation.derived}
    names = [name for name in (*case.inputs, *case.attributes) if name not in needed]
    found = {name: [dtype for dtype, run in runs.items() if _is_right_without(run, name)] for name in names}
    return {name: dtypes for name, dtypes in sorted(found.items()) if dtypes}


def _is_right_without(run: Run, argument: str) -> bool:
    """Return whether what the reference gives without an argument is right; not where it refuses the call then."""
    case = run.case
    if argument in run.attributes and case.attributes[argument] == run.operation.defaults.get(argument):
        return True
    seen = {name: rounded_to(array, run.dtype) for name, array in case.inputs.items() if name != argument}
    stated = {name: value for name, value in case.attributes.items() if name != argument}
    try:
        outputs = reference_outputs(case.operation, seen, run_attributes(REFERENCE_DTYPE, stated))
    except (ValueError, TypeError):
        return False
    expected = case.golden(run.dtype)
    with np.errstate(over="ignore"):
        values = {
            name: to_run_dtype(np.asarray(array), run.dtype) for name, array in outputs.items() if name in expected
        }
    return verdicts.grade(run, Outputs(values)).status in RIGHT


def _bounds_of(runs: Mapping[str, Run], normative: Choices) -> _Bounds:
    """Return the bounds of a case's runs by dtype."""
    errors: dict[tuple[str, Grade], NDArray[np.float64]] = {}
    intervals: dict[tuple[str, Grade], tuple[NDArray[np.bool_], NDArray[np.float64]]] = {}
    left_open: dict[Grade, Marks] = {}
    unspecified: Marks = {}
    by_convention: Marks = {}
    for dtype, run in runs.items():
        assert isinstance(run.expected, Values)
        assert run.bound is not None
        for grade, index in (((dtype, False), run.bound_index), ((dtype, True), run.fused_index)):
            if index is None:
                continue
            for name, output in run.expected.outputs.items():
                error = run.bound.error(name, index)
                errors[name, grade] = np.broadcast_to(np.asarray(error, np.float64), output.shape)
                bounded = in_interval(run, run.expected, name, index)
                if bounded is not None:
                    intervals[name, grade] = bounded.elements, _ends_at(bounded.elements, bounded)
            if any(found.any() for found in run.expected.ungraded.values()):
                left_open[grade] = _whole(run.expected.ungraded, run)
        unspecified = _whole(run.bound.unspecified, run)
        by_convention = _whole(run.bound.by_convention, run)
    grades = tuple(dict.fromkeys(grade for _, grade in errors))
    names = sorted({name for name, _ in errors})
    errors = {(name, grade): errors[name, grade] for name in names for grade in grades}
    # In the order in which they are read again, so that the same bounds come to the same bytes.
    intervals = {key: intervals[key] for key in errors if key in intervals}
    left_open = {grade: left_open[grade] for grade in grades if grade in left_open}
    sensitive_to = tuple(_sensitive_to(runs, normative))
    return _Bounds(grades, errors, unspecified, by_convention, left_open, intervals, sensitive_to)


def _slopes_of(run: Run) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the slopes of a case's outputs, by direction and output."""
    assert isinstance(run.expected, Values)
    return {
        (direction, output): slope
        for direction, of_outputs in computed_slopes(run).items()
        for output, slope in of_outputs.items()
        if output in run.expected.outputs
    }


def _whole(marks: Marks, run: Run) -> Marks:
    """Return the marks of outputs that are expected, each in the shape of its output."""
    assert isinstance(run.expected, Values)
    outputs = run.expected.outputs
    return {name: np.broadcast_to(found, outputs[name].shape) for name, found in marks.items() if name in outputs}


def _ends_at(elements: NDArray[np.bool_], ends: Ends | InInterval) -> NDArray[np.float64]:
    """Return the lower ends of an interval at some elements, and behind them the upper ones."""
    return np.concatenate([np.asarray(end, np.float64)[elements] for end in (ends.lowest, ends.highest)])


def _sensitive_to(runs: Mapping[str, Run], normative: Choices) -> Iterator[str]:
    """Yield the conventions of which a choice changes what is expected, or the tolerances."""
    first = next(iter(runs.values()))
    for name in first.operation.conventions:
        if CONVENTIONS[name].settles is not Settles.RESULTS:
            continue
        others = [Choices({**normative, name: choice}) for choice in CONVENTIONS[name].choices[1:]]
        if first.case.inputs.keys() & set(first.family.changes_tolerance.get(name, ())) or any(
            _changes_expected(run, choices) for run in runs.values() for choices in others
        ):
            yield name


def _changes_expected(run: Run, choices: Choices) -> bool:
    """Return whether choices change the expected values of a run, the elements left open, or what is said of them."""
    expected = run.expected
    assert isinstance(expected, Values)
    assert run.bound is not None
    other = run.family.expected(dict(run.case.golden(run.dtype)), choices, run.bound, run.bound_index)
    if other.under:
        return True
    none = np.False_
    return not all(
        np.array_equal(array, expected.outputs[name], equal_nan=array.dtype.kind == "f")
        for name, array in other.outputs.items()
    ) or any(np.any(found != expected.ungraded.get(name, none)) for name, found in other.ungraded.items())


def _hold(stored: _Bounds, computed: _Bounds) -> bool:
    """Return whether stored bounds are those computed now, but for what another order of summing may change."""
    if stored.changed is None or computed.changed is None:
        same_changed = stored.changed is computed.changed
    else:
        same_changed = _hold(stored.changed, computed.changed)
    return (
        same_changed
        and stored.grades == computed.grades
        and stored.sensitive_to == computed.sensitive_to
        and stored.without_effect == computed.without_effect
        and stored.errors.keys() == computed.errors.keys()
        and all(_is_rounded_up(stored.errors[key], error) for key, error in computed.errors.items())
        and _same(stored.unspecified, computed.unspecified)
        and _same(stored.by_convention, computed.by_convention)
        and stored.left_open.keys() == computed.left_open.keys()
        and all(_same(stored.left_open[grade], marks) for grade, marks in computed.left_open.items())
        and stored.intervals.keys() == computed.intervals.keys()
        and all(
            np.array_equal(stored.intervals[key][0], elements)
            and np.allclose(stored.intervals[key][1], ends, rtol=SLACK, atol=0)
            for key, (elements, ends) in computed.intervals.items()
        )
        and stored.slopes.keys() == computed.slopes.keys()
        and all(_speak_alike(stored.slopes[key], slope) for key, slope in computed.slopes.items())
    )


def _speak_alike(stored: NDArray[np.float64], computed: NDArray[np.float64]) -> bool:
    """Return whether slopes are those computed now, within a step, but for few that may be silent on one side alone."""
    steps, step = in_steps(computed)
    silent = np.isnan(stored) | np.isnan(computed)
    return bool(
        np.all(silent | (np.abs(stored - steps * step) <= 1.5 * step))
        and np.count_nonzero(np.isnan(stored) != np.isnan(computed)) <= FEW * stored.size
    )


def _is_rounded_up(stored: NDArray[np.float64], computed: NDArray[np.float64]) -> bool:
    with np.errstate(all="ignore"):
        within = (stored >= computed * (1 - SLACK)) & (stored <= computed * (1 + STEP) * (1 + SLACK))
    return bool(np.all(within | (stored == computed) | (np.isnan(stored) & np.isnan(computed))))


def _same(stored: Marks, computed: Marks) -> bool:
    return stored.keys() == computed.keys() and all(np.array_equal(stored[name], computed[name]) for name in stored)


@dataclass
class _Written:
    """The bounds of a profile's cases, put one after the other."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    codes: list[NDArray[np.uint32]] = field(default_factory=list["NDArray[np.uint32]"])
    marks: list[NDArray[np.bool_]] = field(default_factory=list["NDArray[np.bool_]"])
    ends: list[NDArray[np.float64]] = field(default_factory=list["NDArray[np.float64]"])
    slopes: list[NDArray[np.int8]] = field(default_factory=list["NDArray[np.int8]"])
    _counts: Counter[str] = field(default_factory=Counter[str])

    def add(self, case: Case, digest: str, bounds: _Bounds) -> None:
        """Put the bounds of a case behind those of the cases before it."""
        entry = {"sha256": digest, **self._entry(bounds)}
        if bounds.without_effect:
            entry["without_effect"] = bounds.without_effect
        if bounds.changed is not None:
            entry["changed"] = self._entry(bounds.changed)
        self.entries[case.id] = entry

    def _entry(self, bounds: _Bounds) -> dict[str, Any]:
        """Return where the bounds of a case, or of its changed call, were put."""
        outputs: dict[str, tuple[int, tuple[int, ...]]] = {}
        for (name, _), error in bounds.errors.items():
            first = self._put("codes", rounded_up(error))
            outputs.setdefault(name, (first, error.shape))
        entry: dict[str, Any] = {
            "grades": [grade_name(grade) for grade in bounds.grades],
            "outputs": outputs,
            "sensitive_to": list(bounds.sensitive_to),
        }
        for kind, marks in (("unspecified", bounds.unspecified), ("by_convention", bounds.by_convention)):
            if marks:
                entry[kind] = self._put_marks(marks)
        if bounds.left_open:
            of_grades = bounds.left_open.items()
            entry["left_open"] = {grade_name(grade): self._put_marks(marks) for grade, marks in of_grades}
        for (name, grade), (elements, ends) in bounds.intervals.items():
            of_grade = entry.setdefault("in_interval", {}).setdefault(grade_name(grade), {})
            of_grade[name] = [self._put("marks", elements), self._put("ends", ends)]
        for (direction, name), slope in bounds.slopes.items():
            steps, step = in_steps(slope)
            entry.setdefault("slopes", {}).setdefault(direction, {})[name] = [self._put("slopes", steps), step]
        return entry

    def content(self) -> bytes:
        """Return the content of the profile's file."""
        empty = np.zeros(0)
        return packed(
            self.entries,
            np.concatenate([empty.astype(np.uint32), *self.codes]),
            np.concatenate([empty.astype(np.bool_), *self.marks]),
            np.concatenate([empty, *self.ends]),
            np.concatenate([empty.astype(np.int8), *self.slopes]),
        )

    def _put_marks(self, marks: Marks) -> dict[str, int]:
        return {name: self._put("marks", found) for name, found in sorted(marks.items())}

    def _put(self, kind: str, array: NDArray[Any]) -> int:
        """Put an array behind those of its kind; return where it begins."""
        first = self._counts[kind]
        getattr(self, kind).append(array.reshape(-1))
        self._counts[kind] += array.size
        return first
