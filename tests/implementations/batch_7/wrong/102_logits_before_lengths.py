import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def exclude(self):
        before = self.logits
        super().exclude()
        beyond = np.arange(self.T) >= self.L[:, None, None, None]
        self.shown = np.where(beyond, before, self.logits)

    def finish(self):
        super().finish()
        self.logits = self.shown


scaled_dot_product_attention = base.make(Mine, "output", "logits")
