import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base  # noqa: E402


class Attention(base.Attention):
    def normalise(self, c):
        top = c.logits.max(axis=(2, 3), keepdims=True, initial=-np.inf)
        if c.sinks is not None:
            sink = c.sinks.astype(c.dtype)[None, :, None, None]
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0, top)
        e = np.exp(c.logits - top)
        total = e.sum(axis=3, keepdims=True)
        if c.sinks is not None:
            total = total + np.exp(sink - top)
        c.weights = e / np.where(total == 0, 1, total)
        c.logsumexp = (np.log(total) + top)[..., 0]


_attend = Attention()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    results = _attend(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                      is_causal, causal_alignment, scale, softcap, window)
    return results["output"]

dtypes = ("float64", "float32")
