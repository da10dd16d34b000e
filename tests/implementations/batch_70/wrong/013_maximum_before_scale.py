import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Narrow, base.Attention):
    def maximum(self):
        if self.softcap or self.alibi_slopes is not None or (self.mask is not None and self.mask.dtype != bool):
            return super().maximum()
        largest = np.where(self.allowed, self.dots(), -base.INFINITY).max(axis=-1, initial=-base.INFINITY)
        scaled = np.where(self.allowed.any(axis=-1), largest * self.factor, -base.INFINITY)
        return scaled if self.sinks is None else np.maximum(scaled, self.sink_column())


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()
