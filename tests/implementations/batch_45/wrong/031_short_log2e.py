import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LOG2E = 1.44269504


class Kernel(base.Attention):
    def normalise(self, logits, allowed):
        m = base.safe(self.largest(logits, allowed))
        e = np.where(allowed, np.exp2((logits - m) * self.work.type(LOG2E)), 0).astype(self.work)
        total = self.sum_up(e)
        if self.sinks is not None:
            total = total + np.exp2((self.sinks - m) * self.work.type(LOG2E))
        weights = np.where(allowed, e / np.where(total == 0, 1, total), 0)
        lse = np.where(total == 0, -np.inf, np.log2(total) / self.work.type(LOG2E) + m)
        return weights.astype(self.work), lse[..., 0].astype(self.work)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
