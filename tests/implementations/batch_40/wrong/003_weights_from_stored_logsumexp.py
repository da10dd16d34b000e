import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def attend(self, s):
        super().attend(s)
        # the weights are made from the logsumexp that was stored, as in a backward pass
        stored = s.logsumexp.astype(s.dtype).astype(s.work)
        attended = s.allowed & np.isfinite(s.logits)
        s.weights = np.where(attended, np.exp(s.logits - stored[..., None]), s.weights)


scaled_dot_product_attention = base.operation(Mine)
