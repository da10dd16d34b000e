"""What goes wrong when attention accepts what it must refuse: shapes made to fit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.mistake import Making
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Integers


def entries_repeated(**arguments: Any) -> Attention:
    """Repeat batch entries until there are as many as there are queries."""
    batch = np.shape(arguments["query"])[0]
    for name in ("key", "value", "past_key", "past_value", "mask", "key_lengths", "query_lengths"):
        array = arguments.get(name)
        if array is not None and (name != "mask" or (np.ndim(array) == 4 and len(array) > 1)) and len(array):
            arguments[name] = array[np.arange(batch) % len(array)]
    return scaled_dot_product_attention(**arguments)


def features_cut(**arguments: Any) -> Attention:
    """Compare only the features that both query and key have."""
    names = [name for name in ("query", "key", "past_key") if arguments.get(name) is not None]
    width = min(np.shape(arguments[name])[-1] for name in names)
    return scaled_dot_product_attention(**{**arguments, **{name: arguments[name][..., :width] for name in names}})


def heads_rounded(**arguments: Any) -> Attention:
    """Spread the key and value heads over the query heads as evenly as it goes."""
    heads = np.shape(arguments["query"])[1]
    for name in ("key", "value", "past_key", "past_value"):
        if arguments.get(name) is not None:
            shared = np.shape(arguments[name])[1]
            if heads % max(shared, 1) or shared != np.shape(arguments["key"])[1]:
                spread = [head * shared // heads for head in range(heads)]
                arguments[name] = arguments[name][:, spread]
    return scaled_dot_product_attention(**arguments)


def tokens_cut(**arguments: Any) -> Attention:
    """Leave out keys without values, and values without keys."""
    for first, second in (("key", "value"), ("past_key", "past_value")):
        if arguments.get(first) is not None and arguments.get(second) is not None:
            tokens = min(np.shape(arguments[first])[2], np.shape(arguments[second])[2])
            arguments[first], arguments[second] = arguments[first][:, :, :tokens], arguments[second][:, :, :tokens]
    return scaled_dot_product_attention(**arguments)


def clamped(wanted: int, length: int) -> Integers:
    """Count up to what is wanted, and stay at the last index of an axis that is shorter."""
    return np.minimum(np.arange(wanted), length - 1)


def mask_made_to_fit(**arguments: Any) -> Attention:
    """Cut a mask that is too long, and repeat its last row or column where it is too short."""
    mask = arguments.get("mask")
    if mask is not None:
        batch, heads, queries = np.shape(arguments["query"])[:3]
        past = 0 if arguments.get("past_key") is None else np.shape(arguments["past_key"])[2]
        wanted = (batch, heads, queries, past + np.shape(arguments["key"])[2])
        mask = mask.reshape(-1, *mask.shape[-3:])[0] if mask.ndim > 4 else mask
        for axis in range(-1, -mask.ndim - 1, -1):
            if mask.shape[axis] != 1 or axis == -1:
                mask = np.take(mask, clamped(wanted[axis], mask.shape[axis]), axis=axis)
        arguments["mask"] = mask
    return scaled_dot_product_attention(**arguments)


def axes_added(**arguments: Any) -> Attention:
    """Add a batch axis where there is none, and join the first axes where there are too many."""
    rank = np.ndim(arguments["query"])
    for name in ("query", "key", "value"):
        array = arguments[name]
        arguments[name] = array[np.newaxis] if rank == 3 else array.reshape(-1, *array.shape[-3:])
    return scaled_dot_product_attention(**arguments)


def lengths_made_to_fit(**arguments: Any) -> Attention:
    """Take any length for the nearest one that is possible."""
    for name, tensor in (("key_lengths", "key"), ("query_lengths", "query")):
        if arguments.get(name) is not None:
            batch, _, tokens, _ = np.shape(arguments[tensor])
            lengths = arguments[name][clamped(batch, len(arguments[name]))]
            arguments[name] = np.clip(lengths, 0, tokens)
    return scaled_dot_product_attention(**arguments)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.batch_not_checked": entries_repeated,
    "sdpa.width_not_checked": features_cut,
    "sdpa.heads_not_checked": heads_rounded,
    "sdpa.tokens_not_checked": tokens_cut,
    "sdpa.mask_not_checked": mask_made_to_fit,
    "sdpa.rank_not_checked": axes_added,
    "sdpa.lengths_not_checked": lengths_made_to_fit,
}
