"""Faults in what masks, positions and windows take from a query."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from drawn.attention import Array, Call, Steps, cap, distance, position, scale, within
from drawn.fault import Fault, between, far_factor, shift


def fills(rng: np.random.Generator) -> list[Fault]:
    """Draw finite numbers for the logits of excluded keys, which keep a weight by them."""

    def fault(name: str, most: float, steps: Callable[[float], Steps], clauses: str = "") -> Fault:
        low = -between(rng, 4, 30 if rng.random() < 0.5 else most)
        other = "causal.top_left causal.bottom_right window.left window.right key_lengths.exclusion masked_nonfinite"
        clauses = f"mask.boolean weights fully_masked_row {clauses or other}"
        return Fault(f"{name} {low:.4g}", low, clauses, steps(low), (("bound", low),))

    def put(low: float) -> Steps:
        def exclude(x: Array, allowed: Array) -> tuple[Array, Array]:
            return np.where(allowed, x, low), np.ones_like(allowed)

        return Steps(exclude=exclude)

    def put_but_empty_rows(low: float) -> Steps:
        def exclude(x: Array, allowed: Array) -> tuple[Array, Array]:
            kept = np.broadcast_to(allowed.any(axis=-1, keepdims=True), allowed.shape)
            return np.where(allowed, x, np.where(kept, low, -np.inf).astype(x.dtype)), kept

        return Steps(exclude=exclude)

    def add(low: float) -> Steps:
        def exclude(x: Array, allowed: Array) -> tuple[Array, Array]:
            return np.where(allowed, x, x + low), np.ones_like(allowed)

        return Steps(exclude=exclude)

    def from_boolean(low: float) -> Steps:
        return Steps(at={"mask": lambda mask: np.where(mask, 0.0, low) if mask.dtype == bool else mask})

    return [
        fault("excluded logits are", 1e4, put),
        fault("excluded logits, but for empty rows, are", 30, put_but_empty_rows),
        fault("what is added to excluded logits is", 1e4, add),
        fault("where a Boolean mask is false it adds", 1e4, from_boolean, "mask.additive"),
    ]


def offsets(rng: np.random.Generator) -> list[Fault]:
    """Draw positions that are some keys off."""

    def fault(name: str, clauses: str, steps: Callable[[int], Steps]) -> Fault:
        by = shift(rng)
        return Fault(f"{name} is shifted by {by:+d}", by, clauses, steps(by))

    def diagonal(*alignments: bool) -> Callable[[int], Steps]:
        def steps(by: int) -> Steps:
            return Steps(causal=lambda call, p, j: j <= p + (by if call.bottom_right in alignments else 0))

        return steps

    def after_a_past(by: int) -> Steps:
        return Steps(position=lambda call: position(call) + (by if call.past and not call.bottom_right else 0))

    def before_the_end(by: int) -> Steps:
        return Steps(position=lambda call: position(call) + (by if call.bottom_right else 0))

    ends = "causal.bottom_right key_lengths.alignment query_lengths.alignment window.position alibi.position"
    return [
        fault("the causal diagonal", "causal.top_left causal.bottom_right past.position", diagonal(False, True)),
        fault("the causal diagonal of bottom_right", ends, diagonal(True)),
        fault("the causal diagonal of top_left", "causal.top_left past.position", diagonal(False)),
        fault("the position of a query after a past", "past.position alibi.position window.position", after_a_past),
        fault("the position of a query with bottom_right", ends, before_the_end),
        fault(
            "the position of a query in ALiBi",
            "alibi.distance alibi.position",
            lambda by: Steps(distance=lambda call, p, j: distance(call, p + by, j)),
        ),
    ]


def windows(rng: np.random.Generator) -> list[Fault]:
    """Draw windows that leave other keys."""

    def wider(left: int, right: int) -> Steps:
        def wrong(call: Call, positions: Array, keys: Array) -> Array:
            window = [None if side is None else side + by for side, by in zip(call.window, (left, right), strict=True)]
            return within(replace(call, window=tuple(window)), positions, keys)

        return Steps(within=wrong)

    left, right, both = shift(rng, 8), shift(rng, 8), shift(rng, 8)
    around_numbers = Steps(within=lambda call, _p, j: within(call, call.query_numbers, j))
    exchanged = Steps(within=lambda call, p, j: within(replace(call, window=call.window[::-1]), p, j))
    return [
        Fault(f"the window reaches {left:+d} keys to the left", left, "window.left", wider(left, 0)),
        Fault(f"the window reaches {right:+d} keys to the right", right, "window.right", wider(0, right)),
        Fault(f"the window reaches {both:+d} keys to both sides", both, "window.left window.right", wider(both, both)),
        Fault("the window lies around the number of the query", None, "window.position", around_numbers),
        Fault("left and right of the window are exchanged", None, "window.left window.right", exchanged),
    ]


def mask_factors(rng: np.random.Generator) -> list[Fault]:
    """Draw masks that are read or applied in another way."""
    f, most, least, true_from = far_factor(rng), between(rng, 0.5, 8), -between(rng, 0.5, 8), -between(rng, 0.2, 5)

    def floats(name: str, parameter: float | None, read: Callable[[Array], Array], *same: tuple[str, float]) -> Fault:
        steps = Steps(at={"mask": lambda mask: mask if mask.dtype == bool else read(mask)})
        return Fault(f"a float mask is {name}", parameter, "mask.additive", steps, same)

    def truths(name: str, read: Callable[[Array], Array]) -> Fault:
        steps = Steps(at={"mask": lambda mask: read(mask) if mask.dtype == bool else mask})
        return Fault(f"a Boolean mask is {name}", None, "mask.boolean mask.broadcast", steps)

    def turned(mask: Array) -> Array:
        return mask.swapaxes(-1, -2) if mask.shape[-1] == mask.shape[-2] else mask

    def multiplied(call: Call, logits: Array) -> Array:
        return logits if call.mask is None or call.mask.dtype == bool else logits * call.mask

    capped = Steps(cap=lambda call, x: cap(call, x + call.bias), add_mask=lambda _call, x: x)
    unscaled = Steps(add_mask=lambda call, x: x + np.asarray(scale(call) * call.bias, x.dtype))
    return [
        floats(f"multiplied by {f:.4g}", f, lambda x: f * x),
        floats(
            f"clamped at {most:.4g}", most, lambda x: np.where(x == -np.inf, x, x.clip(-most, most)), ("bound", most)
        ),
        floats(f"minus infinity below {least:.4g}", least, lambda x: np.where(x < least, -np.inf, x), ("bound", least)),
        floats(f"true above {true_from:.4g}", true_from, lambda x: x > true_from),
        truths("inverted", np.logical_not),
        truths("transposed where it is square", turned),
        Fault("a float mask is added before the softcap", None, "softcap.order mask.additive", capped),
        Fault("a float mask is added before the scale", None, "mask.additive scale.default scale.explicit", unscaled),
        Fault("a float mask multiplies", None, "mask.additive", Steps(add_mask=multiplied)),
    ]
