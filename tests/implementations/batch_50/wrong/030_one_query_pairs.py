import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def dot(self, s):
        if s.Sq == 1 and s.query.dtype in base.HALF and s.key.dtype in base.HALF:  # two features at a time
            q = s.q.reshape(s.B, s.Hq, 1, s.E)
            pairs = s.E // 2
            result = np.zeros((s.B, s.Hq, 1, s.K), s.work)
            for half in (0, 1):
                result += q[..., half:2 * pairs:2] @ np.swapaxes(s.k[..., half:2 * pairs:2], -1, -2)
            return result
        return super().dot(s)


scaled_dot_product_attention = base.operation(Mine)
