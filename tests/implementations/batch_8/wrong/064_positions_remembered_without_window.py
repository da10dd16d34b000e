import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base  # noqa: E402

_tables = {}


class Attention(base.Attention):
    def exclude(self, c):
        name = (c.B, c.Sq, c.T, c.past, c.is_causal, c.causal_alignment, tuple(c.L), tuple(c.N), c.window is None)
        if name not in _tables:
            _tables[name] = self.keep_lengths(c) & self.keep_causal(c) & self.keep_window(c)
        c.keep = np.broadcast_to(_tables[name] & self.keep_mask(c), (c.B, c.Hq, c.Sq, c.T))
        c.logits = np.where(c.keep, c.logits, c.dtype.type(-np.inf))


_attend = Attention()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    results = _attend(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                      is_causal, causal_alignment, scale, softcap, window)
    return results["output"]

dtypes = ("float64", "float32")
