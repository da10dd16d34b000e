"""The reference over more scores than fit into memory at once: a block of queries after the other.

Each block is a call of the reference itself. Keys before a block become its past, so that its queries stand where they
stood; keys that none of them may attend are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any

import numpy as np

from attnspec_reference.attention.scaled_dot_product_attention import Attention
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention as whole
from attnspec_reference.precision import result_dtype

__all__ = ["scaled_dot_product_attention"]

_LARGEST = 2**22
"""Scores of one call: an array of them in float64 takes 32 MiB, and the reference makes about ten."""


@wraps(whole)
def scaled_dot_product_attention(**arguments: Any) -> Any:
    """Attend as the reference does; of a call with many scores, give the output and the logsumexp alone."""
    batch, heads, queries, _ = np.shape(arguments["query"])
    if batch * heads * queries * _tokens(arguments, "key").shape[2] <= _LARGEST or arguments.get("mask") is not None:
        return whole(**arguments)
    dtype = result_dtype(arguments["query"])
    output = np.zeros((batch, heads, queries, np.shape(arguments["value"])[3]), dtype=dtype)
    logsumexp = np.full((batch, heads, queries), -np.inf, dtype=dtype)
    for entry in range(batch):
        for rows, attention in _blocks(entry, arguments):
            output[entry, :, rows], logsumexp[entry, :, rows] = attention.output[0], attention.logsumexp[0]
    return {"output": output, "logsumexp": logsumexp}


def _blocks(entry: int, arguments: dict[str, Any]) -> Iterator[tuple[slice, Attention]]:
    """Attend with the queries of a batch entry, a block after the other."""
    key, value = (_tokens(arguments, name)[[entry]] for name in ("key", "value"))
    query = np.asarray(arguments["query"])[[entry]]
    counted, end = (
        whole_length if arguments.get(name) is None else int(arguments[name][entry])
        for name, whole_length in (("query_lengths", query.shape[2]), ("key_lengths", key.shape[2]))
    )
    offset = key.shape[2] - np.shape(arguments["key"])[2]
    if arguments.get("causal_alignment") == "bottom_right":
        offset = end - counted
    left, right = arguments.get("window") or (None, None)
    is_causal = bool(arguments.get("is_causal"))
    kept = {name: arguments[name] for name in _KEPT if arguments.get(name) is not None}
    many = max(1, _LARGEST // (query.shape[1] * max(end, 1)))
    for start in range(0, counted, many):
        stop = min(start + many, counted)
        # Between these keys lie all that the block may attend to, and where its first query stands.
        first = 0 if left is None else max(0, min(offset + start - left, end))
        last = end if right is None else min(end, offset + stop + right)
        last = max(first, min(last, offset + stop) if is_causal else last)
        before = offset + start - first
        if not 0 <= before <= last - first:
            raise NotImplementedError("the reference takes no so many queries that stand beside all keys")
        middle = first + before
        yield (
            slice(start, stop),
            whole(
                query=query[:, :, start:stop],
                key=key[:, :, middle:last],
                value=value[:, :, middle:last],
                past_key=key[:, :, first:middle],
                past_value=value[:, :, first:middle],
                **kept,
            ),
        )


_KEPT = ("sinks", "alibi_slopes", "is_causal", "scale", "softcap", "window")
"""The arguments that a block gets as they are."""


def _tokens(arguments: dict[str, Any], name: str) -> Any:
    """Return keys or values, those of the past first."""
    parts = [arguments[part] for part in (f"past_{name}", name) if arguments.get(part) is not None]
    return np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts, axis=2)
