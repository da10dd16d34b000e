"""Faults on the way from queries and keys to capped scores."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from drawn.attention import Array, Call, Steps, cap, key_head, normalise, scale
from drawn.fault import Fault, between, far_factor


def scales(rng: np.random.Generator) -> list[Fault]:
    """Draw dot products times another factor."""
    a, b, power = between(rng, 0.3, 3), rng.uniform(-1.2, -0.1), rng.choice([rng.uniform(-1.3, -0.6), -0.43, 0.2])
    k, c, f, g = between(rng, 1, 60), between(rng, 0.02, 2), far_factor(rng), far_factor(rng)

    def default(name: str, parameter: float | None, of: Callable[[int, int, int], float], *same: float) -> Fault:
        def wrong(call: Call) -> float:
            (_, heads, _, width), wide = call.query.shape, call.value.shape[3]
            return of(heads, width, wide) if call.scale is None else call.scale

        equivalent = tuple(("base", factor) for factor in same)
        return Fault(f"the default scale is {name}", parameter, "scale.default scores", Steps(scale=wrong), equivalent)

    def explicit(name: str, parameter: float | None, of: Callable[[Call, float], float], *same: float) -> Fault:
        steps = Steps(scale=lambda call: scale(call) if call.scale is None else of(call, call.scale))
        equivalent = tuple(("base", factor) for factor in same)
        return Fault(f"an explicit scale is {name}", parameter, "scale.explicit scores", steps, equivalent)

    return [
        default(f"{a:.4g} * E ** {b:.4g}", b, lambda _heads, width, _wide: a * width**b),
        default(f"E ** {power:.4g}", float(power), lambda _heads, width, _wide: width ** float(power)),
        default(f"1 / sqrt(E + {k:.4g})", k, lambda _heads, width, _wide: (width + k) ** -0.5),
        default(f"{c:.4g}", c, lambda _heads, _width, _wide: c),
        default(f"{f:.4g} / sqrt(E)", f, lambda _heads, width, _wide: f * width**-0.5, f),
        default("1 / sqrt(Ev)", None, lambda _heads, _width, wide: max(wide, 1) ** -0.5),
        default("1 / sqrt(Hq)", None, lambda heads, _width, _wide: max(heads, 1) ** -0.5),
        explicit(f"multiplied by {g:.4g}", g, lambda _call, given: given * g, g),
        explicit("squared", None, lambda _call, given: given**2),
        explicit("ignored", None, lambda call, _given: scale(replace(call, scale=None))),
    ]


def caps(rng: np.random.Generator) -> list[Fault]:
    """Draw another bound of the scores."""
    f, inner, size, edge = far_factor(rng), far_factor(rng), between(rng, 5, 40), between(rng, 2, 20)

    def with_softcap(name: str, parameter: float | None, bounded: Callable[[Array, float], Array]) -> Fault:
        steps = Steps(cap=lambda call, x: bounded(x, call.softcap) if call.softcap else x)
        return Fault(f"the softcap {name}", parameter, "softcap.definition", steps)

    def without_softcap(name: str, bound: float, bounded: Callable[[Array], Array]) -> Fault:
        steps = Steps(cap=lambda call, x: cap(call, x) if call.softcap else bounded(x))
        clauses = "softcap.off softcap.definition scores"
        return Fault(f"without softcap, scores are {name} {bound:.4g}", bound, clauses, steps, (("bound", bound),))

    return [
        with_softcap(f"is multiplied by {f:.4g}", f, lambda x, c: f * c * np.tanh(x / (f * c))),
        with_softcap(f"is multiplied by {inner:.4g} inside the tanh", inner, lambda x, c: c * np.tanh(x / (inner * c))),
        with_softcap("clips", None, lambda x, c: np.clip(x, -c, c)),
        without_softcap("capped at", size, lambda x: size * np.tanh(x / size)),
        without_softcap("clipped at", edge, lambda x: np.clip(x, -edge, edge)),
    ]


def head_maps(rng: np.random.Generator) -> list[Fault]:
    """Draw other heads that a query head reads."""
    both, keys, values, slopes, sinks = (int(by) for by in rng.integers(1, 6, size=5))

    def moved(by: int) -> Callable[[int, int], Array]:
        return lambda heads, shared: (key_head(heads, shared) + by) % shared

    def rolled(by: int) -> Callable[[Array], Array]:
        return lambda of_heads: np.roll(of_heads, -by)

    def fault(name: str, parameter: int | None, *, clause: str = "heads.grouped", **steps: Any) -> Fault:
        return Fault(f"query head h reads {name}", parameter, clause, Steps(**steps))

    def remainder(heads: int, shared: int) -> Array:
        return np.arange(heads) % shared

    def backwards(heads: int, shared: int) -> Array:
        return key_head(heads, shared)[::-1]

    return [
        fault("key and value head h % Hkv", None, key_head=remainder, value_head=remainder),
        fault("key and value heads backwards", None, key_head=backwards, value_head=backwards),
        fault(f"the key and value head {both} further", both, key_head=moved(both), value_head=moved(both)),
        fault(f"the key head {keys} further", keys, key_head=moved(keys)),
        fault(f"the value head {values} further", values, value_head=moved(values)),
        fault(f"slope h + {slopes}", slopes, clause="alibi.heads", at={"slopes": rolled(slopes)}),
        fault(f"sink h + {sinks}", sinks, clause="sinks.denominator", at={"sinks": rolled(sinks)}),
    ]


def roundings(rng: np.random.Generator) -> list[Fault]:
    """Draw steps that keep fewer bits; the parameter is their number, the leading one included."""

    def through(dtype: type[np.floating[Any]]) -> Callable[[Array], Array]:
        return lambda x: x.astype(dtype).astype(x.dtype)

    def kept(bits: int, to: Callable[[Array], Array]) -> Callable[[Array], Array]:
        def rounded(x: Array) -> Array:
            mantissa, exponent = np.frexp(x)
            return np.ldexp(to(mantissa * 2**bits) / 2**bits, exponent).astype(x.dtype)

        return rounded

    def fault(step: str, clauses: str) -> Fault:
        bits = int(rng.integers(5, 21))
        name, number, rounded = (
            ("float32", 24, through(np.float32)),
            ("float16", 11, through(np.float16)),
            ("bfloat16", 8, kept(8, np.rint)),
            ("bfloat16 by truncation", 8, kept(8, np.trunc)),
            (f"{bits} bits", bits, kept(bits, np.rint)),
            (f"{bits} bits by truncation", bits, kept(bits, np.trunc)),
        )[rng.integers(6)]
        if step == "sums":
            steps = Steps(normalise=lambda logits, sink: normalise(logits, sink, rounded))
        else:
            steps = Steps(at={step: rounded})
        clauses = f"precision.accumulation precision.dtype {clauses}"
        return Fault(f"{step} rounded to {name}", number, clauses, steps)

    return [
        fault("query", "scores"),
        fault("key", "scores"),
        fault("scores", "scores"),
        fault("weights", "weights output"),
        fault("sums", "weights logsumexp"),
    ]
