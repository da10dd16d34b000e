"""What goes wrong when attention accepts what it must refuse: shapes made to fit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from attnspec_reference.precision import Integers

OPERATION = "scaled_dot_product_attention"


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


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.batch_not_checked",
        clause="sdpa.rejects.batch",
        sentence="Keys of another batch size than the queries were accepted, and their entries repeated.",
        engineer="The batch axis broadcasts, or wraps around, instead of being checked.",
        remedy="Refuse query, key and value of different batch sizes.",
        function=entries_repeated,
    ),
    mistake(
        id="sdpa.width_not_checked",
        clause="sdpa.rejects.width",
        sentence="Queries and keys of different widths were accepted, and the wider ones cut.",
        engineer="The inner loop bound is taken from one operand and not checked against the other.",
        remedy="Refuse queries and keys of different numbers of features.",
        function=features_cut,
    ),
    mistake(
        id="sdpa.heads_not_checked",
        clause="sdpa.rejects.grouped",
        sentence="A number of query heads that is no multiple of that of the key heads was accepted.",
        engineer="kv_head = head * num_kv_heads / num_heads, without a check of divisibility.",
        remedy="Refuse query heads that are no multiple of the key and value heads.",
        function=heads_rounded,
    ),
    mistake(
        id="sdpa.tokens_not_checked",
        clause="sdpa.rejects.length",
        sentence="Keys and values of different numbers were accepted, and the surplus left out.",
        engineer="The key loop bound is taken from one operand and not checked against the other.",
        remedy="Refuse keys and values of different numbers of tokens.",
        function=tokens_cut,
    ),
    mistake(
        id="sdpa.mask_not_checked",
        clause="sdpa.rejects.mask_shape",
        sentence="A mask that does not fit was accepted, and cut or extended.",
        engineer="The mask is indexed with clamped coordinates instead of being checked.",
        remedy="Refuse a mask that does not broadcast to (B, Hq, Sq, P + Sk).",
        function=mask_made_to_fit,
        source="https://github.com/flashinfer-ai/flashinfer/issues/3176",
    ),
    mistake(
        id="sdpa.rank_not_checked",
        clause="sdpa.rejects.rank",
        sentence="Inputs of another rank than 4 were accepted.",
        engineer="Leading axes are flattened or unsqueezed silently.",
        remedy="Refuse query, key and value of any rank but 4.",
        function=axes_added,
    ),
    mistake(
        id="sdpa.lengths_not_checked",
        clause="sdpa.rejects.length",
        sentence="Lengths that are negative or beyond the tokens were accepted.",
        engineer="Lengths are clamped to the buffer instead of being checked.",
        remedy="Refuse lengths below 0 or beyond the number of tokens, and a wrong number of them.",
        function=lengths_made_to_fit,
    ),
)
