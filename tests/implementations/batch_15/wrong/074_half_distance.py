import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def logit(self):
        keep = self.p, self.j
        self.p, self.j = self.p.astype(np.float16).astype(float), self.j.astype(np.float16).astype(float)
        super().logit()
        self.p, self.j = keep


scaled_dot_product_attention_backward = base.entry(Mine)
