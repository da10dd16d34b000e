"""Overflow of a rotation whose products are rounded to half precision, and the outputs that it leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.tolerance import Tolerance, given
from attnspec.families.record import Expected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Estimate, Precision

_CONVENTION = "half_precision_overflow"


class RotationBound(Tolerance):
    """Values and tolerances of rotated features (B, H, S, E), and which of them an overflow of a product reaches.

    `products` holds the larger absolute product of each; 0 for features that stay.
    """

    def __init__(self, output: Estimate, products: NDArray[Any], precision: Precision) -> None:
        super().__init__(given(output=output))
        self._products = products
        self._precision = precision

    def overflowed(self, run: int) -> NDArray[np.bool_]:
        """Return the features of a run of which a product is larger than what its dtype holds."""
        largest = np.ravel(self._precision.largest)
        return self._products > largest[run if largest.size > 1 else 0]


def expected(
    outputs: Mapping[str, NDArray[Any]], conventions: Mapping[str, str], bound: Tolerance, run: int
) -> Expected:
    """Return the expected outputs under declared conventions, as :class:`attnspec.families.record.Family` has it."""
    if not isinstance(bound, RotationBound) or conventions[_CONVENTION] != "open":
        return Expected(outputs, {}, ())
    elements = bound.overflowed(run)
    return (
        Expected(outputs, {"output": elements}, (f"{_CONVENTION}=open",))
        if elements.any()
        else Expected(outputs, {}, ())
    )
