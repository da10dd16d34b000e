"""Ways to compute the gradients of attention: right ones, which round elsewhere and add in other orders, and wrong.

A way is one formula with choices. Without roundings, in the widest float of NumPy, it gives the exact gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attnspec.contract.dtypes import HALF_PRECISION, numpy_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradients.draws import Draw

WRONG = ("scale off by 1 %", "delta dropped", "last tile dropped", "slope of the cap missing")
"""What a way may get wrong."""

Order = Literal["at once", "in order", "backwards", "tiles", "tiles backwards"]


@dataclass(frozen=True)
class Way:
    """One way to compute gradients.

    `stores`: what half precision rounds: every step, what goes into the last products, or the results alone; `weights`:
    by a softmax, or as exponentials of the distance from a logsumexp that is found or given; `delta`: from the weights,
    from the output that a forward pass rounded, or from one that is given; `scale`: applied after the products, split
    over both sides, or folded with log2(e) into the queries; `order`: in which order sums over queries and keys are
    added up; `in_base_2`: whether exponentials are powers of two; `rounds_heads`: whether each head's part is rounded
    before the sum over a group; `mistake`: what is wrong; None for nothing.
    """

    stores: Literal["steps", "weights", "results"] = "results"
    weights: Literal["softmax", "recomputed", "given"] = "softmax"
    delta: Literal["weights", "output", "given"] = "weights"
    scale: Literal["after", "split", "folded"] = "after"
    order: Order = "at once"
    in_base_2: bool = False
    rounds_heads: bool = False
    mistake: str | None = None

    def gradients(
        self, draw: Draw, dtype: str, given: dict[str, NDArray[Any]] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return every gradient in float64, `delta` and `grad_scores` among them.

        `draw`: the inputs; `dtype`: the dtype of the run; ``longdouble`` rounds nothing; `given`: exact ``output`` and
        ``logsumexp``, for ways that are given them.
        """
        return _Computation(self, draw, dtype, given or {}).gradients()


class _Computation:
    def __init__(self, way: Way, draw: Draw, dtype: str, given: dict[str, NDArray[Any]]) -> None:
        self.way, self.draw, self.given = way, draw, given
        self.dtype = np.dtype(np.longdouble) if dtype == "longdouble" else numpy_dtype(dtype)
        self.carried = np.dtype(np.float32) if dtype in HALF_PRECISION else self.dtype
        one = self.carried.type(1)
        self.base = np.log2(np.exp(one)) if way.in_base_2 else one
        self.factor = self.carried.type(draw.factor) * self.carried.type(1.01 if way.mistake == WRONG[0] else 1)
        self.root = np.sqrt(np.abs(self.factor))
        mask = draw.inputs.get("mask")
        self.addend = None if mask is None or mask.dtype == np.bool_ else mask
        self.found: dict[str, NDArray[Any]] = {}

    def rounded(self, x: Any) -> Any:
        """Round to the dtype of the run."""
        return x.astype(self.dtype).astype(self.carried)

    def stored(self, x: Any) -> Any:
        """Store a step."""
        return self.rounded(x) if self.way.stores == "steps" else x

    def fed(self, x: Any) -> Any:
        """Hand weights to a product."""
        return x if self.way.stores == "results" else self.rounded(x)

    def product(self, left: Any, right: Any) -> Any:
        """Multiply matrices, their inner axis in the order of this way."""
        count, order = left.shape[-1], self.way.order
        if order == "at once":
            return left @ right
        tile = 16 if "tiles" in order else 1
        starts = range(0, count, tile)
        total = np.zeros((*left.shape[:-1], right.shape[-1]), self.carried)
        for start in reversed(starts) if "backwards" in order else starts:
            total = total + left[..., start : start + tile] @ right[..., start : start + tile, :]
        return total

    def row_sum(self, x: Any) -> Any:
        """Sum along the last axis in the order of this way."""
        if self.way.order == "at once":
            return x.sum(axis=-1, keepdims=True, dtype=self.carried)
        return self.product(x, np.ones((x.shape[-1], 1), self.carried))

    def gradients(self) -> dict[str, NDArray[Any]]:
        """Return every gradient; leave output and logsumexp in `found`."""
        way, inputs, attendable = self.way, self.draw.inputs, self.draw.attendable
        logits, tangent = self.logits()
        weights, share, logsumexp = self.weights(np.where(attendable, logits, -np.inf))
        grad, value = inputs["grad_output"].astype(self.carried), self.of_heads("value")
        grad_value = self.product(self.fed(weights).mT, grad)
        products = self.stored(self.product(grad, value.mT))
        delta = self.delta(weights, products, value)
        of_logsumexp = inputs["grad_logsumexp"].astype(self.carried)[..., None] if "grad_logsumexp" in inputs else 0
        subtracted = delta - of_logsumexp
        of_logits = self.stored(np.where(attendable, weights * (products - subtracted), 0).astype(self.carried))
        of_scores = of_logits
        if tangent is not None and way.mistake != "slope of the cap missing":
            of_scores = self.stored(of_logits * (1 - tangent * tangent))
        if way.mistake == "last tile dropped":
            of_scores = of_scores.copy()
            of_scores[..., -max(1, of_scores.shape[-1] // 4) :] = 0
        grad_query, grad_key = self.of_queries_and_keys(self.fed(of_scores))
        found = {
            "grad_query": grad_query,
            "grad_key": self.over_group(grad_key),
            "grad_value": self.over_group(grad_value),
            "delta": delta[..., 0],
            "grad_scores": of_scores,
        }
        if self.addend is not None:
            found["grad_mask"] = self.to_mask(self.fed(of_logits), self.addend.shape)
        if share is not None:
            parts = np.moveaxis(-(share * subtracted)[..., 0], 1, 0)
            found["grad_sinks"] = self.row_sum(self.stored(parts.reshape(parts.shape[0], -1)))[:, 0]
        self.found = {"output": self.product(weights, value), "logsumexp": (logsumexp / self.base)[..., 0]}
        return {name: x.astype(self.dtype).astype(np.float64) for name, x in found.items()}

    def of_heads(self, name: str) -> Any:
        """Return keys or values as often as query heads share them."""
        return np.repeat(self.draw.inputs[name].astype(self.carried), self.draw.shared, axis=1)

    def logits(self) -> tuple[Any, Any]:
        """Return logits before exclusion, to the base of the exponentials, and the capped scores over the cap."""
        query, key = self.draw.inputs["query"].astype(self.carried), self.of_heads("key")
        softcap = self.draw.attributes.get("softcap")
        is_folded = self.way.scale == "folded" and not softcap
        if self.way.scale == "split":
            scores = self.product(
                self.stored(query * self.root * np.sign(self.factor)), self.stored(key * self.root).mT
            )
        elif is_folded:
            scores = self.product(query * (self.factor * self.base), key.mT)
        else:
            scores = self.stored(self.product(query, key.mT)) * self.factor
        logits, tangent = self.stored(scores), None
        if softcap:
            tangent = self.stored(np.tanh(logits / self.carried.type(softcap)))
            logits = self.stored(tangent * self.carried.type(softcap))
        logits = logits if is_folded else logits * self.base
        if self.addend is not None:
            added = np.where(np.isfinite(self.addend), self.addend, 0).astype(self.carried)
            logits = self.stored(logits + added * self.base)
        return logits, tangent

    def weights(self, logits: Any) -> tuple[Any, Any, Any]:
        """Return the weights, the shares of the sinks, and the logsumexp, of logits to the base of the exponentials."""
        exponential, logarithm = (np.exp2, np.log2) if self.way.in_base_2 else (np.exp, np.log)
        inputs, sink = self.draw.inputs, None
        largest = logits.max(axis=-1, keepdims=True)
        if "sinks" in inputs:
            sink = inputs["sinks"].astype(self.carried).reshape(-1, 1, 1) * self.base
            largest = np.maximum(largest, sink)
        largest = np.where(np.isfinite(largest), largest, 0).astype(self.carried)
        exponentials = self.stored(exponential(self.stored(logits - largest)))
        total = self.row_sum(exponentials)
        total = total if sink is None else total + exponential(sink - largest)
        live = total > 0
        total = np.where(live, total, 1).astype(self.carried)
        logsumexp = np.where(live, largest + logarithm(total), 0).astype(self.carried)
        if self.way.weights == "softmax":
            share = None if sink is None else exponential(sink - largest) / total
            return self.stored(exponentials / total), share, logsumexp
        if self.way.weights == "given":
            given = np.where(live[..., 0], self.given["logsumexp"], 0).astype(self.carried)
            logsumexp = self.rounded(given * self.base)[..., None]
        share = None if sink is None else exponential(sink - logsumexp)
        return self.stored(exponential(logits - logsumexp)), share, logsumexp

    def delta(self, weights: Any, products: Any, value: Any) -> Any:
        """Return the means of the products (B, Hq, Sq, 1)."""
        if self.way.mistake == "delta dropped":
            return np.zeros((*weights.shape[:-1], 1), self.carried)
        if self.way.delta == "weights":
            return self.stored(self.row_sum(self.stored(weights * products)))
        output = self.product(self.fed(weights), value)
        output = self.given["output"].astype(self.carried) if self.way.delta == "given" else output
        return self.stored(
            self.row_sum(self.stored(self.draw.inputs["grad_output"].astype(self.carried) * self.rounded(output)))
        )

    def of_queries_and_keys(self, of_scores: Any) -> tuple[Any, Any]:
        """Return the gradients of queries and keys, the latter for each query head."""
        query, key = self.draw.inputs["query"].astype(self.carried), self.of_heads("key")
        if self.way.scale != "split":
            return self.product(of_scores, key) * self.factor, self.product(of_scores.mT, query) * self.factor
        signed = self.root * np.sign(self.factor)
        of_query = self.product(of_scores, self.stored(key * self.root)) * signed
        return of_query, self.product(of_scores.mT, self.stored(query * signed)) * self.root

    def over_group(self, of_heads: Any) -> Any:
        """Sum over the heads of a group."""
        batch, heads, *rest = of_heads.shape
        parts = self.rounded(of_heads) if self.way.rounds_heads else of_heads
        return parts.reshape(batch, heads // self.draw.shared, self.draw.shared, *rest).sum(axis=2)

    def to_mask(self, logits_grad: Any, shape: tuple[int, ...]) -> Any:
        """Sum over the axes along which a mask was repeated."""
        full = (1,) * (4 - len(shape)) + shape
        axes = tuple(axis for axis in range(4) if full[axis] == 1)
        return logits_grad.sum(axis=axes, keepdims=True, dtype=self.carried).reshape(shape)


def exact(draw: Draw) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return exact gradients, and exact output and logsumexp, as float64 rounds them."""
    computation = _Computation(Way(), draw, "longdouble", {})
    gradients = computation.gradients()
    return gradients, {name: x.astype(np.float64) for name, x in computation.found.items()}


_WIDE: dict[str, Way] = {
    "weights kept": Way(),
    "delta from the output": Way(delta="output"),
    "recomputed": Way(weights="recomputed", delta="output"),
    "recomputed, delta from weights": Way(weights="recomputed"),
    "output and logsumexp given": Way(weights="given", delta="given"),
    "logsumexp given": Way(weights="given"),
    "powers of two, folded scale": Way(weights="recomputed", delta="output", scale="folded", in_base_2=True),
    "scale split": Way(scale="split"),
    "in order": Way(order="in order"),
    "in order, recomputed": Way(order="in order", weights="recomputed", delta="output"),
    "backwards": Way(order="backwards", weights="recomputed", delta="output"),
    "tiles": Way(order="tiles", weights="recomputed", delta="output"),
    "tiles backwards": Way(order="tiles backwards", weights="recomputed", delta="output"),
}

RIGHT: dict[str, dict[str, Way]] = {
    "wide": _WIDE,
    "fused": {
        **{f"{name}, heads rounded": replace(way, stores="weights", rounds_heads=True) for name, way in _WIDE.items()},
        "results alone are rounded": Way(),
    },
    "unfused": {
        name: replace(way, stores="steps", rounds_heads=True)
        for name, way in _WIDE.items()
        if name
        in ("weights kept", "delta from the output", "recomputed, delta from weights", "scale split", "in order")
    },
}
"""Right ways: in float32 and float64, and in each grade of half precision."""
