"""Cases of the playground: small golden cases as nested arrays, with tolerances, and fingerprints of mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case
from attnspec.contract import CONVENTIONS, OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.diagnosis.mistake_outputs import mistake_outputs
from attnspec.grading import Run
from attnspec.grading.one_rule import Bounded, bounded_outputs
from attnspec.runner import Resolved, planned_runs
from attnspec.targets import Declaration
from attnspec_mistakes import CATALOGUE, Mistake
from attnspec_mistakes.kill_matrix import noticed_cases
from attnspec_vectors.numbers_as_json import row

OPERATION, OUTPUT, DTYPE = "scaled_dot_product_attention", "output", "float64"
"""The operation and the output that the page grades, in the dtype of a number in JavaScript."""

ARGUMENTS = ("query", "key", "value", "mask")
OPTIONS = ("mask", "is_causal", "causal_alignment", "scale", "softcap", "window")
"""What a function may be given there: cases with any other argument are left out."""

ALWAYS_SHOWN = "core"
"""The profile whose cases are all taken, as far as the page can show them."""

ENOUGH = 4
"""Cases that notice each mistake, where there are as many: one case alone does not distinguish mistakes."""

OF_EACH_COMBINATION = 3
"""Cases with the very same options: a function that reads no other one is graded by these."""

LARGEST_CASE = 160
"""Numbers in the inputs of a case: the smallest half of them, among which every mistake of the page shows."""

_DIGITS = 11
_LEAST_APART = 1e-8
"""Difference of two fingerprints, relative to the sum of sizes, below which they are taken for equal.

Right ways to compute one output differ by less than a tenth of that, which is what the page takes for agreement.
"""

_OF_NAN, _OF_INFINITY = 12.345678, 23.456789
"""What stands in a fingerprint for numbers that cannot be added up: numbers that no case has."""

_STEPS = (0.6180339887498949, 0.41421356237309515)
"""Fractions of the golden ratio and of the root of 2, whose multiples fill the interval from 0 to 1 evenly."""


class Shown(NamedTuple):
    """A case as the page holds it: its run in float64, with a mask of four axes, and what is expected."""

    run: Run
    bounded: Bounded


class Fingerprint(NamedTuple):
    """Two sums by which an output is known again, the sum of all sizes, and its shape where that is not as expected."""

    sums: tuple[float, float]
    size: float
    other_shape: tuple[int, ...]

    def is_like(self, other: Fingerprint) -> bool:
        """Return whether two outputs are taken for the same."""
        apart = max(abs(one - another) for one, another in zip(self.sums, other.sums, strict=True))
        return self.other_shape == other.other_shape and apart <= _LEAST_APART * self.size

    def as_row(self) -> list[float]:
        """Return the sums, and behind them the other shape."""
        return [*(float(f"{number:.{_DIGITS}g}") for number in self.sums), *self.other_shape]


def playground_data(cases: Iterable[Case]) -> dict[str, Any]:
    """Return the data of the page, ready for JSON: cases, and the mistakes that they distinguish."""
    shown = [shown_case(case) for case in playground_cases(cases)]
    mistakes = _mistakes()
    prints = [_fingerprints(each, mistakes) for each in shown]
    named = {name for of_case in prints for name in of_case}
    return {
        "cases": [{**_as_json(each), "prints": of_case} for each, of_case in zip(shown, prints, strict=True)],
        "mistakes": {
            mistake.id: {
                "sentence": mistake.sentence,
                "remedy": mistake.remedy,
                "clause": mistake.clause,
                "convention": _convention(mistake),
            }
            for mistake in mistakes
            if mistake.id in named
        },
    }


def playground_cases(cases: Iterable[Case]) -> list[Case]:
    """Return the cases of the page, the simplest first: the core, and as many more as distinguish all mistakes."""
    fitting = {case.id: case for case in cases if _fits(case)}
    noticed = noticed_cases(OPERATION, DTYPE)
    noticing = {mistake.id: noticed.get(mistake.id, frozenset()) & fitting.keys() for mistake in _mistakes()}
    needed = {name: min(ENOUGH, len(found)) for name, found in noticing.items()}
    chosen: list[Case] = []

    def worth(case: Case) -> tuple[int, int, str]:
        return sum(needed[name] > 0 for name, found in noticing.items() if case.id in found), -case.size, case.id

    def choose(case: Case) -> None:
        chosen.append(fitting.pop(case.id))
        for name, found in noticing.items():
            needed[name] -= case.id in found

    for case in [case for case in fitting.values() if case.profile == ALWAYS_SHOWN]:
        choose(case)
    for options in sorted({_options(case) for case in fitting.values()}, key=sorted):
        alike = sorted((case for case in fitting.values() if _options(case) == options), key=worth)
        for case in alike[-OF_EACH_COMBINATION:]:
            choose(case)
    while fitting and any(count > 0 for count in needed.values()):
        choose(max(fitting.values(), key=worth))
    return sorted(chosen, key=lambda case: (len(case.inputs) + len(case.attributes), case.size, case.id))


def _options(case: Case) -> frozenset[str]:
    """Return the options of a case that differ from their default."""
    defaults = OPERATIONS[OPERATION].attributes
    stated = {name for name, value in case.attributes.items() if value != defaults[name]}
    return frozenset(stated | ({"mask"} & case.inputs.keys()))


def shown_case(case: Case) -> Shown:
    """Return a case as the page holds it."""
    declaration = Declaration("", None, "", tuple(OPERATIONS), (DTYPE,), {})
    (run,) = planned_runs(case, (DTYPE,), declaration, Resolved(declaration.conventions))
    inputs = dict(case.inputs)
    if "mask" in inputs:
        scores = (*case.shapes["query"][:3], case.shapes["key"][2])
        inputs["mask"] = np.broadcast_to(inputs["mask"], scores).copy()
    return Shown(run._replace(case=case._replace(inputs=inputs)), bounded_outputs(run)[OUTPUT])


def fingerprint(shown: Shown, output: NDArray[np.float64]) -> Fingerprint:
    """Return the fingerprint of an output; each number counts by a weight that depends on its index.

    Elements that are not graded count as 0.
    """
    graded = np.isfinite(shown.bounded.tolerance)
    is_as_expected = output.shape == graded.shape
    numbers = np.where(graded, output, 0) if is_as_expected else output
    finite = np.isfinite(numbers)
    counted = np.where(finite, numbers, np.where(np.isnan(numbers), _OF_NAN, np.sign(numbers) * _OF_INFINITY)).ravel()
    index = np.arange(counted.size)
    first, second = (float(np.sum(counted * (1 + index * step % 1))) for step in _STEPS)
    size = float(np.sum(np.where(finite, np.abs(numbers), 1)))
    return Fingerprint((first, second), size, () if is_as_expected else output.shape)


def _fits(case: Case) -> bool:
    """Return whether the page can show a case: finite inputs, of which nested arrays have the whole shape."""
    return (
        case.operation == OPERATION
        and case.expected is not None
        and DTYPE in case.dtypes
        and case.inputs.keys() <= {*ARGUMENTS}
        and case.attributes.keys() <= {*OPTIONS}
        and not (case.memory_order or case.changed_argument or case.properties or case.sample)
        and case.size <= LARGEST_CASE
        and all(0 not in shape for shape in case.shapes.values())
        # Minus infinity in a mask excludes a key.
        and all(
            np.all(np.isfinite(array) | (array == (-np.inf if name == "mask" else 0)))
            for name, array in case.inputs.items()
        )
    )


def _mistakes() -> Sequence[Mistake]:
    """Return the mistakes that one call can show, called as the page calls."""
    return [each for each in CATALOGUE if each.operation == OPERATION and not each.in_layout and each.begin is None]


def _convention(mistake: Mistake) -> str | None:
    """Return the convention that a mistake is about, under which good libraries do as it does; None for most."""
    name = mistake.clause.split(".")[1]
    return name if name in CONVENTIONS and CONVENTIONS[name].settles is Settles.RESULTS else None


def _fingerprints(shown: Shown, mistakes: Iterable[Mistake]) -> dict[str, list[list[float]]]:
    """Return the fingerprints of all mistakes that a case notices, each in the ways that give numbers of their own."""
    noticed = noticed_cases(OPERATION, DTYPE)
    expected = shown.bounded.expected
    # What a function without any other mistake gives belongs to none.
    right = [fingerprint(shown, expected), fingerprint(shown, _without_guard(expected))]
    found: dict[str, list[list[float]]] = {}
    for mistake in mistakes:
        if shown.run.case.id not in noticed.get(mistake.id, ()):
            continue
        ways: list[Fingerprint] = []
        for output in _outputs(shown, mistake):
            for number, way in enumerate((output, _without_guard(output))):
                given = fingerprint(shown, way)
                if not any(map(given.is_like, [*right[: number + 1], *ways])):
                    ways.append(given)
        if ways:
            found[mistake.id] = [each.as_row() for each in ways]
    return found


def _outputs(shown: Shown, mistake: Mistake) -> Iterator[NDArray[np.float64]]:
    """Give what a mistake computes, also in its other ways, such as other tiles."""
    for way in (mistake, *mistake.in_other_ways()):
        outputs = mistake_outputs(way, shown.run)
        if outputs is not None and OUTPUT in outputs:
            yield outputs[OUTPUT].astype(np.float64)


def _without_guard(output: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return NaN for each query whose weights sum to 0: most functions divide by the sum without looking."""
    return np.where((output == 0).all(axis=-1, keepdims=True), np.nan, output)


def _as_json(shown: Shown) -> dict[str, Any]:
    case, bounded = shown.run.case, shown.bounded
    return {
        "id": case.id,
        "targets": case.targets,
        "options": dict(case.attributes),
        "inputs": {name: _tensor(array) for name, array in case.inputs.items()},
        "expected": _tensor(bounded.expected),
        "tolerance": row(bounded.tolerance),
    }


def _tensor(array: NDArray[Any]) -> Mapping[str, Any]:
    shape = list(array.shape)
    return {"shape": shape, "data": row(array), **({"truth": True} if array.dtype.kind == "b" else {})}
