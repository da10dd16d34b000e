import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Variant(base.Attention):
    def bias(self, a, logits):
        mask = a.mask
        full = (a.B, a.Hq, a.Sq, a.T)
        if a.alibi_slopes is None or mask is None or mask.dtype == bool:
            return super().bias(a, logits)
        bias = self.alibi(a)
        if mask.shape == full and mask.dtype == np.float64 and mask.flags.writeable and min(mask.strides, default=0) > 0:
            np.subtract(mask, bias, out=mask)  # no temporary of this size
            return logits + mask
        return logits - bias + mask.astype(np.float64)


scaled_dot_product_attention = base.operation(Variant)
