"""Impostors: wrong answers that are cheap to give, and what those of any operation are made of."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.contract.dtypes import FLOAT_DTYPES, follows_run
from attnspec.grading.reference_answers import reference_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

Outputs = dict[str, "NDArray[Any]"]

PRECISE = ("float64", "float32")
"""Dtypes in which an error of a hundredth or a thousandth is no rounding."""


class Answered(NamedTuple):
    """A call, with what an impostor may make its answer of.

    Attributes
    ----------
    inputs, attributes
        What is called with; floats in float64.
    right
        Output name to the right answer.
    before
        Output name to what was right for the call before; empty where there was none.
    """

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    right: Mapping[str, NDArray[Any]]
    before: Mapping[str, NDArray[Any]] = MappingProxyType({})


class Part(NamedTuple):
    """A part of a large case, small enough to be answered whole.

    Attributes
    ----------
    inputs, attributes
        What is called with; floats in float64.
    places, elements
        Output name to the elements of its sample that lie in the part, and to where each of them stands in the answer
        to the part, flat.
    """

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    places: Mapping[str, NDArray[np.int64]]
    elements: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True)
class TrivialAnswer:
    """A wrong answer that is cheap to give. Who holds answers to a set of inputs should know that it would be noticed.

    Attributes
    ----------
    name
        Its name, of words joined by underscores.
    sentence
        What it answers, in words: the rest of a sentence that begins with "It answers with".
    answer
        Given a call: output name to what it gives. Outputs that it leaves out are taken to be right; it gives none at
        all where it has no answer of its own. Where it does not apply, it gives what is right.
    dtypes
        The dtypes of runs in which it is wrong by more than rounding.
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
