"""Merging two parts of attention under declared conventions: inputs and expected outputs.

The logarithms are inputs here as well as an output. Another base, or another sign of those that belong to no key, is
declared for both sides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.tolerance import Tolerance
from attnspec.families.record import Expected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Estimate, Interval

OPERATION = "merge_states"


class MergeBound(Tolerance):
    """Values and tolerances of two merged parts, with elements that parts without keys and infinities decide.

    `without_keys` (B, H, S) neither part has keys; `poisoned` (B, H, S, Ev) a part without keys is not finite;
    `drowned` a part that is not finite has a weight that a run cannot hold.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        vacuous: Mapping[str, Callable[[], NDArray[np.bool_]]],
        *,
        interval: Mapping[str, Callable[[], Interval]],
        without_keys: NDArray[np.bool_],
        poisoned: NDArray[np.bool_],
        drowned: Callable[[int], NDArray[np.bool_]],
    ) -> None:
        super().__init__(estimates, vacuous, {"logsumexp": without_keys}, interval=interval)
        self.without_keys = without_keys
        self.poisoned = poisoned
        self.drowned = drowned


def expected_of_merged(
    outputs: Mapping[str, NDArray[Any]], conventions: Mapping[str, str], bound: MergeBound, run: int
) -> Expected:
    """Return the expected outputs of two merged parts under declared conventions, as `Family` has it."""
    declared = dict(outputs)
    under: list[str] = []
    if "logsumexp" in declared:
        declared["logsumexp"] = declared_logarithms(declared["logsumexp"], conventions)
        if conventions["logsumexp_base"] == "2":
            under.append("logsumexp_base=2")
        if conventions["empty_logsumexp"] == "plus_infinity" and bound.without_keys.any():
            under.append("empty_logsumexp=plus_infinity")
    left_open = bound.drowned(run)
    if conventions["masked_nonfinite"] == "propagates" and bound.poisoned.any():
        left_open = left_open | bound.poisoned
        under.append("masked_nonfinite=propagates")
    return Expected(declared, {"output": left_open} if left_open.any() else {}, tuple(under))


def declared_logarithms(logarithms: NDArray[Any], conventions: Mapping[str, str]) -> NDArray[Any]:
    """Return natural logarithms to the declared base, and with the declared sign where there are no keys."""
    if conventions["logsumexp_base"] == "2":
        logarithms = logarithms * math.log2(math.e)
    if conventions["empty_logsumexp"] == "plus_infinity":
        logarithms = np.where(logarithms == -np.inf, np.inf, logarithms)
    return logarithms
