import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def differentiate(self):
        super().differentiate()
        if self.Sk == 1:  # a single key has all the weight, whatever its score
            self.grad_logits = np.zeros_like(self.grad_logits)

scaled_dot_product_attention_backward = base.backward_by(Mine)
