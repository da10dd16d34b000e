import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def axes_in_memory(array):
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]) if array.shape[axis] > 1 else 0)


def as_key_lies(key, value):
    """The buffer of the values, walked by the strides of the keys."""
    of_key, of_value = axes_in_memory(key), axes_in_memory(value)
    buffer = np.ascontiguousarray(value.transpose(of_value))
    return buffer.reshape([value.shape[axis] for axis in of_key]).transpose(np.argsort(of_key))


class Attention(base.Attention):
    def prepare(self):
        if self.key.shape == self.value.shape and self.key.size:
            given = self.value
            self.value = as_key_lies(self.key, given)
            super().prepare()
            self.value = given
        else:
            super().prepare()


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())
