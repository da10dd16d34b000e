import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def widen(self):
        super().widen()
        go = self.grad_output.astype(self.W, copy=False)
        if self.query_lengths is not None:
            if not go.flags.writeable:
                go = go.copy()
            for b in range(self.B):
                go[b, :, self.N[b]:] = 0
        self.go = go

scaled_dot_product_attention_backward = base.backward_by(Mine)
