"""What goes wrong where states are merged that do not fit together: one input is not held against the others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.merge_states import merge_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_reference.attention.merge_states import MergedStates
    from attnspec_reference.precision import Array


def fitted(name: str, like: str, *axes: int) -> Callable[..., MergedStates]:
    """Make a merge that repeats or cuts some axes of an input until they are as long as those of another."""

    def merge(**arguments: Any) -> MergedStates:
        array: Array = np.asarray(arguments[name])
        due = np.shape(arguments[like])
        for axis in axes:
            if axis < min(array.ndim, len(due)):
                array = array.take(np.minimum(np.arange(int(due[axis])), array.shape[axis] - 1), axis=axis)
        return merge_states(**{**arguments, name: array})

    return merge


mistake = partial(Mistake, operation="merge_states")

MISTAKES: tuple[Mistake, ...] = (
    *(
        mistake(
            id=f"merge.{side}_logarithm_unchecked",
            clause="merge.rejects.logsumexp",
            sentence=f"A {side} logarithm of other rows than those of the outputs was read as if it fitted.",
            engineer="The shapes of the outputs alone are checked, and rows are addressed by theirs.",
            remedy="Refuse a logarithm whose shape is not that of the outputs without their features.",
            function=fitted(name, "output_a", 0, 1, 2),
        )
        for side, name in (("first", "logsumexp_a"), ("second", "logsumexp_b"))
    ),
    *(
        mistake(
            id=f"merge.{side}_output_unchecked",
            clause="merge.rejects.outputs",
            sentence=f"A {side} output of another shape than the other one was read as if it fitted.",
            engineer="One output alone says how many rows and features there are.",
            remedy="Refuse outputs of different shapes.",
            function=fitted(name, other, 0, 1, 2, 3),
        )
        for side, name, other in (("first", "output_a", "output_b"), ("second", "output_b", "output_a"))
    ),
)
"""What goes wrong with the refusals of merged states, one input at a time."""
