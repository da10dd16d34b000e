import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def gradlogits(self):
        x = self.gw - self.delta[..., None]
        if self.gl is not None:
            x = x - self.gl[..., None]
        self.gx = np.where(self.ok, self.w * x, 0)


scaled_dot_product_attention_backward = base.entry(Mine)
