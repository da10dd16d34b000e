"""Faults in what makes weights of logits."""

import math
from collections.abc import Callable

import numpy as np
from drawn.attention import Array, Steps, cap, normalise
from drawn.fault import Fault, between


def bases(rng: np.random.Generator) -> list[Fault]:
    """Draw powers of another base; the parameter is its logarithm, which multiplies what is raised."""

    def fault(name: str, steps: Callable[[float], Steps]) -> Fault:
        base = float(rng.choice([2, 10, between(rng, 1.2, 2.4), between(rng, 3.1, 12)]))
        factor = math.log(base)
        clauses = "weights scores scale.default scale.explicit softmax.keys"
        return Fault(f"{name} to the base {base:.4g}", factor, clauses, steps(factor), (("scale", factor),))

    def of_all(factor: float) -> Steps:
        return Steps(normalise=lambda x, sink: normalise(factor * x, None if sink is None else factor * sink))

    return [
        fault("keys and sink are powers", of_all),
        fault("keys are powers", lambda factor: Steps(normalise=lambda x, sink: normalise(factor * x, sink))),
        fault("scores are powers", lambda factor: Steps(at={"scores": lambda x: factor * x})),
        fault("capped scores are powers", lambda factor: Steps(cap=lambda call, x: factor * cap(call, x))),
    ]


def tiles(rng: np.random.Generator) -> list[Fault]:
    """Draw online softmax over tiles of T keys, with a fault."""

    def online(size: int, fault: str) -> Steps:
        def wrong(logits: Array, sink: Array | None) -> tuple[Array, Array]:
            keys, one = logits.shape[-1], (*logits.shape[:-1], 1)
            top = np.broadcast_to(-np.inf if sink is None else sink, one).astype(logits.dtype)
            total = np.full(one, float(sink is not None), logits.dtype)
            exponentials = np.zeros_like(logits)
            for first in range(0, keys, size):
                tile = slice(first, first + size)
                if keys - first < size and (fault == "drops" or (fault == "drops later" and first > 0)):
                    break
                new = np.maximum(top, logits[..., tile].max(axis=-1, keepdims=True))
                finite = np.where(new == -np.inf, 0, new)
                correction = np.exp(top - finite)
                exponentials[..., tile] = np.exp(logits[..., tile] - finite)
                exponentials[..., :first] *= 1 if fault == "accumulator" else correction
                total = total * (1 if fault == "denominator" else correction)
                total, top = total + exponentials[..., tile].sum(axis=-1, keepdims=True), new
            return exponentials / np.where(total == 0, 1, total), top + np.log(total)

        return Steps(normalise=wrong)

    def equal(size: int) -> Steps:
        def wrong(logits: Array, sink: Array | None) -> tuple[Array, Array]:
            weights, logsumexp = normalise(logits, sink)
            parts = [slice(first, first + size) for first in range(0, logits.shape[-1], size)]
            seen = [(logits[..., part] > -np.inf).any(axis=-1, keepdims=True) for part in parts]
            number = np.maximum(np.sum(seen, axis=0), 1) if parts else 1
            share = weights.sum(axis=-1, keepdims=True) / number
            shares = [normalise(logits[..., part], None)[0] * share for part in parts]
            return np.concatenate([weights[..., :0], *shares], axis=-1), logsumexp

        return Steps(normalise=wrong)

    def fault(name: str, steps: Callable[[int], Steps], clauses: str) -> Fault:
        size = int(rng.integers(3, 41))
        return Fault(f"tiles of {size} keys: {name}", size, f"weights output {clauses}", steps(size))

    rising, summed = "softmax.stability", "softmax.keys scores logsumexp"
    return [
        fault("the accumulator is not rescaled when the maximum rises", lambda t: online(t, "accumulator"), rising),
        fault("the denominator is not rescaled when the maximum rises", lambda t: online(t, "denominator"), rising),
        fault("an incomplete tile is dropped", lambda t: online(t, "drops"), summed),
        fault("an incomplete tile is dropped after whole ones", lambda t: online(t, "drops later"), summed),
        fault("all weigh the same", equal, summed),
    ]


def masses(rng: np.random.Generator) -> list[Fault]:
    """Draw what joins the denominator and belongs to no key."""
    absolute, relative, alone, each = (between(rng, 0.01, 3) for _ in range(4))

    def sunk(mass: float, *, beside_sinks: bool) -> Steps:
        def wrong(logits: Array, sink: Array | None) -> tuple[Array, Array]:
            if sink is not None:
                return normalise(logits, np.logaddexp(sink, math.log(mass)) if beside_sinks else sink)
            return normalise(logits, np.full((logits.shape[1], 1, 1), math.log(mass), logits.dtype))

        return Steps(normalise=wrong)

    def of_excluded(logits: Array, sink: Array | None) -> tuple[Array, Array]:
        excluded = (logits == -np.inf).sum(axis=-1, keepdims=True).astype(logits.dtype)
        return normalise(logits, sink, lambda total: total + each * excluded)

    def fault(name: str, mass: float, steps: Steps, *same: tuple[str, float]) -> Fault:
        clauses = "weights sinks.denominator logsumexp softmax.keys"
        return Fault(f"the denominator has {mass:.4g} {name}", mass, clauses, steps, same)

    of_maximum = Steps(normalise=lambda logits, sink: normalise(logits, sink, lambda total: total + relative))
    return [
        fault("more", absolute, sunk(absolute, beside_sinks=True), ("sink", math.log(absolute))),
        fault("more if there are no sinks", alone, sunk(alone, beside_sinks=False), ("sink", math.log(alone))),
        fault("times the largest exponential more", relative, of_maximum),
        fault("times the largest exponential more for each excluded key", each, Steps(normalise=of_excluded)),
    ]
