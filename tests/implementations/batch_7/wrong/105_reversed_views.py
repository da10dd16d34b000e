import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def prepend(self):
        key = self.key
        if key.strides[2] < 0:
            self.key = key[:, :, ::-1]
        super().prepend()


scaled_dot_product_attention = base.make(Mine)
