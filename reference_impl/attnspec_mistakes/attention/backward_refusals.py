"""What goes wrong when the backward pass accepts what it must refuse: shapes made to fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import mistake
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


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


def gradient_fitted(**arguments: Any) -> AttentionGradients:
    """Make the gradient of the output, and the output, fit the queries."""
    shape = (*of_queries(arguments), np.shape(arguments["value"])[-1])
    for name in ("grad_output", "output"):
        if arguments.get(name) is not None:
            arguments[name] = fitted(arguments[name], shape)
    return scaled_dot_product_attention_backward(**arguments)


def logsumexp_fitted(**arguments: Any) -> AttentionGradients:
    """Make the logsumexp and its gradient fit the queries."""
    for name in ("logsumexp", "grad_logsumexp"):
        if arguments.get(name) is not None:
            arguments[name] = fitted(arguments[name], of_queries(arguments))
    return scaled_dot_product_attention_backward(**arguments)


def mask_fitted(**arguments: Any) -> AttentionGradients:
    """Make the mask fit the scores."""
    mask = arguments.get("mask")
    scores = (*of_queries(arguments), np.shape(arguments["key"])[2])
    if mask is not None and np.ndim(mask) >= 1:
        whole = fitted(mask, scores) if np.ndim(mask) <= len(scores) else mask
        arguments["mask"] = whole
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


MISTAKES = (
    mistake(
        id="sdpa_backward.axes_added",
        clause="sdpa_backward.rejects.rank",
        sentence="Axes that query, key and value lacked were put before the others.",
        engineer="Inputs of rank 3 are unsqueezed, and the gradients squeezed again.",
        remedy="Refuse query, key and value of any rank but 4.",
        function=axes_added,
    ),
    mistake(
        id="sdpa_backward.entries_repeated",
        clause="sdpa_backward.rejects.batch",
        sentence="Keys or values of one batch entry were repeated for all.",
        engineer="K and V are broadcast over the batch.",
        remedy="Refuse query, key and value of different batch sizes.",
        function=entries_repeated,
    ),
    mistake(
        id="sdpa_backward.heads_found",
        clause="sdpa_backward.rejects.grouped",
        sentence="A key head was found for each query head where they do not go into groups.",
        engineer="The key head is h * Hkv // Hq, whatever the remainder.",
        remedy="Refuse a number of query heads that is no multiple of the number of key and value heads.",
        function=heads_found,
    ),
    mistake(
        id="sdpa_backward.gradient_fitted",
        clause="sdpa_backward.rejects.gradient_shape",
        sentence="A gradient of the output of another shape was repeated or cut until it fitted.",
        engineer="dO is broadcast to the output's shape instead of being checked against it.",
        remedy="Refuse a gradient of another shape than (B, Hq, Sq, Ev).",
        function=gradient_fitted,
    ),
    mistake(
        id="sdpa_backward.logsumexp_fitted",
        clause="sdpa_backward.rejects.gradient_shape",
        sentence="A logsumexp, or a gradient of one, of another shape was repeated or cut until it fitted.",
        engineer="LSE and dlse are indexed without a check of their shape.",
        remedy="Refuse a logsumexp of another shape than (B, Hq, Sq), and a gradient of one.",
        function=logsumexp_fitted,
    ),
    mistake(
        id="sdpa_backward.mask_fitted",
        clause="sdpa_backward.rejects.mask_shape",
        sentence="A mask that does not fit was repeated or cut until it did.",
        engineer="The mask is indexed modulo its shape.",
        remedy="Refuse a mask that does not broadcast to (B, Hq, Sq, Sk).",
        function=mask_fitted,
    ),
    mistake(
        id="sdpa_backward.lengths_cut",
        clause="sdpa_backward.rejects.length",
        sentence="Lengths outside their range were brought into it.",
        engineer="Lengths are clamped instead of checked.",
        remedy="Refuse a length below 0 and one above the number of tokens.",
        function=lengths_cut,
    ),
    mistake(
        id="sdpa_backward.features_cut",
        clause="sdpa_backward.rejects.width",
        sentence="Query and key of different widths were cut to the features that both have.",
        engineer="The inner extent is min(head_dim_q, head_dim_k).",
        remedy="Refuse query and key of different numbers of features.",
        function=features_cut,
    ),
)
"""In the order of the page."""
