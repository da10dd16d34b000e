import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def logit(self):
        keep = self.p
        self.p = np.arange(self.S)[None, None, :, None]
        super().logit()
        self.p = keep


scaled_dot_product_attention_backward = base.entry(Mine)
