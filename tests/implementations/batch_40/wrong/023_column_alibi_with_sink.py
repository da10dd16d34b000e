import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def attend(self, s):
        if not (s.is_causal and s.slope is not None):
            return super().attend(s)
        # with causality, slope times column differs from slope times distance by one number for a row
        more = s.slope[:, None] * s.p[:, None, :].astype(s.work)
        distances = s.logits
        s.logits = s.logits + more[..., None]
        super().attend(s)
        s.logits = distances
        dead = ~s.allowed.any(axis=-1)
        s.logsumexp = np.where(dead, s.logsumexp, s.logsumexp - more)


scaled_dot_product_attention = base.operation(Mine)
