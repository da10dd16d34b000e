import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Steps):
    def prepare(self, query, key, value, *others):
        if isinstance(value, np.ndarray) and isinstance(key, np.ndarray) and value.size:
            if value.shape == key.shape and value.dtype == key.dtype and value.strides != key.strides:
                value = read(value, key.strides)
        return super().prepare(query, key, value, *others)


def read(value, strides):
    reach = [(n - 1) * s for n, s in zip(value.shape, strides)]
    start = value.__array_interface__["data"][0]
    low, high = np.lib.array_utils.byte_bounds(value)
    first, last = start + sum(min(r, 0) for r in reach), start + sum(max(r, 0) for r in reach) + value.itemsize
    if first < low or last > high:  # never outside of the array
        return value
    return np.lib.stride_tricks.as_strided(value, value.shape, strides, writeable=False)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )
