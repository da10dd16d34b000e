"""Limits of a draw: its dtype, what it leaves out, and how large it may be; and lengths of axes within them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnspec.base.errors import UsageError
from attnspec_draws.generators.words import Stream

ELEMENTS = 60_000
"""How many elements the largest tensor of a draw may have: so many take a millisecond or two to be graded."""

LONGEST = 4_096
"""How long an axis may be."""

NO_AXES = "0"
"""How it is written that an input which is given has no axes."""

FEWEST = 2
"""Elements of the smallest case that there is: one key, and one from the past."""


class TooLargeError(UsageError):
    """The stated lengths make a case too large; `elements` counts those of its largest tensor, steps included."""

    def __init__(self, message: str, elements: int) -> None:
        super().__init__(message)
        self.elements = elements


@dataclass(frozen=True)
class Limits:
    """Limits of a draw; `UsageError` where no case is so small.

    `dtype` holds every number of the inputs exactly. `elements` (2 or more) bounds the largest tensor, steps between
    inputs and results included; `longest` (1 or more) bounds a drawn axis; `extents` and `stated` fix axes and
    attributes.

    `without` are features left out: capabilities, arguments, ``argument=value``, or words of the family's case
    generator.

    `variant` numbers draws that are alike in all but the numbers of their tensors; `REVERSED` has those of the first in
    the opposite order. `numbers` is their class, where that is not drawn.

    `rows` of each output are compared where it is too large to be stored; 0 for none. `sample` is the seed of these,
    any word, so that no number of the inputs reveals them; the draw's own if empty.

    `given` has each optional input that every draw has, with its last axes: ``n`` for a whole one, ``1`` for one that
    stands for all, `NO_AXES`, or an empty text where they are drawn.
    """

    dtype: str
    without: frozenset[str] = frozenset()
    elements: int = ELEMENTS
    longest: int = LONGEST
    extents: Mapping[str, int] = field(default_factory=dict[str, int])
    variant: int = 0
    rows: int = 0
    numbers: str = ""
    sample: str = ""
    stated: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Refuse limits that no case keeps to."""
        if self.elements < FEWEST or self.longest < 1:
            raise UsageError(
                f"elements={self.elements} and longest={self.longest} leave no case: "
                f"write elements={FEWEST} and longest=1 at least."
            )

    def allow(self, *features: str) -> bool:
        """Return whether none of these features is left out."""
        return self.without.isdisjoint(features)

    def has(self, name: str, *, drawn: bool) -> bool:
        """Return whether a draw has an optional input: never where it is left out, always where it is given."""
        return self.allow(name) and (drawn or name in self.given)

    def shape_of(self, name: str, whole: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a given input's shape out of its possible axes; None where drawn, `UsageError` for too many."""
        axes = self.given.get(name)
        if not axes:
            return None
        if axes == NO_AXES:
            return ()
        if len(axes) > len(whole):
            raise UsageError(f"{name} is given {len(axes)} axes, of {len(whole)} at most.")
        last = whole[len(whole) - len(axes) :]
        return tuple(1 if axis == "1" else length for axis, length in zip(axes, last, strict=True))

    def check_size(self, elements: int) -> None:
        """Raise `TooLargeError` if the largest tensor of a case has more elements than it may; lengths are stated."""
        if elements > self.elements:
            stated = ", ".join(f"{axis}={length}" for axis, length in self.extents.items())
            raise TooLargeError(
                f"With {stated}, the largest tensor has {elements} elements, and {self.elements} is the limit: "
                f"shorten an axis, or write elements={elements}.",
                elements,
            )


def lengths_of(name: str, axes: Sequence[str], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return axis to length of a tensor at a user's shapes; `ValueError` where it is missing or has other axes."""
    shape = shapes.get(name)
    if shape is None:
        raise ValueError(f"the shape of {name} is missing")
    if len(shape) != len(axes):
        raise ValueError(f"{name} has {len(shape)} axes, and not {len(axes)}: {', '.join(axes)}")
    return dict(zip(axes, shape, strict=True))


SHORT = 6
"""Longest axis that is short, if not said otherwise."""

LONG_AXES = {0: 1, 1: 4, 2: 1}
"""How many axes are long, with weights."""


def draw_axes(
    stream: Stream, axes: Iterable[str], weights: Mapping[str, int], limits: Limits, *, short: int = SHORT
) -> dict[str, int]:
    """Draw the lengths of axes: short ones, of which some, chosen by `weights`, become long within the limits."""
    found = {axis: stream.between(1, short) for axis in axes}
    for _ in range(stream.weighted(LONG_AXES)):
        axis = stream.weighted(weights)
        found[axis] = stream.of_any_size(1, limits.longest)
    return {axis: min(length, limits.longest) for axis, length in found.items()}


def _product(lengths: Mapping[str, int]) -> int:
    return math.prod(lengths.values())


def as_stated(
    lengths: Mapping[str, int], limits: Limits, elements: Callable[[Mapping[str, int]], int] = _product
) -> dict[str, int]:
    """Take stated lengths, and halve the longest of the others until the largest tensor is small enough.

    `elements` counts its elements; `UsageError` where the stated lengths alone make it too large.
    """
    found = dict(lengths) | {axis: length for axis, length in limits.extents.items() if axis in lengths}
    while elements(found) > limits.elements:
        free = {axis: length for axis, length in found.items() if axis not in limits.extents and length > 1}
        if not free:
            break
        found[max(free, key=lambda axis: free[axis])] //= 2
    limits.check_size(elements(found))
    return found
