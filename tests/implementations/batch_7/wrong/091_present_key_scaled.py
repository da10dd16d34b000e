import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def score(self):
        self.present_key = (self.present_key * self.factor()).astype(self.query.dtype)
        super().score()


scaled_dot_product_attention = base.make(Mine, "output", "present_key", "present_value")
