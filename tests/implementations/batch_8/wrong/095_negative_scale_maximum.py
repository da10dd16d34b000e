import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base  # noqa: E402


class Attention(base.Attention):
    def normalise(self, c):
        scale = c.E ** -0.5 if c.scale is None else c.scale
        if c.softcap or c.alibi_slopes is not None or (c.mask is not None and c.mask.dtype != bool) or c.sinks is not None:
            return super().normalise(c)
        raw = np.where(c.keep, c.dots, -np.inf).max(axis=3, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(raw), 0, raw * scale)          # maximum of the dot products, then scaled
        e = np.exp(c.logits - top)
        total = e.sum(axis=3, keepdims=True)
        c.weights = np.where(c.keep, e / np.where(total == 0, 1, total), 0)
        c.logsumexp = (np.log(total) + top)[..., 0]


_attend = Attention()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    results = _attend(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                      is_causal, causal_alignment, scale, softcap, window)
    return results["output"]

dtypes = ("float64", "float32")
