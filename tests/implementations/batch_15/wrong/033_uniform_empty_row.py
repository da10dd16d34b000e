import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def softmax(self):
        super().softmax()
        if self.sinks is None and self.T:
            empty = self.counts & ~self.ok.any(-1)
            self.w = np.where(empty[..., None], self.dt.type(1 / self.T), self.w)


scaled_dot_product_attention_backward = base.entry(Mine)
