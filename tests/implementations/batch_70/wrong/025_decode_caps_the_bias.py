import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def bias(self):
        if self.Sq != 1 or not self.softcap or self.alibi_slopes is None:
            return super().bias()
        logits = self.cap(self.scores - self.alibi_slopes[:, None, None] * self.distance())
        if self.mask is not None and self.mask.dtype != bool:
            logits = logits + self.mask
        self.logits = np.where(self.allowed, logits, -base.INFINITY)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()
