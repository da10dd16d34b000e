import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    def check_mask(self, mask, shape):
        base.refuse(not 2 <= mask.ndim <= 4, "mask rank")
        try:
            fits = np.broadcast_shapes(mask.shape, shape) == shape
        except ValueError:
            fits = False
        base.refuse(not fits, "mask shape")


scaled_dot_product_attention = base.operation(Kind)
