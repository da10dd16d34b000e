"""Check of a cache inside a layer: tokens that come in parts give what they give at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attnspec_modules.attention.checking.cache_mistakes import cache_mistakes, in_parts
from attnspec_modules.attention.checking.composed_attention import (
    TOKENS,
    Array,
    Sample,
    are_alike,
    difference,
    sample_of,
)
from attnspec_modules.attention.layer import Call, LayerRunner

_ONE_BY_ONE = tuple((position, position + 1) for position in range(TOKENS))
_FIRST = 4
_THEN_ONE_BY_ONE = ((0, _FIRST), *_ONE_BY_ONE[_FIRST:])
_CHUNKS = ((0, 3), (3, 5), (5, TOKENS))


def cache_check(runner: LayerRunner, sample_in: Callable[[str], Sample] | None = None) -> str | None:
    """Return how a cache goes wrong, nothing where it is right; None where that cannot be said.

    That is where the layer is not causal without it, or takes no call that fills it. `sample_in` gives tokens and
    weights in a dtype, where they are no matrices of multi-head attention.
    """
    is_causal = runner.reading.causality != "none"
    first = (_THEN_ONE_BY_ONE if is_causal else _ONE_BY_ONE)[:1]
    # A cache may have a dtype of its own, which the widest does not fit.
    for dtype in runner.reading.dtypes:
        sample = sample_of(runner.reading, dtype=dtype) if sample_in is None else sample_in(dtype)
        sample = sample._replace(is_causal=True)
        if not isinstance(_answer(runner, sample, first), str):
            break
    else:
        return None
    whole = _whole(runner, sample)
    if whole is None:
        return None
    if not is_causal:
        return _compared(runner, sample, whole, _ONE_BY_ONE, "tokens that come one by one")
    said = f"{_FIRST} tokens that come at once, and others one by one,"
    return _compared(runner, sample, whole, _THEN_ONE_BY_ONE, said) or _compared(
        runner, sample, whole, _CHUNKS, "several tokens in each call", may_refuse=True
    )


def _whole(runner: LayerRunner, sample: Sample) -> Array | None:
    """Return the output of all tokens without a cache; None where a token does not see those up to itself alone."""
    is_causal = runner.reading.causality != "none"
    begun: list[Array] = []
    try:
        for end in (_FIRST, TOKENS) if is_causal else range(1, TOKENS + 1):
            tokens = sample.tokens[:, :end]
            call = Call(tokens, tokens, tokens, None, is_causal)
            begun.append(runner.run(call, sample.weights, sample.heads)[0])
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    if not is_causal:
        # The last token of each beginning sees all before it.
        return np.concatenate([each[:, -1:] for each in begun], axis=1)
    first, whole = begun
    return whole if are_alike(first, whole[:, :_FIRST]) else None


def _answer(runner: LayerRunner, sample: Sample, parts: Sequence[tuple[int, int]]) -> Array | str:
    """Return the output of tokens that come in parts, or the words of what was raised."""
    try:
        return runner.run_in_parts(sample.call, sample.weights, sample.heads, parts).output
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]


def _compared(
    runner: LayerRunner,
    sample: Sample,
    whole: Array,
    parts: Sequence[tuple[int, int]],
    said: str,
    *,
    may_refuse: bool = False,
) -> str:
    """Return how tokens that come in parts go wrong; empty where they do not, or parts may be refused, and are."""
    got = _answer(runner, sample, parts)
    if isinstance(got, str):
        return "" if may_refuse else f"with a cache, {said} raised {got}"
    if are_alike(got, whole):
        return ""
    rotation = runner.rotation
    if "w_query" not in sample.weights:
        return f"with a cache, {said} give another output than all tokens at once: {difference(got, whole)}"
    for sentence, mistake in cache_mistakes(has_rotation=rotation is not None):
        if are_alike(got, in_parts(sample, parts, rotation, mistake)):
            return f"with a cache, {sentence}: {difference(got, whole)}"
    return f"with a cache, {said} give another output than all tokens at once: {difference(got, whole)}"
