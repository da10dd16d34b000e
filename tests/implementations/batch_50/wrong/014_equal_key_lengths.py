import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def place(self, s):
        super().place(s)
        if s.key_lengths is not None and s.causal_alignment == "bottom_right" and len(set(s.key_lengths.tolist())) == 1:
            # no ragged batch: as if the keys had been cut
            s.p = np.broadcast_to(np.arange(s.Sq) + s.key_lengths[0] - s.Sq, s.p.shape)
            s.p_causal = s.p_window = s.p_alibi = s.p


scaled_dot_product_attention = base.operation(Mine)
