import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def like(reference, array):
    """The array with the strides of the reference, as a kernel that gets one set of strides for both."""
    if array.shape != reference.shape or array.dtype != reference.dtype or not array.size:
        return array
    store = array
    while isinstance(store.base, np.ndarray):
        store = store.base
    if store.nbytes < sum((n - 1) * abs(s) for n, s in zip(reference.shape, reference.strides)) + array.itemsize or min(reference.strides) < 0:
        return array
    if min(array.strides) < 0:
        return array
    return np.lib.stride_tricks.as_strided(array, array.shape, reference.strides)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    value = like(key, value) if value.ndim == 4 else value
    return base.scaled_dot_product_attention(
        query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes, is_causal,
        causal_alignment, scale, softcap, window)

dtypes = ("float64", "float32")
