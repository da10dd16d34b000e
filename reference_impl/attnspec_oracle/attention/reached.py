"""Which gradients depend on a number that is not finite: these are NaN, and all others are clean.

An infinity counts as a NaN here, but where it is the gradient of an output: times a weight above 0, it is infinite in
the gradients of the values. What it does elsewhere depends on the order of computing. Nothing is required of any of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.attending import group_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_oracle.attention.attending import Attending


class Reached:
    """Elements that NaN and infinity affect.

    Parameters
    ----------
    attending
        Queries and keys, compared.
    grad_output, grad_logsumexp
        (B, Hq, Sq, Ev), (B, Hq, Sq).
    values
        The NaN and infinities of the values (B, Hq, Sk, Ev), and zeros.
    """

    def __init__(
        self,
        attending: Attending,
        grad_output: NDArray[Any],
        values: NDArray[np.float64],
        grad_logsumexp: NDArray[Any],
    ) -> None:
        keys = attending.dots.shape[-1]
        counted = attending.softmax.attended
        self._attended = counted[..., :keys]
        self._weights = _any(counted & (attending.softmax.logits.nonfinite != 0), -1)
        self._grad_output = grad_output
        of_outputs, of_values = _any(~np.isfinite(grad_output), -1), _any(values != 0, -1)
        of_weights = self._attended & (of_outputs[..., np.newaxis] | of_values[..., np.newaxis, :])
        self._delta = self._weights | _any(of_weights, -1)
        rows = self._delta | ~np.isfinite(grad_logsumexp)
        self._logits = self._attended & rows[..., np.newaxis]
        self._sinks = _any(counted[..., keys:], -1) & rows

    def of_values(self, certified: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN, or the infinity of the gradients of their outputs, into the gradients of values (B, Hkv, Sk, Ev)."""

        def reached(given: NDArray[np.bool_]) -> NDArray[np.bool_]:
            by_key = _any(self._attended[..., np.newaxis] & given[..., np.newaxis, :], 2)
            return _of_shared(by_key, certified.shape[1])

        above, below = reached(np.isposinf(self._grad_output)), reached(np.isneginf(self._grad_output))
        spoiled = reached(np.isnan(self._grad_output) | self._weights[..., np.newaxis]) | (above & below)
        return _spoiled(np.where(above, np.inf, np.where(below, -np.inf, certified)), spoiled)

    def delta(self, certified: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN into delta (B, Hq, Sq)."""
        return _spoiled(certified, self._delta)

    def of_scores(self, certified: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN into the gradients of scores (B, Hq, Sq, Sk)."""
        return _spoiled(certified, self._logits)

    def of_queries(self, certified: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN into the gradients of queries (B, Hq, Sq, E)."""
        return _spoiled(certified, _any(self._logits, -1)[..., np.newaxis])

    def of_keys(self, certified: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN into the gradients of keys (B, Hkv, Sk, E)."""
        reached = _of_shared(_any(self._logits, 2)[..., np.newaxis], certified.shape[1])
        return _spoiled(certified, reached)

    def of_mask(self, certified: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN into the gradients of a mask."""
        shape = (1,) * (self._logits.ndim - certified.ndim) + certified.shape
        repeated = tuple(axis for axis, length in enumerate(shape) if length == 1)
        return _spoiled(certified, _any(self._logits, repeated).reshape(certified.shape))

    def of_sinks(self, certified: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put NaN into the gradients of sinks (Hq)."""
        return _spoiled(certified, _any(self._sinks, (0, 2)))


def _any(reached: NDArray[np.bool_], axes: int | tuple[int, ...]) -> NDArray[np.bool_]:
    return np.asarray(reached.any(axis=axes))


def _of_shared(of_heads: NDArray[np.bool_], shared: int) -> NDArray[np.bool_]:
    """Say of which shared heads (B, Hkv, ...) a query head (B, Hq, ...) is reached."""
    batch, heads = of_heads.shape[:2]
    grouped = of_heads.reshape(batch, shared, group_of(heads, shared), *of_heads.shape[2:])
    return _any(grouped, 2)


def _spoiled(certified: NDArray[np.float64], reached: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(reached, np.nan, certified)
