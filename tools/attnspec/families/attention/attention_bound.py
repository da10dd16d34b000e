"""Tolerances of attention, and what declared conventions must know beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.bounds.tolerance import Tolerance
from attnspec.families.attention.quantized import NOTHING_QUANTIZED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from attnspec.bounds.estimates import Estimate, Reach
    from attnspec.families.attention.quantized import Quantization


class AttentionBound(Tolerance):
    """Values and tolerances of the outputs of one case of attention.

    Parameters
    ----------
    estimates, vacuous, unowed, reach
        As :class:`attnspec.bounds.tolerance.Tolerance` takes them.
    fully_masked
        Output name to the elements that come from a query without any key; empty where there are none.
    without_mean
        Output name to those among them that take no mean of values either.
    no_keys
        Whether there is no key at all.
    reached
        What gives, by output name, the elements that excluded NaN and infinities reach in plain arithmetic.
    shift
        How much the logits of each query lie above the normative ones (B, Hq, Sq, 1); None for not at all.
    overflowed
        What gives, by output name, the elements that come from numbers beyond the largest of the dtype in which a run
        stores them between its steps.
    quantized
        What the case has of quantized tensors.
    beyond_dequantized
        What gives, by output name, the elements that come from products with scales beyond the largest number of the
        dtype to which they are declared to be rounded.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        vacuous: Mapping[str, Callable[[], NDArray[np.bool_]]] | None = None,
        fully_masked: Mapping[str, NDArray[np.bool_]] | None = None,
        *,
        without_mean: Mapping[str, NDArray[np.bool_]] | None = None,
        no_keys: bool = False,
        reached: Callable[[], Mapping[str, NDArray[np.bool_]]] | None = None,
        shift: NDArray[Any] | None = None,
        unowed: Mapping[str, NDArray[np.bool_]] | None = None,
        reach: Mapping[str, Callable[[], Reach]] | None = None,
        overflowed: Callable[[int], Mapping[str, NDArray[np.bool_]]] | None = None,
        quantized: Quantization | None = None,
        beyond_dequantized: Callable[[], Mapping[str, NDArray[np.bool_]]] | None = None,
    ) -> None:
        super().__init__(estimates, vacuous, fully_masked, unowed=unowed, reach=reach)
        self.fully_masked = self.by_convention
        self.without_mean: Mapping[str, NDArray[np.bool_]] = without_mean or {}
        self.has_no_keys = no_keys
        self.reached: Callable[[], Mapping[str, NDArray[np.bool_]]] = reached or dict
        self.shift = shift
        self._overflowed = overflowed
        self.quantized = NOTHING_QUANTIZED if quantized is None else quantized
        self.beyond_dequantized: Callable[[], Mapping[str, NDArray[np.bool_]]] = beyond_dequantized or dict

    def overflowed(self, run: int = 0) -> Mapping[str, NDArray[np.bool_]]:
        """Return, by output name, the elements of a run that an overflow between the steps reaches."""
        return {} if self._overflowed is None else self._overflowed(run)
