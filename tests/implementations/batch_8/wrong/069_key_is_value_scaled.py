import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base  # noqa: E402


class Attention(base.Attention):
    def widen(self, c):
        super().widen(c)
        factor = c.dtype.type(c.E ** -0.5 if c.scale is None else c.scale)
        if c.value is c.key:
            c.v = c.k
        c.k *= factor

    def score(self, c):
        c.dots = np.matmul(c.q, np.swapaxes(c.k, 2, 3))

    def scale(self, c):
        c.scores = c.logits = c.dots

    def prepend(self, c):
        if c.value is c.key and c.past_key is not None:
            c.value = c.key.copy()
        super().prepend(c)


_attend = Attention()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    results = _attend(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                      is_causal, causal_alignment, scale, softcap, window)
    return results["output"]

dtypes = ("float64", "float32")
