import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def factor(self):
        return float(self.scale or 1 / math.sqrt(self.E))


scaled_dot_product_attention = base.make(Mine)
