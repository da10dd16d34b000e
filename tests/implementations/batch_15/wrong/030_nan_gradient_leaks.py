import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def values(self):
        do = self.do if self.query_lengths is None else np.where(self.counts[..., None], self.do, 0)
        self.gv = self.w.swapaxes(-1, -2) @ do


scaled_dot_product_attention_backward = base.entry(Mine)
