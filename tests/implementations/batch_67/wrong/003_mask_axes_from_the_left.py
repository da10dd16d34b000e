import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def reduce_mask(self, gradient):
        """Keep the axes whose extents are those of the mask, sum over the others."""
        shape = self.mask.shape
        missing, drop, at = 4 - len(shape), [], 0
        for axis, extent in enumerate(gradient.shape):
            fits = at < len(shape) and shape[at] in (1, extent)
            if fits or len(drop) == missing:
                at += 1
            else:
                drop.append(axis)
        gradient = gradient.sum(axis=tuple(drop))
        ones = tuple(a for a, n in enumerate(shape) if n == 1)
        return gradient.sum(axis=ones, keepdims=True) if ones else gradient

scaled_dot_product_attention_backward = base.backward_by(Mine)
