import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    TILE = 16

    def exclude(self):
        super().exclude()
        t = self.TILE
        if self.mask is None or self.mask.dtype != bool:
            return
        full = self.logits_before
        for i in range(0, self.Sq - t + 1, t):
            for j in range(0, self.total - t + 1, t):
                tile = self.allowed[:, :, i : i + t, j : j + t]
                free = tile[:, :, 0, 0] & tile[:, :, 0, -1] & tile[:, :, -1, 0] & tile[:, :, -1, -1]
                tile |= free[:, :, None, None]
        self.logits = np.where(self.allowed, full, -np.inf)

    def bias(self):
        super().bias()
        self.logits_before = self.logits


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
