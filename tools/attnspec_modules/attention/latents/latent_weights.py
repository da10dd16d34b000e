"""Matrices of latent attention: those of a case and of multi-head attention as tensors of a layer, and its parameters.

=================================== =====================================================================
Tensor                              Meaning
=================================== =====================================================================
``query_down``                      tokens to the latents of queries (D, R), where there are any
``content``, ``rotary``             tokens or their latents to both parts of queries (D or R, H, n), (…, H, p)
``latent``, ``key_rotary``          tokens to latents (D, C), and to rotated keys (D, p)
``up_key``, ``up_value``            latents to keys and values (C, H, n), (C, H, v)
``output``                          values to the output (H, v, D)
=================================== =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.latents.latent_widths import Chosen, Needed
from attnspec_modules.attention.layer_reading import LatentTies, LatentWidths, Placement

Array = NDArray[Any]
Tensors = Mapping[str, Array]

SIDE_BY_SIDE = (
    ("query_down", "latent", "key_rotary"),
    ("latent", "key_rotary"),
    ("content", "rotary"),
    ("up_key", "up_value"),
)
"""Tensors that one parameter may hold, in the usual order."""


def tensors_of(ties: LatentTies, *, has_query_down: bool) -> frozenset[str]:
    """Return the tensors that a layer has to hold."""
    rotary = {"rotary", "key_rotary"} if ties.has_rotary else set[str]()
    down = {"query_down"} if has_query_down else set[str]()
    return frozenset({"content", "latent", "up_key", "up_value", "output", *rotary, *down})


def shape_of(name: str, widths: LatentWidths, tokens: int, heads: int, *, has_query_down: bool) -> tuple[int, ...]:
    """Return the shape of a tensor of a layer."""
    of_queries = widths.query_latent if has_query_down else tokens
    return {
        "query_down": (tokens, widths.query_latent),
        "content": (of_queries, heads, widths.content),
        "rotary": (of_queries, heads, widths.rotary),
        "latent": (tokens, widths.latent),
        "key_rotary": (tokens, widths.rotary),
        "up_key": (widths.latent, heads, widths.content),
        "up_value": (widths.latent, heads, widths.value_width),
        "output": (heads, widths.value_width, tokens),
    }[name]


def needed_for(tensors: Tensors) -> Needed:
    """Return the features that a layer has to have for some tensors."""
    heads, value, tokens = tensors["output"].shape
    content, down = tensors["content"].shape[2], tensors.get("query_down")
    latent, rotary = tensors["latent"].shape[1], tensors["rotary"].shape[2]
    return Needed(heads, content, rotary, value, latent, tokens, None if down is None else down.shape[1])


def of_multi_head(weights: Tensors, heads: int, ties: LatentTies) -> Tensors:
    """Return multi-head attention (D, D) as latent attention whose latents are the tokens, and nothing is rotated.

    Three quarters of a head's features are rotary ones, and 0, so that its scale is half of what it was.
    """
    width, dtype = weights["w_query"].shape[0], weights["w_query"].dtype
    query, key, value = (weights[f"w_{name}"].reshape(width, heads, -1) for name in ("query", "key", "value"))
    features = query.shape[2]
    rotary = 3 * features if ties.has_rotary else 0
    return {
        "content": query * dtype.type(2 if rotary else 1),
        "rotary": np.zeros((width, heads, rotary), dtype),
        "latent": np.eye(width, dtype=dtype),
        "key_rotary": np.zeros((width, rotary), dtype),
        "up_key": key,
        "up_value": value,
        "output": weights["w_output"].reshape(heads, features, -1),
    }


def of_case(
    content: Array, rotary: Array, latent: Array, key_rotary: Array, w_key: Array, w_value: Array, ties: LatentTies
) -> tuple[Array, Tensors]:
    """Return tokens (B, S, D) in which queries, latents and rotated keys stand side by side, and what picks them out.

    All have the same tokens: queries (B, H, S, n) and (B, H, S, p), latents (B, S, C) and rotated keys (B, S, p). A
    layer without rotary features has them at the end of queries and of latents, of which every head takes them.
    """
    if not ties.has_rotary and rotary.shape[3]:
        content, latent = np.concatenate([content, rotary], axis=-1), np.concatenate([latent, key_rotary], axis=-1)
        w_key, w_value = _with_shared_key(w_key, w_value, key_rotary.shape[2])
        rotary, key_rotary = rotary[..., :0], key_rotary[..., :0]
    batch, heads, length, _ = content.shape
    parts = [
        *(each.transpose(0, 2, 1, 3).reshape(batch, length, heads * each.shape[3]) for each in (content, rotary)),
        latent,
        key_rotary,
    ]
    tokens = np.concatenate(parts, axis=-1)
    values = heads * w_value.shape[2]
    missing = max(0, values - tokens.shape[-1])
    tokens = np.concatenate([tokens, np.zeros((batch, length, missing), tokens.dtype)], axis=-1)
    width = tokens.shape[-1]
    ends = np.cumsum([0, *(part.shape[-1] for part in parts)])
    same = np.eye(width, dtype=tokens.dtype)
    own = [same[:, begin:end] for begin, end in pairwise(ends)]
    return tokens, {
        "content": own[0].reshape(width, heads, -1),
        "rotary": own[1].reshape(width, heads, -1) if rotary.shape[3] else np.zeros((width, heads, 0), tokens.dtype),
        "latent": own[2],
        "key_rotary": own[3],
        "up_key": w_key.transpose(1, 0, 2),
        "up_value": w_value.transpose(1, 0, 2),
        "output": same[:values].reshape(heads, -1, width),
    }


def _with_shared_key(w_key: Array, w_value: Array, features: int) -> tuple[Array, Array]:
    """Return matrices of each head with so many rows more: keys end with them, and values do not have them."""
    heads, latent, width = w_key.shape
    keys = np.zeros((heads, latent + features, width + features), w_key.dtype)
    keys[:, :latent, :width] = w_key
    keys[:, latent:, width:] = np.eye(features)
    return keys, np.concatenate([w_value, np.zeros((heads, features, w_value.shape[2]), w_value.dtype)], axis=1)


def widened(tensors: Tensors, chosen: Chosen, *, has_query_down: bool) -> dict[str, Array]:
    """Return tensors as wide as a layer has them, queries multiplied by its factor; further features are 0."""
    heads = tensors["output"].shape[0]
    found = dict(tensors)
    for name in ("content", "rotary"):
        found[name] = found[name] * found[name].dtype.type(chosen.factor)
    shapes = {
        name: shape_of(name, chosen.widths, chosen.tokens, heads, has_query_down="query_down" in found)
        for name in found
    }
    found = {name: _within(array, shapes[name]) for name, array in found.items()}
    if has_query_down and "query_down" not in found:
        # Latents of queries are the queries themselves.
        joined = np.concatenate([found["content"], found["rotary"]], axis=-1)
        found["query_down"] = _within(joined.reshape(chosen.tokens, -1), (chosen.tokens, chosen.widths.query_latent))
        picked = np.eye(chosen.widths.query_latent, heads * chosen.widths.joined, dtype=joined.dtype)
        picked = picked.reshape(-1, heads, chosen.widths.joined)
        found["content"], found["rotary"] = picked[..., : chosen.widths.content], picked[..., chosen.widths.content :]
    return found


def _within(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array at the beginning of zeros of a shape."""
    found = np.zeros(shape, array.dtype)
    found[tuple(slice(length) for length in array.shape)] = array
    return found


def filled_latents(
    placements: Mapping[str, Placement], shapes: Mapping[str, tuple[int, ...]], tensors: Tensors
) -> dict[str, Array]:
    """Return the numbers of each parameter; one that holds no tensor, as a bias, is 0."""
    dtype = tensors["latent"].dtype
    return {
        path: _placed(placements[path], tensors).reshape(shape) if path in placements else np.zeros(shape, dtype)
        for path, shape in shapes.items()
    }


def _placed(placement: Placement, tensors: Tensors) -> Array:
    """Return tensors in the axes of a parameter: d what they are applied to, h heads, e the features that they make."""
    arrays = [tensors[name] for name in placement.tensors]
    if placement.tensors == ("output",):
        letters = "hed"
    elif arrays[0].ndim == 3 and "h" in placement.axes:
        letters = "dhe"
    else:
        letters, arrays = "de", [array.reshape(array.shape[0], -1) for array in arrays]
    joined = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)
    return joined.transpose([letters.index(letter) for letter in placement.axes])
