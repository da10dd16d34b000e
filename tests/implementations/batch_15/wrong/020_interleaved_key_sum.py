import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def group(self):
        gk = self.gk.reshape(self.B, self.R, self.G, self.T, self.E).sum(1)
        super().group()
        self.gk = gk


scaled_dot_product_attention_backward = base.entry(Mine)
