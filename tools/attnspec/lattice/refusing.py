"""Inputs of which one has another shape, so that they must be refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec.lattice.drawn import Drawn
    from attnspec.lattice.limits import Limits
    from attnspec.lattice.words import Words

REFUSED = "refused"
"""The word for a case that must be refused."""

_REFUSED = 4
"""Of a hundred draws, in how many an input is given another shape."""

_OF_AN_AXIS = {"longer": 3, "shorter": 3, "single": 3, "swapped": 2}
_OF_THE_RANK = {"in_front": 2, "behind": 2, "first": 1}
"""What is done to the input, with weights."""

_NEW_AXIS = ("in_front", "behind")


@dataclass(frozen=True)
class Refusals:
    """The clauses of the page by which another shape of an input is refused.

    Attributes
    ----------
    axes
        The clause of each axis, from the front; None for an axis that may have any length.
    rank
        The clause of the rank; None where there is none.
    """

    axes: tuple[str | None, ...] = ()
    rank: str | None = None


def malformed(words: Words, drawn: Drawn, refusals: Mapping[str, Refusals], limits: Limits) -> Drawn | None:
    """Give one input of a case another shape, leave away what it needs, or, for most draws, return None.

    Whether what comes of it must be refused is not known yet: a length may fit by chance.

    Parameters
    ----------
    words
        The streams of the draw.
    drawn
        The case as it is right.
    refusals
        Input name to the clauses by which other shapes of it are refused.
    limits
        What the draw keeps to.
    """
    stream = words.of(REFUSED)
    names = [name for name in refusals if name in drawn.inputs] or sorted(drawn.needed)
    if not stream.percent(_REFUSED) or not names or drawn.sample or not limits.allow(REFUSED):
        return None
    name, change = stream.one_of(names), stream.weighted(_OF_AN_AXIS | _OF_THE_RANK)
    if name in drawn.needed:
        attributes = {other: value for other, value in drawn.attributes.items() if other != name}
        return _refused(drawn, drawn.needed[name], attributes=attributes)
    array = drawn.inputs[name]
    axis = stream.below(max(array.ndim, 1))
    clause = _clause(refusals[name], change, axis, array.ndim)
    if clause is None or not array.size or (not array.ndim and change not in _NEW_AXIS):
        return None
    changed = _CHANGED[change](array, axis)
    if changed.shape == array.shape or changed.size > limits.elements:
        return None
    return _refused(drawn, clause, inputs={**drawn.inputs, name: changed})


def _refused(drawn: Drawn, clause: str, **changed: Any) -> Drawn:
    return replace(
        drawn,
        **changed,
        features=(*drawn.features, REFUSED),
        clauses=(clause,),
        conventions=(),
        presentation={},
        is_refused=True,
        changed=None,
    )


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


def _longer(array: NDArray[Any], axis: int) -> NDArray[Any]:
    return np.concatenate([array, array.take([-1], axis=axis)], axis=axis)


def _shorter(array: NDArray[Any], axis: int) -> NDArray[Any]:
    return array[(slice(None),) * axis + (slice(None, -1),)]


def _single(array: NDArray[Any], axis: int) -> NDArray[Any]:
    return array.take([0], axis=axis)


def _swapped(array: NDArray[Any], axis: int) -> NDArray[Any]:
    return np.ascontiguousarray(array.swapaxes(axis, (axis + 1) % array.ndim))


def _in_front(array: NDArray[Any], _: int) -> NDArray[Any]:
    return array[np.newaxis]


def _behind(array: NDArray[Any], _: int) -> NDArray[Any]:
    return array[..., np.newaxis]


def _first(array: NDArray[Any], _: int) -> NDArray[Any]:
    return np.asarray(array[0])


_CHANGED: Mapping[str, Callable[[NDArray[Any], int], NDArray[Any]]] = {
    "longer": _longer,
    "shorter": _shorter,
    "single": _single,
    "swapped": _swapped,
    "in_front": _in_front,
    "behind": _behind,
    "first": _first,
}
