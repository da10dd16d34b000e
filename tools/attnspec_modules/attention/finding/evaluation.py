"""Evaluation: a layer in it gives the same numbers each time, whatever the rate of dropout with which it was made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attnspec_modules.attention.layer import Call, LayerRunner
from attnspec_modules.attention.layer_reading import MATRICES

_RATE = 0.5
"""Any that leaves out some of 48 weights with near certainty."""

_SEED = 20_260_103
_TOKENS = 16


def rate_seen(runner: LayerRunner, heads: int, width: int) -> float | None:
    """Return the rate of dropout with which a layer is seen to draw in evaluation; None where it is not.

    It is 0 where it draws though it is made without dropout.
    """
    if _draws(runner, heads, width):
        return 0.0
    if not runner.library.evaluates:
        return None
    dropping = LayerRunner(runner.layer_class, runner.library, replace(runner.reading, dropout=_RATE))
    return _RATE if _draws(dropping, heads, width) else None


def _draws(runner: LayerRunner, heads: int, width: int) -> bool:
    """Return whether two calls with the same tokens give different numbers."""
    rng = np.random.default_rng(_SEED)
    tokens = rng.normal(size=(1, _TOKENS, width)).astype("float32")
    weights = {name: rng.normal(size=(width, width)).astype("float32") for name in MATRICES}
    is_causal = runner.reading.causality == "built in"
    call = Call(tokens, tokens, tokens, None, is_causal)
    one, other = (runner.tried(call, weights, heads, {}) for _ in range(2))
    return one is not None and other is not None and not np.array_equal(one, other, equal_nan=True)
