"""Trivial answers: wrong answers that are cheap to give, and the forms that those of all operations share."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES, follows_run
from attnspec.grading.expectation import reference_outputs

Outputs: TypeAlias = dict[str, NDArray[Any]]
Answer: TypeAlias = Callable[["Answered"], Mapping[str, NDArray[Any]]]

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

    By output name, `positions` are the sample's elements that lie in the part, `elements` their flat index in it.
    """

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    positions: Mapping[str, NDArray[np.int64]]
    elements: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True)
class TrivialAnswer:
    """Trivial answer: wrong and cheap to give; a set of expected answers should be known to expose it.

    `name` is of words joined by underscores; `sentence` the rest of one that begins with "It answers with". `answer`
    takes a call and gives its answer by output name: outputs that it leaves out are taken to be right; it gives none
    where it has no answer of its own, and the right one where it does not apply. `dtypes` are those of runs in which it
    is wrong by more than rounding.
    """

    name: str
    sentence: str
    answer: Answer
    dtypes: tuple[str, ...] = FLOAT_DTYPES


@dataclass(frozen=True)
class Forms:
    """Forms of trivial answers that operations share, for some `outputs` of one `operation`."""

    operation: str
    outputs: tuple[str, ...]

    def answer(self, call: Answered, **changed: Any) -> Outputs:
        """Return what the reference gives for other arguments; those that are None are left out."""
        attributes = OPERATIONS[self.operation].attributes
        arguments = {**call.inputs, **call.attributes, **changed}
        stated = {name: value for name, value in arguments.items() if value is not None}
        answered = reference_outputs(
            self.operation,
            {name: array for name, array in stated.items() if name not in attributes},
            {name: value for name, value in stated.items() if name in attributes},
        )
        return {name: answered[name] for name in self.outputs if name in answered}

    def changed(self, **changed: Any) -> Answer:
        """Return the trivial answer for arguments that are always the same."""
        return lambda call: self.answer(call, **changed)

    def without(self, *arguments: str) -> Answer:
        """Return the trivial answer that does not look at some arguments: right where a call has none of them."""

        def answer(call: Answered) -> Outputs:
            lacks = {*arguments}.isdisjoint((*call.inputs, *call.attributes))
            return dict(call.right) if lacks else self.answer(call, **dict.fromkeys(arguments))

        return answer

    def moved(self, axis: int) -> Answer:
        """Return the trivial answer of right outputs that are moved on by one along an axis."""
        return lambda call: {name: np.roll(call.right[name], 1, axis) for name in self._given(call)}

    def zeros(self, call: Answered) -> Outputs:
        """Return zeros."""
        return {name: np.zeros_like(call.right[name]) for name in self._given(call)}

    def half_precision(self, call: Answered) -> Outputs:
        """Return what the reference gives for inputs that were rounded to float16."""
        return self.answer(call, **in_half_precision(call.inputs))

    def previous(self, call: Answered) -> Outputs:
        """Return the outputs of the call before: as much of their memory as is needed, again and again if it ends."""
        if not call.before:
            return {}
        return {
            name: np.resize(call.before[name], call.right[name].shape) if call.before[name].size else call.right[name]
            for name in self._given(call)
            if name in call.before
        }

    def _given(self, call: Answered) -> tuple[str, ...]:
        """Return the outputs that a call has: some come with an optional input."""
        return tuple(name for name in self.outputs if name in call.right)

    def listed(
        self, answers: Mapping[str, Answer], precise: tuple[str, ...] = ("half_precision",)
    ) -> tuple[TrivialAnswer, ...]:
        """Return zeros, some answers by name, and that to the call before; `precise` are wrong in `PRECISE` alone.

        ``trivial_answers.json`` has their sentences; `ValueError` where it has one for others.
        """
        every = {"zeros": self.zeros, **answers, "previous_answer": self.previous}
        sentences = _sentences()[self.operation]
        if sentences.keys() != every.keys():
            alone = ", ".join(sorted(sentences.keys() ^ every.keys()))
            raise ValueError(f"{self.operation}: give {alone} both an answer and a sentence in trivial_answers.json.")
        return tuple(
            TrivialAnswer(name, sentences[name], answer, PRECISE if name in precise else FLOAT_DTYPES)
            for name, answer in every.items()
        )


@cache
def _sentences() -> dict[str, dict[str, str]]:
    """Return the sentence of each trivial answer, by operation and name."""
    return json.loads(Path(__file__).with_suffix(".json").read_bytes())


def in_half_precision(inputs: Mapping[str, NDArray[Any]]) -> Outputs:
    """Return inputs in float16, where they are in the dtype of the run."""
    return {name: array.astype(np.float16) if follows_run(array) else array for name, array in inputs.items()}
