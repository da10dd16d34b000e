"""Attention that is right but for a factor of its scale or of its output, fused or as a chain of calls."""

from types import SimpleNamespace

import numpy as np

from attnspec.contract.dtypes import rounded_to
from attnspec.families.attention.folding import plain_attention
from attnspec.process.opening import behind_layers
from attnspec.targets.in_process import InProcessImplementation
from attnspec.targets.target import Target

CONVENTIONS = {"input_checks": "lenient", "masked_nonfinite": "propagates"}


def adapter(*, chained, scale=1.0, output=1.0, rounded=None, dtypes=("bfloat16",), **conventions):
    """Return an adapter to attention whose scale and output are so many times what they must be.

    Each step is stored if `chained`. `rounded`: the scale, or its root, is itself stored in half precision.
    """
    off = scale

    def attend(query, key, value, mask, scale, softcap=None, sinks=None):
        factor = scale * off
        dtype = query.dtype
        wide = np.float32 if dtype.itemsize == 2 else dtype.type

        def stored(array):
            return array.astype(dtype).astype(wide) if chained else array

        if rounded == "scale":
            factor = float(rounded_to(np.array(scale), dtype.name))
        if rounded == "root":
            factor = float(rounded_to(np.array(scale**0.5), dtype.name)) ** 2
        query, key, value = (array.astype(wide) for array in (query, key, value))
        logits = stored(stored(query @ key.swapaxes(-1, -2)) * wide(factor))
        if softcap:
            logits = stored(wide(softcap) * np.tanh(logits / wide(softcap)))
        if mask is not None:
            added = np.where(mask, 0, -np.inf).astype(wide) if mask.dtype == bool else mask.astype(wide)
            logits = stored(logits + added)
        if sinks is not None:
            column = np.broadcast_to(sinks.astype(wide).reshape(1, -1, 1, 1), (*logits.shape[:-1], 1))
            logits = np.concatenate([logits, column], axis=-1)
        largest = np.max(logits, axis=-1, keepdims=True, initial=np.finfo(np.float32).min)
        exponentials = np.exp(stored(logits - largest)).astype(wide)
        total = exponentials.sum(axis=-1, keepdims=True)
        weights = stored(exponentials / np.where(total > 0, total, 1))[..., : key.shape[-2]]
        return (weights @ value * wide(output)).astype(dtype)

    return SimpleNamespace(
        scaled_dot_product_attention=plain_attention(attend),
        name="pulling",
        dtypes=dtypes,
        conventions={**CONVENTIONS, **conventions},
    )


def implementation(**of_adapter):
    """Return the same, as it is called by a run."""
    return behind_layers(InProcessImplementation(adapter(**of_adapter), "pulling"), Target())
