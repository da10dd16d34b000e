import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


class Steps(base.Backward):
    def mean(self):
        super().mean()
        self.delta = self.delta.astype(np.float32).astype(self.wide)


scaled_dot_product_attention_backward = base.bind(Steps)
