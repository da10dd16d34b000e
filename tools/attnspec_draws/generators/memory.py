"""Inputs of a drawn case that share memory: one array given for several, one part for many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.words import Words

ONE_ARRAY, ONE_PART = "one_array", "one_part_for_many"

_ONE_ARRAY, _OF_ALL, _ONE_PART = 5, 50, 5
"""Of a hundred draws: one array as several inputs; of these, as all of its shape; one part for all along an axis."""

_PAIR = 2
"""So many inputs can be one array."""

_STANDING = {"broadcast": 2, "heads_broadcast": 2, "tokens_broadcast": 2, "features_broadcast": 2}
"""Layouts in which one part stands for many, with weights."""

_ALONG = {"broadcast": 0, "heads_broadcast": 1, "tokens_broadcast": -2, "features_broadcast": -1}
_OF_HEADS = 4
"""The rank of tensors that have an axis of heads."""


def share_memory(
    words: Words, inputs: dict[str, NDArray[Any]], names: Sequence[str], limits: Limits
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Let required inputs `names` share memory, in place; return memory orders and the feature, mostly none."""
    if not limits.allow("presentation"):
        return {}, ()
    shared = _one_array(words, inputs, names) if limits.allow(ONE_ARRAY) else {}
    if shared:
        return shared, (ONE_ARRAY,)
    repeated = _one_part(words, inputs, names) if limits.allow(ONE_PART) else {}
    return repeated, (ONE_PART,) if repeated else ()


def _one_array(words: Words, inputs: dict[str, NDArray[Any]], names: Sequence[str]) -> dict[str, str]:
    stream = words.of("one array")
    by_shape: dict[Any, list[str]] = {}
    for name in names:
        by_shape.setdefault(inputs[name].shape, []).append(name)
    groups = [group for group in by_shape.values() if len(group) >= _PAIR and inputs[group[0]].size]
    if not stream.percent(_ONE_ARRAY) or not groups:
        return {}
    is_whole, group = stream.percent(_OF_ALL), stream.one_of(groups)
    left_out = stream.one_of(group)
    if not is_whole and len(group) > _PAIR:
        group.remove(left_out)
    for name in group[1:]:
        inputs[name] = inputs[group[0]]
    return dict.fromkeys(group, "shared")


def _one_part(words: Words, inputs: dict[str, NDArray[Any]], names: Sequence[str]) -> dict[str, str]:
    stream = words.of("one part")
    stands, name, layout = stream.percent(_ONE_PART), stream.one_of(names), stream.weighted(_STANDING)
    array, axis = inputs[name], _ALONG[layout]
    if not stands or not array.size or (layout == "heads_broadcast" and array.ndim != _OF_HEADS):
        return {}
    if array.shape[axis] == 1:
        return {}
    inputs[name] = np.broadcast_to(np.take(array, [0], axis), array.shape).copy()
    return {name: layout}
