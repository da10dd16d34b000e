"""The finding that a mask goes wrong where one of its axes is repeated, and is right where it has all of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import Finding

if TYPE_CHECKING:
    from attnspec_probes.attention.single_laws.probe import Probe
    from attnspec_probes.attention.single_laws.reducing import Start

_AXES = ("batch entry", "head", "query", "key")

_BROADCAST = clauses.clauses(("mask.broadcast",))

_SPARED = 4
"""Masks of the whole shape that would go wrong if these went wrong as often as those repeated along some axis."""

_NEARLY_ALL = 0.8
"""Share of the failing cases that have such a mask; the others may go wrong by something else."""

_OTHERS = 2
"""Masks of another shape that must pass: where none was taken, the shape says what is taken and not what goes wrong."""

_HARDLY_ANY = 0.1
"""Share of the passing cases that may have such a mask, too: what is repeated may be alike."""


def from_mask_axes(failing: Sequence[Start], passing: Sequence[Start]) -> Finding | None:
    """Return which axes a mask lacks where it goes wrong, found in every other case and seen again in the rest."""
    for lacks, has in _kinds():

        def fails(of: Probe, lacks: Sequence[int] = lacks, has: int | None = has) -> bool:
            is_repeated = any(_length(of, axis) == 1 < of.shape[axis] for axis in lacks)
            return is_repeated and (has is None or 1 < _length(of, has) == of.shape[has])

        spared = sum("mask" in start.probe.inputs and not fails(start.probe) for start in passing)
        if spared >= _OTHERS and all(_separates(fails, failing[half::2], passing[half::2]) for half in (0, 1)):
            beside = "" if has is None else f" and has numbers of its own for each {_AXES[has]}"
            every = " or ".join(_AXES[axis] for axis in lacks)
            reported = f"It goes wrong where a mask is the same for every {every}{beside}."
            return Finding("mask", _BROADCAST, reported, fails=fails)
    wrong, right = ([_is_repeated(start.probe) for start in starts] for starts in (failing, passing))
    share = len(wrong) / max(len(wrong) + right.count(True), 1)
    if all(wrong) and share * right.count(False) >= _SPARED:
        # Which axes it takes is not clear, so that nothing is said; yet masks of the whole shape are right.
        return Finding("mask", _BROADCAST, "")
    return None


def _is_repeated(of: Probe) -> bool | None:
    """Return whether a mask is repeated along some axis; None without a mask."""
    return any(_length(of, axis) == 1 < of.shape[axis] for axis in range(4)) if "mask" in of.inputs else None


def _kinds() -> Generator[tuple[tuple[int, ...], int | None]]:
    """Give the axes of which a mask lacks one, with one that it has or None, the plainest kinds first."""
    axes = range(len(_AXES))
    yield from (((axis,), None) for axis in axes)
    yield from (((lacks,), has) for lacks, has in permutations(axes, 2))
    yield from ((tuple(axis for axis in axes if axis != has), has) for has in axes)
    yield tuple(axes), None


def _separates(fails: Callable[[Probe], bool], failing: Sequence[Start], passing: Sequence[Start]) -> bool:
    """Return whether nearly all failing cases, and hardly any passing ones, are said to fail."""
    wrong, right = ([fails(start.probe) for start in starts] for starts in (failing, passing))
    return any(wrong) and sum(wrong) >= _NEARLY_ALL * len(wrong) and sum(right) <= _HARDLY_ANY * len(right)


def _length(of: Probe, axis: int) -> int:
    """Return how long an axis of the mask is; 1 for one that it has not, 0 without a mask."""
    if "mask" not in of.inputs:
        return 0
    shape = of.inputs["mask"].shape
    return ((1,) * (4 - len(shape)) + shape)[axis]
