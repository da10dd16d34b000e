"""Memory of drawn inputs: their order and strides, one array given for several inputs, one part for many."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.words import Words, weights

MEMORY_ORDER = "presentation"
"""The word for a case of which an input has another memory order than the ordinary one."""

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
    """Let required inputs `names` share memory; return memory orders and the feature, mostly none."""
    if not limits.allow(MEMORY_ORDER):
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


_LAYOUTS = weights("memory_order")
"""Memory layouts that any numbers can have, with weights."""

_LAID_OUT, _EVERYWHERE = 25, 40
"""Of a hundred draws, how many have another layout than the ordinary one; of these, how many for all inputs."""

_FEWEST, _MOST = 20, 60
"""Of a hundred inputs, how many have that layout elsewhere, at least and at most."""


def draw_memory_order(words: Words, inputs: Mapping[str, NDArray[Any]], limits: Limits) -> dict[str, str]:
    """Draw the memory layouts of a case: the ordinary one for the most part, else another for some or for all."""
    stream = words.of(MEMORY_ORDER)
    if not stream.percent(_LAID_OUT) or not limits.allow(MEMORY_ORDER):
        return {}
    layout, everywhere, share = stream.weighted(_LAYOUTS), stream.percent(_EVERYWHERE), stream.between(_FEWEST, _MOST)
    laid_out = {
        name: array
        for name, array in inputs.items()
        if (everywhere or words.of(f"{MEMORY_ORDER} {name}").percent(share))
        and array.ndim
        and array.size
        and (array.ndim == 4 or layout not in ("heads_last", "heads_last_gapped"))
        and (array.ndim > 1 or layout != "prefix")
    }
    beside = Counter(map(_beside, laid_out.values()))
    return {name: layout for name, array in laid_out.items() if layout != "fused" or beside[_beside(array)] > 1}


def _beside(array: NDArray[Any]) -> tuple[Any, ...]:
    """Return what arrays have in common that can lie side by side along the last axis."""
    return array.dtype, *array.shape[:-1]


def laid_out(
    words: Words,
    limits: Limits,
    prefix: str,
    inputs: Mapping[str, NDArray[Any]],
    *,
    features: Iterable[str],
    clauses: Iterable[str],
    behind: Iterable[str] = (),
    clauses_behind: Iterable[str] = (),
    memory_order: Mapping[str, str] | None = None,
    **fields: Any,
) -> Drawn:
    """Return a drawn case whose memory order is drawn, too, unless its inputs share memory.

    Clauses lack their `prefix`; `behind` are features that follow the one of the memory order, as `clauses_behind` do;
    `fields` are others of `Drawn`.
    """
    memory_order = memory_order or draw_memory_order(words, inputs, limits)
    clauses = (*clauses, *(("memory_layout",) if memory_order else ()), *clauses_behind)
    return Drawn(
        inputs=inputs,
        features=(*features, *((MEMORY_ORDER,) if memory_order else ()), *behind),
        clauses=tuple(f"{prefix}.{clause}" for clause in clauses),
        memory_order=memory_order,
        **fields,
    )
