import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def gradient_of_mask(self):
        shape = self.mask.shape
        if len(shape) == 3 and shape[0] == self.B and shape[0] > 1:
            shape = (shape[0], 1) + shape[1:]
        return base.sum_to(self.grad_logits, shape).reshape(self.mask.shape)


scaled_dot_product_attention_backward = base.bind(Mine)
