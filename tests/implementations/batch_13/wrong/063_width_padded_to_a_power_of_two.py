import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


class Steps(base.Backward):
    def set_scale(self):
        if self.scale is None and self.E > 64:
            width = 1 << (self.E - 1).bit_length()
            self.scale = 1 / np.sqrt(width)
        super().set_scale()


scaled_dot_product_attention_backward = base.bind(Steps)
