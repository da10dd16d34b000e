import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def prepare(self):
        if self.scale is None:
            self.scale = self.value.shape[3] ** -0.5 if self.value.shape[3] else 1.0
        super().prepare()


scaled_dot_product_attention_backward = base.entry(Mine)
