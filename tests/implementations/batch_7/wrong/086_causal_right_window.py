import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def permitted(self):
        if self.window is not None and self.window[1] is not None:
            self.is_causal = False
        return super().permitted()


scaled_dot_product_attention = base.make(Mine)
