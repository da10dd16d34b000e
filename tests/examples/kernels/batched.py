"""Attention whose keys are split into blocks, as engines split them: all are right, and some ask the batch how.

The size of a block, by name, from the batch entry's position, the number of entries, the number of queries and the
keys of the longest entry. `leaking`: rows of other entries are multiplied by 0, and added. `in_one_product`:
several queries are multiplied with keys in another order than one is, as libraries of linear algebra do it.
"""

from types import SimpleNamespace

import numpy as np

from attnspec.families.attention.folding import plain_attention
from attnspec.process.opening import behind_layers
from attnspec.targets.in_process import InProcessImplementation
from attnspec.targets.target import Target

SMALL, LARGE = 4, 1024

SIZES = {
    "fixed": lambda entry, entries, queries, longest: SMALL,
    "by_batch_size": lambda entry, entries, queries, longest: SMALL if entries > 1 else LARGE,
    "by_longest": lambda entry, entries, queries, longest: max(1, longest // 3),
    "by_one_query": lambda entry, entries, queries, longest: LARGE if queries == 1 else SMALL,
    "by_position": lambda entry, entries, queries, longest: SMALL if entry == 0 else LARGE,
}


def adapter(size="fixed", *, leaking=False, in_one_product=False, dtypes=("float64",), **conventions):
    """Return an adapter to attention that splits so, with some declared conventions."""

    def attend(query, key, value, mask, scale):
        entries, heads, queries, _ = query.shape
        allowed = np.broadcast_to(True if mask is None else mask, (entries, heads, queries, key.shape[2]))
        longest = int(allowed.any(axis=(1, 2)).sum(axis=-1).max(initial=0))
        output = np.zeros((*query.shape[:3], value.shape[-1]), query.dtype)
        backwards = in_one_product and queries > 1
        for entry, head, row in np.ndindex(entries, heads, queries):
            of = entry, head
            step = SIZES[size](entry, entries, queries, longest)
            terms = key[of] * query[of][row]
            products = (np.flip(terms, -1) if backwards else terms).sum(axis=-1)
            output[of][row] = _one_row(products, value[of], allowed[of][row], scale, step)
            if leaking:
                output[of][row] += 0 * sum(value[other, head].sum() for other in range(entries) if other != entry)
        return output

    return SimpleNamespace(
        scaled_dot_product_attention=plain_attention(attend),
        name="attention in blocks",
        dtypes=dtypes,
        without=("float_mask",),
        conventions={"input_checks": "lenient", **conventions},
    )


def _one_row(products, value, allowed, scale, size):
    """Return one row of the output, its keys taken block by block."""
    top, total, weighed = -np.inf, products.dtype.type(0), np.zeros(value.shape[-1], products.dtype)
    for start in range(0, len(products), size):
        chosen = np.flatnonzero(allowed[start : start + size]) + start
        if not len(chosen):
            continue
        logits = products[chosen] * products.dtype.type(scale)
        above = max(top, logits.max())
        shrink, exponentials = np.exp(products.dtype.type(top - above)), np.exp(logits - above)
        total = total * shrink + exponentials.sum()
        weighed = weighed * shrink + (exponentials[:, None] * value[chosen]).sum(axis=0)
        top = above
    return weighed / total if total else weighed


def implementation(*arguments, **of_adapter):
    """Return the same, as it is called by a run."""
    adapted = adapter(*arguments, **of_adapter)
    return behind_layers(InProcessImplementation(adapted, "batched"), Target())
