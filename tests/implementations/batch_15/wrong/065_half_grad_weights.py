import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ('float64', 'float32', 'float16')


class Mine(base.Backward):
    def gradweights(self):
        super().gradweights()
        if self.query.dtype == np.float16:
            self.gw = self.gw.astype(np.float16).astype(self.dt)


scaled_dot_product_attention_backward = base.entry(Mine)
