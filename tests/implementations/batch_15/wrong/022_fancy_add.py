import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def group(self):
        at = np.arange(self.H) // self.R
        gk = np.zeros((self.B, self.G, self.T, self.E), self.dt)
        gv = np.zeros((self.B, self.G, self.T, self.value.shape[3]), self.dt)
        gk[:, at] += self.gk
        gv[:, at] += self.gv
        self.gk, self.gv = gk, gv


scaled_dot_product_attention_backward = base.entry(Mine)
