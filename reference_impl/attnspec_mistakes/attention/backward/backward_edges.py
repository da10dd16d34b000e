"""What goes wrong at the edges of masks, softmax and windows of the backward pass, and with its refusals."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.backward.backward_products import is_additive
from attnspec_mistakes.attention.forward.attention_patches import Backward, backward_with, repeating, replaying
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import on_calls
from attnspec_reference.attention.phases import largest_logit
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
    sum_for_keys,
    sum_for_queries,
)
from attnspec_reference.precision import Array, Booleans, Integers


def hidden_below(lowest: float) -> Backward:
    """Make a backward pass that takes numbers of a mask from somewhere on downwards for minus infinity."""

    def changed(given: Mapping[str, Any]) -> Mapping[str, Any]:
        mask = given["mask"]
        if mask is None or not is_additive(mask):
            return {}
        return {"mask": np.where(np.less(mask, lowest), -np.inf, mask).astype(np.asarray(mask).dtype)}

    return repeating(changed)


def largest_not_below(lowest: float) -> Backward:
    """Make a backward pass whose softmax begins its search for the largest logit at a number, not at minus infinity."""
    return replaying(
        largest_logit=lambda terms: np.maximum(largest_logit(terms), np.asarray(lowest, dtype=terms.dtype))
    )


def largest_of_keys(**arguments: Any) -> AttentionGradients:
    """Leave the sink, which is the last of the terms, out of the search for the largest logit."""
    if arguments.get("sinks") is None:
        return scaled_dot_product_attention_backward(**arguments)

    def largest(terms: Array) -> Array:
        found = largest_logit(terms[..., :-1])
        return np.where(found == -np.inf, largest_logit(terms), found)

    return replaying(largest_logit=largest)(**arguments)


def skipping(reached: Callable[[Booleans], Booleans]) -> Backward:
    """Make a windowed backward pass that goes over some of the scores that may be attended to, and over no others."""

    def of_queries(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
        kept = reached(attendable)
        return sum_for_queries(np.where(kept, grad_scores, 0), key, attendable & kept)

    def of_keys(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        kept = reached(attendable)
        return sum_for_keys(np.where(kept, of_scores, 0), of_queries, attendable & kept)

    patched = backward_with(sum_for_queries=of_queries, sum_for_keys=of_keys)
    return on_calls(scaled_dot_product_attention_backward, lambda given: given.get("window") is not None, patched)


def without_cut_tile(tile: int, *, last: bool) -> Callable[[Booleans], Booleans]:
    """Leave out a tile of keys of which the window leaves a query no more than the key at its border."""

    def reached(attendable: Booleans) -> Booleans:
        keys = attendable.shape[-1]
        positions: Integers = np.arange(keys, dtype=np.int64)
        some = attendable.any(axis=-1, keepdims=True)
        if not keys:
            return attendable
        if last:
            edge = keys - 1 - np.argmax(attendable[..., ::-1], axis=-1)[..., np.newaxis]
            cut = (edge % tile == 0) & (positions == edge) & (edge > 0)
        else:
            edge = np.argmax(attendable, axis=-1)[..., np.newaxis]
            cut = (edge % tile == tile - 1) & (positions == edge) & (edge < keys - 1)
        return ~(cut & some)

    return reached


def fitted(array: Any, shape: tuple[int, ...]) -> Any:
    """Repeat or cut an array until it has a shape."""
    found = np.asarray(array)
    found = found.reshape((1,) * (len(shape) - found.ndim) + found.shape) if found.ndim <= len(shape) else found
    if found.ndim != len(shape) or 0 in found.shape:
        return array
    indices = [np.arange(length) % found.shape[axis] for axis, length in enumerate(shape)]
    return found[np.ix_(*indices)]


def of_queries(arguments: Mapping[str, Any]) -> tuple[int, ...]:
    """Return (B, Hq, Sq)."""
    return np.shape(arguments["query"])[:3]


def fitting(shape_of: Callable[[Mapping[str, Any]], tuple[int, ...]], *names: str) -> Backward:
    """Make a backward pass that makes some arguments fit."""

    def computed(**arguments: Any) -> AttentionGradients:
        given = [name for name in names if arguments.get(name) is not None]
        changed = {name: fitted(arguments[name], shape_of(arguments)) for name in given}
        return scaled_dot_product_attention_backward(**{**arguments, **changed})

    return computed


def mask_fitted(**arguments: Any) -> AttentionGradients:
    """Make the mask fit the scores."""
    mask = arguments.get("mask")
    scores = (*of_queries(arguments), np.shape(arguments["key"])[2])
    if mask is not None and np.ndim(mask) >= 1:
        arguments["mask"] = fitted(mask, scores)
    return scaled_dot_product_attention_backward(**arguments)


def lengths_cut(**arguments: Any) -> AttentionGradients:
    """Bring lengths into their range."""
    for name, tokens in (("key_lengths", "key"), ("query_lengths", "query")):
        if arguments.get(name) is not None:
            arguments[name] = np.clip(arguments[name], 0, np.shape(arguments[tokens])[2])
    return scaled_dot_product_attention_backward(**arguments)


def features_cut(**arguments: Any) -> AttentionGradients:
    """Compare only the features that both query and key have, and give the others the gradient 0."""
    query, key = arguments["query"], arguments["key"]
    widths = (np.shape(query)[-1], np.shape(key)[-1])
    width = min(widths)
    arguments |= {"query": query[..., :width], "key": key[..., :width]}
    gradients = scaled_dot_product_attention_backward(**arguments)
    padded = [
        np.pad(gradient, [(0, 0)] * 3 + [(0, whole - width)])
        for gradient, whole in zip((gradients.grad_query, gradients.grad_key), widths, strict=True)
    ]
    return gradients._replace(grad_query=padded[0], grad_key=padded[1])


def axes_added(**arguments: Any) -> AttentionGradients:
    """Put the axes that are missing before the others, and take them away from the gradients."""
    missing = 4 - np.ndim(arguments["query"])
    whole = ("grad_output", "query", "key", "value", "output", "logsumexp", "grad_logsumexp")
    for name in whole if missing > 0 else ():
        if arguments.get(name) is not None:
            arguments[name] = np.asarray(arguments[name])[(np.newaxis,) * missing]
    gradients = scaled_dot_product_attention_backward(**arguments)
    given = {name: array for name, array in gradients._asdict().items() if array is not None and missing > 0}
    return gradients._replace(**{name: array[(0,) * missing] for name, array in given.items()})


def entries_repeated(**arguments: Any) -> AttentionGradients:
    """Repeat keys and values of one batch entry, and sum what they get."""
    batch: int = np.shape(arguments["query"])[0]
    alone: list[str] = []
    for name in ("key", "value"):
        if np.shape(arguments[name])[0] == 1 != batch:
            alone.append(f"grad_{name}")
            arguments[name] = np.repeat(arguments[name], batch, axis=0)
    gradients = scaled_dot_product_attention_backward(**arguments)
    of_entries = gradients._asdict()
    return gradients._replace(**{name: of_entries[name].sum(axis=0, keepdims=True) for name in alone})


def heads_found(**arguments: Any) -> AttentionGradients:
    """Find a key head for every query head, also where they do not go into groups."""
    heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
    if not shared or heads % shared == 0:
        return scaled_dot_product_attention_backward(**arguments)
    own = [head * shared // heads for head in range(heads)]
    for name in ("key", "value"):
        arguments[name] = np.asarray(arguments[name])[:, own]
    gradients = scaled_dot_product_attention_backward(**arguments)

    def summed(of_heads: Any) -> Any:
        sums = np.zeros((of_heads.shape[0], shared, *of_heads.shape[2:]), of_heads.dtype)
        for head, group in enumerate(own):
            sums[:, group] += of_heads[:, head]
        return sums

    return gradients._replace(grad_key=summed(gradients.grad_key), grad_value=summed(gradients.grad_value))


FUNCTIONS: Mapping[str, Making] = {
    **{
        f"sdpa_backward.mask_below_{name}_excludes": hidden_below(lowest)
        for name, lowest in (("ten_thousand", -10000.0), ("half_precision", -65504.0), ("million", -1000000.0))
    },
    **{
        f"sdpa_backward.largest_from_{name}": largest_not_below(lowest)
        for name, lowest in (("ten_thousand", -10000.0), ("zero", 0.0))
    },
    "sdpa_backward.largest_of_keys_alone": largest_of_keys,
    **{
        f"sdpa_backward.window_{side}_tile_skipped_of_{tile}": skipping(without_cut_tile(tile, last=last))
        for tile in (8, 16, 32, 64)
        for side, last in (("first", False), ("last", True))
    },
    "sdpa_backward.axes_added": axes_added,
    "sdpa_backward.entries_repeated": entries_repeated,
    "sdpa_backward.heads_found": heads_found,
    "sdpa_backward.gradient_fitted": fitting(
        lambda given: (*of_queries(given), np.shape(given["value"])[-1]), "grad_output", "output"
    ),
    "sdpa_backward.logsumexp_fitted": fitting(of_queries, "logsumexp", "grad_logsumexp"),
    "sdpa_backward.mask_fitted": mask_fitted,
    "sdpa_backward.lengths_cut": lengths_cut,
    "sdpa_backward.features_cut": features_cut,
}
