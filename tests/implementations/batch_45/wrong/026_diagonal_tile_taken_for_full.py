import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Tiled):
    def tile_allowed(self, b, q0, q1, k0, k1):
        ok = super().tile_allowed(b, q0, q1, k0, k1)
        if not self.a.is_causal or not k1 - 1 < min(int(self.p[b, q1 - 1]), self.K - 1):
            return ok
        rest = (self.j < self.L[b]) & self.windowed()[b] & self.masked()[b if self.masked().shape[0] > 1 else 0]
        rest = np.broadcast_to(rest, (self.Hq, self.Sq, self.K))
        return rest[:, q0:q1, k0:k1]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
