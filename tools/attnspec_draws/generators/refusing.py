"""Inputs of which one has another shape, or arguments of which one has another value, so that they must be refused."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.words import Words

REFUSED = "refused"
"""The word for a case that must be refused."""

TWICE = "refused_twice"
"""The word for one of which two inputs have another shape."""

_REFUSED = 4
"""Of a hundred draws, in how many an input is given another shape."""

_TWICE = 30
"""Of a hundred of these, in how many another input is changed likewise: their errors may make up for each other."""

_OF_AN_AXIS = {"longer": 3, "shorter": 3, "single": 3, "swapped": 2}
_OF_THE_RANK = {"in_front": 2, "behind": 2, "first": 1}
"""Ways to spoil the input, with weights."""

_NEW_AXIS = ("in_front", "behind")


@dataclass(frozen=True)
class Refusals:
    """Clauses by which another shape of an input is refused: of each axis, from the front, and of the rank.

    None for an axis that may have any length, and where no clause refuses the rank.
    """

    axes: tuple[str | None, ...] = ()
    rank: str | None = None


def malformed(words: Words, drawn: Drawn, refusals: Mapping[str, Refusals], limits: Limits) -> Drawn | None:
    """Give one input of a valid case another shape, leave out a needed argument, or, for most draws, return None.

    Whether that must be refused is not known yet: a length may fit by chance.
    """
    stream = words.of(REFUSED)
    names = [name for name in refusals if name in drawn.inputs] or sorted(drawn.needed)
    if not stream.percent(_REFUSED) or not names or drawn.sample or not limits.allow(REFUSED):
        return None
    name, change = stream.one_of(names), stream.weighted(_OF_AN_AXIS | _OF_THE_RANK)
    if name in drawn.needed:
        attributes = {other: value for other, value in drawn.attributes.items() if other != name}
        return refused(drawn, drawn.needed[name], attributes=attributes)
    array = drawn.inputs[name]
    axis = stream.below(max(array.ndim, 1))
    clause = _clause(refusals[name], change, axis, array.ndim)
    changed = _reshaped(array, change, axis, limits)
    if clause is None or changed is None:
        return None
    others = [other for other in names if other != name]
    another = _another(words, drawn, others, change, axis, limits)
    features = (*drawn.features, TWICE) if another else drawn.features
    return refused(drawn, clause, inputs={**drawn.inputs, name: changed, **another}, features=features)


def _another(
    words: Words, drawn: Drawn, names: Sequence[str], change: str, axis: int, limits: Limits
) -> dict[str, NDArray[Any]]:
    """Give another input another shape in the same way, or, for most draws, none."""
    stream = words.of(TWICE)
    if not stream.percent(_TWICE) or not names or not limits.allow(TWICE):
        return {}
    name = stream.one_of(names)
    changed = _reshaped(drawn.inputs[name], change, axis, limits)
    # Two inputs without features may fit each other, and the page says nothing of them.
    return {} if changed is None or not changed.size else {name: changed}


def _reshaped(array: NDArray[Any], change: str, axis: int, limits: Limits) -> NDArray[Any] | None:
    """Return an array of another shape; None where the change would make it too large, or is none."""
    if not array.size or (not array.ndim and change not in _NEW_AXIS) or axis >= max(array.ndim, 1):
        return None
    changed = _CHANGED[change](array, axis)
    return None if changed.shape == array.shape or changed.size > limits.elements else changed


def refused(drawn: Drawn, clause: str, **changed: Any) -> Drawn:
    """Return what was drawn with some of its fields changed, so that it must be refused by a clause."""
    features = (*changed.pop("features", drawn.features), REFUSED)
    plain: dict[str, Any] = {"conventions": (), "memory_order": {}, "changed": None}
    return replace(drawn, features=features, clauses=(clause,), is_refused=True, **plain, **changed)


def _clause(refusals: Refusals, change: str, axis: int, rank: int) -> str | None:
    if change in _OF_THE_RANK:
        return refusals.rank
    if len(refusals.axes) == 1:
        return refusals.axes[0]
    own = refusals.axes[axis] if axis < len(refusals.axes) else None
    if change != "swapped" or own is not None:
        return own
    following = (axis + 1) % rank
    return refusals.axes[following] if following < len(refusals.axes) else None


_CHANGED: Mapping[str, Callable[[NDArray[Any], int], NDArray[Any]]] = {
    "longer": lambda array, axis: np.concatenate([array, array.take([-1], axis=axis)], axis=axis),
    "shorter": lambda array, axis: array[(slice(None),) * axis + (slice(None, -1),)],
    "single": lambda array, axis: array.take([0], axis=axis),
    "swapped": lambda array, axis: np.ascontiguousarray(array.swapaxes(axis, (axis + 1) % array.ndim)),
    "in_front": lambda array, _: array[np.newaxis],
    "behind": lambda array, _: array[..., np.newaxis],
    "first": lambda array, _: np.asarray(array[0]),
}
"""How an array gets another shape."""

_MISFIT = 3
"""Of a hundred draws, in how many an argument is given another value."""


@dataclass(frozen=True)
class Misfit:
    """Argument, and the values of it that a clause refuses.

    `values` makes them from a valid draw; none where that lacks what they would not fit.
    """

    argument: str
    clause: str
    values: Callable[[Drawn], Sequence[Any]]


def of_another_value(words: Words, drawn: Drawn, misfits: Sequence[Misfit], limits: Limits) -> Drawn | None:
    """Give one argument of a valid case a value that must be refused, or, for most draws, return None.

    Whether the page refuses the result is not known yet: a parameter may be one that is not used.
    """
    stream = words.of("misfit")
    if not stream.percent(_MISFIT) or drawn.sample or not limits.allow(REFUSED):
        return None
    choices = [(misfit, values) for misfit in misfits if (values := misfit.values(drawn))]
    if not choices:
        return None
    misfit, values = stream.one_of(choices)
    value = stream.one_of(values)
    if misfit.argument in drawn.inputs:
        return refused(drawn, misfit.clause, inputs={**drawn.inputs, misfit.argument: value})
    return refused(drawn, misfit.clause, attributes={**drawn.attributes, misfit.argument: value})
