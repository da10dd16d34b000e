import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base  # noqa: E402


class Attention(base.Attention):
    def exclude(self, c):
        super().exclude(c)
        if c.mask is not None and c.mask.dtype == bool:
            others = np.broadcast_to(self.keep_lengths(c) & self.keep_causal(c) & self.keep_window(c), c.keep.shape)
            logits = self.before - 10000.0 * (1.0 - c.mask)
            lives = c.keep.any(axis=3, keepdims=True)
            c.logits = np.where(others & lives, logits, -np.inf).astype(c.dtype)
            c.keep = others & lives

    def add_mask(self, c):
        super().add_mask(c)
        self.before = c.logits


_attend = Attention()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    results = _attend(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                      is_causal, causal_alignment, scale, softcap, window)
    return results["output"]

dtypes = ("float64", "float32")
