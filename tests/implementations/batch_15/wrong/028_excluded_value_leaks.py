import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def gradweights(self):
        self.gw = self.do @ self.v.swapaxes(-1, -2)


scaled_dot_product_attention_backward = base.entry(Mine)
