import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def place(self, s):
        super().place(s)
        if s.Sq == s.K and s.P == 0:  # both alignments are the same
            s.p_causal = np.broadcast_to(np.arange(s.Sq), s.p.shape)


scaled_dot_product_attention = base.operation(Mine)
