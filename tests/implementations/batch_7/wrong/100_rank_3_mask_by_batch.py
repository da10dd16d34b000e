import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def add_mask(self):
        if self.mask is not None and self.mask.ndim == 3 and self.mask.shape[0] == self.B > 1:
            self.mask = self.mask[:, None]
        super().add_mask()


scaled_dot_product_attention = base.make(Mine, "output", "weights")
