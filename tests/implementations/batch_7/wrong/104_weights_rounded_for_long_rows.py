import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

import ml_dtypes

class Mine(base.Attention):
    def weigh(self):
        kept = self.weights
        if self.T >= 128:
            self.weights = self.weights.astype(ml_dtypes.bfloat16).astype(self.w)
        super().weigh()
        self.weights = kept


scaled_dot_product_attention = base.make(Mine)
