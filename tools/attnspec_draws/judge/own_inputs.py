"""Whether a user's own inputs, compared by a fixed rule, could distinguish cheap wrong answers."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import UsageError
from attnspec.contract.dtypes import REFERENCE_DTYPE, is_float, rounded_to
from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.random_cases import random_cases_of, trivial_answers_of
from attnspec_draws.generators.trivial_answers import Answered
from attnspec_draws.judge.shapes import KINDS, OwnCheck, Shape

_SEED = 0
"""Any seed does: which trivial answers a rule lets pass hangs on the spread of the numbers alone."""


@dataclass(frozen=True)
class Passing:
    """Trivial answer that a rule takes for a right one, and its largest error."""

    name: str
    sentence: str
    largest_error: float


@dataclass(frozen=True)
class OwnCheckFound:
    """Power of a user's own check at a shape, as its user wrote it, and in a dtype.

    `wrong` counts the trivial answers that are wrong on such inputs; `passing` are those that the check lets pass.
    """

    check: OwnCheck
    shape: str
    dtype: str
    wrong: int
    passing: tuple[Passing, ...]

    def sentence(self) -> str:
        """Say what it is worth."""
        rule = f"Your own check ({self.check.numbers} numbers, atol {self.check.atol:g}, rtol {self.check.rtol:g})"
        if not self.passing:
            return f"{rule} would refuse all of {self.wrong} cheap wrong answers."
        named = "; ".join(passing.sentence for passing in self.passing)
        return (
            f"{rule} is too weak: it would take {len(self.passing)} of {self.wrong} wrong answers for right: {named}."
        )

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in a document."""
        return {
            "numbers": self.check.numbers,
            "atol": self.check.atol,
            "rtol": self.check.rtol,
            "shape": self.shape,
            "dtype": self.dtype,
            "wrong": self.wrong,
            "passing": [passing.name for passing in self.passing],
            "sentence": self.sentence(),
        }


def tried(check: OwnCheck, shape: Shape) -> OwnCheckFound:
    """Try a user's own check on trivial answers at a shape, in its first dtype.

    Drawn numbers have as few batch entries and heads as show each trivial answer: what passes in these passes in all.
    `UsageError` for an unreadable or unfit file of numbers, or optional inputs, which have no usual choice of numbers.
    """
    dtype = shape.dtypes[0]
    inputs = _read(check, shape) if check.numbers not in KINDS else _drawn(check, shape, dtype)
    try:
        wrong, passing = _trivial_answers(
            shape.operation, inputs, shape.attributes, dtype, check.atol, check.rtol, None
        )
    except ValueError as error:
        raise UsageError(f"{check.numbers}: {error}.") from None
    return OwnCheckFound(check, shape.text, dtype, wrong, passing)


def _drawn(check: OwnCheck, shape: Shape, dtype: str) -> dict[str, NDArray[Any]]:
    if shape.given:
        raise UsageError(
            f"own_check: there are no usual numbers for {', '.join(shape.given)} of {shape.text}; "
            "write the inputs into a .npz file, and name it as numbers."
        )
    generator = np.random.default_rng(_SEED)
    fill = generator.random if check.numbers == "uniform" else generator.standard_normal
    shapes = random_cases_of(shape.operation).with_few_heads(shape.operation, shape.shapes)
    return {name: rounded_to(fill(of), dtype) for name, of in shapes.items()}


def _read(check: OwnCheck, shape: Shape) -> dict[str, NDArray[Any]]:
    try:
        with np.load(Path(check.numbers)) as archive:
            inputs = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(f"own_check: {check.numbers} cannot be read ({error}).") from None
    for name, of in shape.shapes.items():
        if name not in inputs or inputs[name].shape != of:
            problem = f"has the shape {list(inputs[name].shape)}" if name in inputs else "is missing"
            raise UsageError(f"own_check: in {check.numbers}, {name} {problem}; {shape.text} needs {list(of)}.")
    return {name: inputs[name] for name in shape.shapes}


def passing_trivial_answers(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    *,
    atol: float,
    rtol: float,
    output: str | None = None,
) -> tuple[Passing, ...]:
    """Return the trivial answers that pass ``|answer - right| <= atol + rtol * |right|`` on given inputs, in float64.

    Left out are those that are right there, or err by rounding in the dtype of the inputs. `output` None means the
    operation's first; `ValueError` where inputs and attributes do not fit each other.
    """
    dtype = next((array.dtype.name for array in inputs.values() if is_float(array.dtype)), REFERENCE_DTYPE)
    return _trivial_answers(operation, inputs, attributes, dtype, atol, rtol, output)[1]


def _trivial_answers(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    dtype: str,
    atol: float,
    rtol: float,
    output: str | None,
) -> tuple[int, tuple[Passing, ...]]:
    """Return how many trivial answers are wrong, and those of them that pass."""
    wide = {name: array.astype(np.float64) if is_float(array.dtype) else array for name, array in inputs.items()}
    right = reference_outputs(operation, wide, attributes)
    name = output or next(iter(right))
    call = Answered(wide, attributes, right)
    wrong = 0
    found: list[Passing] = []
    for trivial_answer in trivial_answers_of(operation):
        if dtype not in trivial_answer.dtypes:
            continue
        with np.errstate(all="ignore"):
            answer = trivial_answer.answer(call).get(name)
        if answer is None or np.array_equal(answer, right[name], equal_nan=True):
            continue
        wrong += 1
        if np.allclose(answer, right[name], rtol=rtol, atol=atol, equal_nan=True):
            error = float(np.nanmax(np.abs(answer - right[name]), initial=0.0))
            found.append(Passing(trivial_answer.name, trivial_answer.sentence, error))
    return wrong, tuple(found)
