import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def widen(self):
        super().widen()
        go = self.grad_output
        if go.size and go.strides[-1] == go.itemsize and all(s > 0 for s in go.strides):
            # features lie side by side: hand the memory over as it is
            go = go.ravel(order="K").reshape(go.shape)
        self.go = go.astype(self.W)

scaled_dot_product_attention_backward = base.backward_by(Mine)
