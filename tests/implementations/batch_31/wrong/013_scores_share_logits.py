import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

class Kernel(base.Attention):
    def add_mask(self, logits):
        if self.mask is not None and self.mask.dtype != bool:
            logits += self.mask.astype(self.compute)
        return logits


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)
