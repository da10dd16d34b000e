import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def windowed(self):
        if self.Sq != 1 or self.G == 1 or self.a.window is None:
            return super().windowed()
        row = np.arange(self.Hq) % self.G
        if self.a.causal_alignment == "top_left":
            p = np.broadcast_to(row + self.P, (self.B, self.Hq))
        else:
            p = row + (self.L - self.N * self.G)[:, None]
        p = p[:, :, None, None]
        left, right = self.sides()
        ok = np.ones((self.B, self.Hq, 1, self.K), bool)
        if left is not None:
            ok = ok & (self.j >= p - left)
        if right is not None:
            ok = ok & (self.j <= p + right)
        return ok


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
