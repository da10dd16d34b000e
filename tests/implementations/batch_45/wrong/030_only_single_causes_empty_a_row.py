import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def normalise(self, logits, allowed):
        weights, lse = super().normalise(logits, allowed)
        if self.sinks is not None:
            return weights, lse
        known = ~self.masked().any(axis=-1) | ~self.geometry().any(axis=-1)
        lost = ~allowed.any(axis=-1) & ~known  # exp(-inf - -inf)
        return np.where(lost[..., None], np.nan, weights).astype(self.work), np.where(lost, np.nan, lse).astype(self.work)

    def attend(self):
        outputs = super().attend()
        outputs["output"] = np.where(np.isnan(outputs["weights"]).any(axis=-1, keepdims=True), np.nan, outputs["output"])
        return outputs


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
