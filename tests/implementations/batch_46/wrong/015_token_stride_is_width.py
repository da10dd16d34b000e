import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Served(base.Steps):
    def keys_and_values(self, c):
        v, width = c.value, c.value.shape[-1]
        if v.ndim == 4 and v.shape[2] > 1 and v.size and v.strides[3] == v.itemsize and v.strides[2] > width * v.itemsize:
            # the last axis is contiguous: hand over the pointer and the strides of batch and heads
            strides = v.strides[:2] + (width * v.itemsize, v.itemsize)
            c.value = np.lib.stride_tricks.as_strided(v, v.shape, strides, writeable=False)
        return super().keys_and_values(c)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))
