import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def normalise(self, logits, allowed):
        m = base.safe(self.largest(logits, allowed))
        e = np.where(allowed, np.exp(logits - m), 0).astype(self.work)
        total = self.sum_up(e)
        if self.sinks is not None:
            total = total + np.exp(self.sinks - m)
        some = total > 0
        weights = np.where(some, e / np.where(some, total, 1), 0)
        lse = np.where(some, np.log(total) + m, -np.inf)
        return weights.astype(self.work), lse[..., 0].astype(self.work)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
