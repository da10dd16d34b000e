"""Batch invariance: whether results have the same bits in another batch, and where queries are called by themselves.

The contract says which cases are called in which parts; each part is compared with the first answer to the whole.
Where the property is declared and does not hold, the run as a whole fails; else it is measured in one dtype of a case.
What steps of a decoder gave is summed up with it: nobody need declare that these give what one pass gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract import CALLED_IN_PARTS, OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import CHOICES, conventions_settling
from attnspec.contract.dtypes import FLOAT_DTYPES, is_float
from attnspec.contract.implementation import Declined, Outputs
from attnspec.families.lookup import lacking_capability
from attnspec.families.parts import OF_ENTRIES, length_along, position_of_axis
from attnspec.grading import INVARIANCE, RIGHT, STATE, Run, Values, grade, left_open
from attnspec.runner.of_run import failure_of_run
from attnspec.runner.planning import Resolved
from attnspec.runner.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.families.record import Arrays, Part
    from attnspec.grading.verdicts import PartCompared
    from attnspec.runner.session import Session

_PROPERTIES = ("entries", "queries")
"""What is declared, by one choice of the convention more than by the one before: of entries, and of queries, too."""

_FAR = math.inf
"""Units in the last digit between a number and none, and between answers of other shapes or dtypes."""

_COUNTED = 1e6
"""Units in the last digit that are written out; more are another number, and no rounding."""


@dataclass(frozen=True)
class Invariance:
    """Measurement of a property, of entries, queries or state, over the results of an operation in a dtype.

    Of `calls` of parts, `differing` gave other bits than the whole, by up to `units` in the last digit; `sentence` says
    where they were furthest apart, without an end, and is empty where none differed.
    """

    operation: str
    dtype: str
    of: str
    calls: int
    differing: int
    units: float
    sentence: str
    is_declared: bool

    @property
    def is_wrong(self) -> bool:
        """Whether it is declared and does not hold."""
        return self.is_declared and self.differing > 0

    @property
    def id(self) -> str:
        """The id under which it stands in reports and baselines, as if it were a case."""
        return f"{STATE}/{self.operation}" if self.of == STATE else f"{INVARIANCE}/{self.operation}/{self.of}"


def call_in_parts(result: Result, session: Session) -> Result:
    """Call a case in the parts of its family, and keep with the verdict how far each is from the whole: a `Check`."""
    run = result.run
    kinds = CALLED_IN_PARTS.get(run.case.id)
    if kinds is None or result.verdict.status not in RIGHT or result.got is None:
        return result
    declared = _declared(run.conventions)
    if not declared and not session.is_in_first_dtype(run):
        return result
    found: list[PartCompared] = []
    for part in run.family.parts(run.case, kinds, run.conventions):
        of_part = run._replace(case=run.case._replace(inputs=part.inputs, memory_order={}))
        if lacking_capability(of_part.case, session.implementation.declaration.without):
            continue
        answer, _ = session.call(of_part, "part", run)
        if isinstance(answer, Outputs):
            found.append((part.kind, *_furthest(run, part, result.got, answer.values)))
        elif _property_of(part.kind) in declared and not isinstance(answer, Declined):
            found.append((part.kind, _FAR, f"{part.sentence} {grade(of_part, answer).message}"))
    return result._replace(verdict=result.verdict._replace(parts=tuple(found))) if found else result


def _declared(conventions: Mapping[str, str]) -> Sequence[str]:
    (name,) = conventions_settling(Settles.BATCHES)
    return _PROPERTIES[: CHOICES[name].index(conventions[name])]


def _property_of(kind: str) -> str:
    return STATE if kind == STATE else _PROPERTIES[kind not in OF_ENTRIES]


def _furthest(run: Run, part: Part, whole: Arrays, got: Arrays) -> tuple[float, str]:
    """Return by how many units in the last digit a part is furthest from the whole, and where; 0 and nothing if equal.

    A result that differs is named before a step that differs, however far.
    """
    furthest: tuple[bool, float, str] = (False, 0.0, "")
    for name in run.operation.computed_in_order:
        for axis, (there, here) in part.elements.items():
            shape = whole[name].shape if name in whole and name in got else ()
            position = position_of_axis(run.operation.name, name, shape, axis)
            # Gradients of a mask are sums over the axes that it lacks.
            if position is None or shape[position] != length_along(run.case, axis):
                continue
            units = _units_apart(whole[name], got[name], position, there, here)
            if units is None:
                return _FAR, f"{name} of {part.sentence} has the shape {got[name].shape} in {got[name].dtype}"
            # Most parts have the bits of the whole, so that few elements are looked up.
            if not units.any():
                continue
            if isinstance(run.expected, Values) and (open_elements := left_open(run, run.expected, name)) is not None:
                units[np.take(np.broadcast_to(open_elements, shape), there, axis=position)] = 0
            rank = not run.operation.outputs_by_name[name].intermediate, float(units.max())
            if rank[1] > 0 and rank > furthest[:2]:
                furthest = *rank, _element(name, part, whole[name], got[name], units, position)
    return furthest[1:]


def _units_apart(
    whole: NDArray[Any], got: NDArray[Any], axis: int, there: Sequence[int], here: Sequence[int]
) -> NDArray[Any] | None:
    """Return by how many units in the last digit elements differ; None where arrays are of other shapes or dtypes."""
    first = np.take(whole, there, axis=axis)
    if got.dtype != whole.dtype or got.ndim != whole.ndim or got.shape[axis] <= max(here):
        return None
    second = np.take(got, here, axis=axis)
    return units_in_the_last_digit(first, second) if first.shape == second.shape else None


def units_in_the_last_digit(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return how many steps from number to number lie between elements: 0 for equal bits, and for NaN beside NaN."""
    if first.tobytes() == second.tobytes():
        return np.zeros(first.shape)
    if not is_float(first.dtype):
        return np.where(first == second, 0.0, _FAR)
    word = np.dtype(f"u{first.itemsize}")
    sign = word.type(1 << 8 * first.itemsize - 1)
    bits = [np.ascontiguousarray(array).view(word) for array in (first, second)]
    # In this order of whole numbers, neighbours are neighbours, and the negative zero comes before the other.
    low, high = (np.where(array & sign, ~array, array | sign) for array in bits)
    units = (np.maximum(low, high) - np.minimum(low, high)).astype(np.float64)
    of_first, of_second = np.isnan(first), np.isnan(second)
    units[(np.isfinite(first) != np.isfinite(second)) | (of_first != of_second)] = _FAR
    units[of_first & of_second] = 0
    return units


def _element(name: str, part: Part, whole: NDArray[Any], got: NDArray[Any], units: NDArray[Any], axis: int) -> str:
    """Return the element that is furthest apart, by its index in the whole call, with both numbers."""
    index = [int(number) for number in np.unravel_index(int(units.argmax()), units.shape)]
    ((there, here),) = part.elements.values()
    in_whole, in_part, apart = [*index], [*index], float(units.max())
    in_whole[axis], in_part[axis] = there[index[axis]], here[index[axis]]
    said = (
        f"{name}{in_whole} of {part.sentence} is {got[tuple(in_part)]}, and {whole[tuple(in_whole)]} in the whole call"
    )
    if not math.isfinite(apart):
        return said
    number = f"{apart:.0f}" if apart < _COUNTED else f"{apart:.1e}"
    return f"{said}, {number} {'unit' if apart == 1 else 'units'} in the last digit apart"


def measured_invariance(results: Iterable[Result], resolved: Resolved) -> tuple[Invariance, ...]:
    """Return what was measured of each property, by operation, dtype and property."""
    found: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    declared: dict[tuple[str, str, str], bool] = {}
    for result in results:
        for kind, units, sentence in result.verdict.parts:
            key = (result.case.operation, result.dtype, _property_of(kind))
            found.setdefault(key, []).append((units, f"{result.case.id}, {sentence}" if sentence else ""))
            declared[key] = (
                declared.get(key, False)
                or kind == STATE
                or key[2] in _declared(resolved.choices_of_run(result.case, result.dtype))
            )

    def order(operation: str, dtype: str, of: str) -> tuple[int, int, str]:
        return [*OPERATIONS].index(operation), FLOAT_DTYPES.index(dtype), of

    return tuple(
        Invariance(
            *key,
            calls=len(parts),
            differing=sum(units > 0 for units, _ in parts),
            units=max(units for units, _ in parts),
            sentence=max(parts, key=lambda part: part[0])[1],
            is_declared=declared[key],
        )
        for key, parts in sorted(found.items(), key=lambda entry: order(*entry[0]))
    )


def invariance_failures(measured: Iterable[Invariance]) -> tuple[Result, ...]:
    """Return a wrong result for each property that is declared, or demanded of all, and does not hold."""
    failures: list[Result] = []
    for each in measured:
        if not each.is_wrong:
            continue
        name, count = OPERATIONS[each.operation].short_name, f"{each.differing} of {each.calls}"
        if each.of == STATE:
            title, clause = "A decoder that goes on from what it kept", f"{name}.{STATE}.steps"
            said = f"{count} cases that are called in steps do not give what one pass gives"
        else:
            title, clause = f"The same bits in another batch: {each.of}", f"{name}.{INVARIANCE}.{each.of}"
            said = f"{count} calls of a part of a case have other bits than the whole call"
        message = f"{said}: {each.sentence}"
        failures.append(failure_of_run(each.operation, each.id, title, clause, each.dtype, message))
    return tuple(failures)
