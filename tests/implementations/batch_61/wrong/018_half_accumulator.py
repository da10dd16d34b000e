import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    TILE = 32

    def weigh(self, s):
        super().weigh(s)
        if s.out.itemsize == 2 and np.isfinite(s.vh).all():
            sums = np.zeros(s.output.shape, dtype=s.out)
            for j in range(0, s.K, self.TILE):
                part = s.e[..., j:j + self.TILE] @ s.vh[:, :, j:j + self.TILE]
                sums = (sums.astype(s.work) + part).astype(s.out)
            s.output = np.where(s.total != 0, sums.astype(s.work) / s.total, s.work.type(0))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())
