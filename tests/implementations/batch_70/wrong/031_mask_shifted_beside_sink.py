import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def soften(self):
        if self.mask is None or self.mask.dtype == bool or not self.T:
            return super().soften()
        largest = self.mask.max(axis=-1, keepdims=True)
        largest = np.where(np.isfinite(largest), largest, 0)
        given, self.logits = self.logits, np.where(self.allowed, self.logits - largest, -base.INFINITY)
        super().soften()
        self.logits = given
        dead = (self.sinks is not None) & ~self.allowed.any(axis=-1)
        self.logsumexp = np.where(dead, self.logsumexp, self.logsumexp + largest[..., 0])


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()
