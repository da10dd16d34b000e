import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def check_gradients(self):
        if self.grad_output.shape != (self.B, self.Hq, self.Sq, self.Ev):
            raise ValueError("grad_output of another shape")
        if self.grad_logsumexp is not None:
            self.grad_logsumexp = np.broadcast_to(self.grad_logsumexp, (self.B, self.Hq, self.Sq))


scaled_dot_product_attention_backward = base.bind(Mine)
