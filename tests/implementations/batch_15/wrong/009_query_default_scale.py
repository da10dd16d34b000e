import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def gradquery(self):
        self.gq = self.dt.type(self.E ** -0.5) * base.mm(self.ds, self.k, self.ok)


scaled_dot_product_attention_backward = base.entry(Mine)
