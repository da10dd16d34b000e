import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def attend(self, s):
        if s.key_lengths is None:
            return super().attend(s)
        longest = int(s.key_lengths.max())
        logits, may, v = s.logits, s.may, s.v
        s.logits, s.may, s.v = logits[..., :longest], may[..., :longest], v[:, :, :longest]
        super().attend(s)
        weights = np.zeros_like(logits)
        weights[..., :longest] = s.weights
        s.logits, s.may, s.v, s.weights = logits, may, v, weights


scaled_dot_product_attention = base.operation(Mine)
