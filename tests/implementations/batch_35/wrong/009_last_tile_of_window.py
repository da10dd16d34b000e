import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    TILE = 16

    def visited(self):
        """Which keys lie in tiles that the tile of a query visits."""
        seen = np.ones((self.B, 1, self.Sq, self.total), bool)
        if self.window is None or self.window[1] is None or self.is_causal:
            return seen
        for b in range(self.B):
            for first in range(0, self.Sq, self.TILE):
                last = min(first + self.TILE, self.Sq) - 1
                most = last + int(self.offset[b]) + self.window[1]
                tiles = max(1, -(-most // self.TILE))
                seen[b, :, first : last + 1, tiles * self.TILE :] = False
        return seen

    def softmax(self):
        self.allowed = self.allowed & self.visited()
        given, self.logits = self.logits, np.where(self.allowed, self.logits, -np.inf)
        super().softmax()
        self.logits = given


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
