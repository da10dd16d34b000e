"""Impostors: wrong answers that are cheap to give, and what those of any operation are made of."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.contract.dtypes import FLOAT_DTYPES, follows_run
from attnspec.grading.expectation import reference_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

Outputs = dict[str, "NDArray[Any]"]

PRECISE = ("float64", "float32")
"""Dtypes in which an error of a hundredth or a thousandth is no rounding."""


class Answered(NamedTuple):
    """Call from which a trivial answer is made; floats in float64, `right` by output name.

    `before` is the right answer to the previous call; empty where there was none.
    """

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    right: Mapping[str, NDArray[Any]]
    before: Mapping[str, NDArray[Any]] = MappingProxyType({})


class Part(NamedTuple):
    """Part of a large case, small enough to be answered whole; floats in float64.

    By output name, `places` are the sample's elements that lie in the part, `elements` their flat index in its answer.
    """

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    places: Mapping[str, NDArray[np.int64]]
    elements: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True)
class TrivialAnswer:
    """Trivial answer: wrong and cheap to give; a set of expected answers should be known to expose it.

    Attributes
    ----------
    name
        Its name, of words joined by underscores.
    sentence
        Rest of a sentence that begins with "It answers with".
    answer
        Takes a call; gives its answer by output name. Outputs that it leaves out are taken to be right; it gives none
        at all where it has no answer of its own, and the right one where it does not apply.
    dtypes
        Dtypes of runs in which it is wrong by more than rounding.
    """

    name: str
    sentence: str
    answer: Callable[[Answered], Mapping[str, NDArray[Any]]]
    dtypes: tuple[str, ...] = FLOAT_DTYPES


def answer_of(
    operation: str, names: Sequence[str], inputs: Mapping[str, Any], attributes: Mapping[str, Any]
) -> Outputs:
    """Return some outputs of the reference for a call; inputs and attributes that are None are left out."""
    given = {name: array for name, array in inputs.items() if array is not None}
    stated = {name: value for name, value in attributes.items() if value is not None}
    answered = reference_outputs(operation, given, stated)
    return {name: answered[name] for name in names if name in answered}


def zeros(call: Answered, names: Sequence[str]) -> Outputs:
    """Return zeros for some outputs."""
    return {name: np.zeros_like(call.right[name]) for name in names}


def moved(call: Answered, names: Sequence[str], axis: int) -> Outputs:
    """Return the right outputs, moved on by one along an axis."""
    return {name: np.roll(call.right[name], 1, axis) for name in names}


def of_the_call_before(call: Answered, names: Sequence[str]) -> Outputs:
    """Return the outputs of the call before: as much of their memory as is needed, again and again if it ends."""
    if not call.before:
        return {}
    return {
        name: np.resize(call.before[name], call.right[name].shape) if call.before[name].size else call.right[name]
        for name in names
    }


def in_half_precision(inputs: Mapping[str, NDArray[Any]]) -> Outputs:
    """Return inputs in float16, where they are in the dtype of the run."""
    return {name: array.astype(np.float16) if follows_run(array) else array for name, array in inputs.items()}
