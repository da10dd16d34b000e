import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    """Online softmax that skips tiles whose largest logit lies far below the running maximum."""

    def attend(self, s):
        m, l, acc = self.state(s)
        for part in self.tiles(s, 16):
            x, may = s.logits[..., part], s.may[..., part]
            highest = x.max(axis=-1)
            skip = highest - m < np.log(1e-4)
            new = np.where(skip, m, np.maximum(m, highest))
            safe = np.where(new == -np.inf, 0, new)
            may = may & ~skip[..., None]
            e = np.where(may, np.exp(x - safe[..., None]), 0)
            alpha = np.where(m == -np.inf, 0, np.exp(m - safe))
            l = l * alpha + e.sum(axis=-1)
            acc = acc * alpha[..., None] + base.weigh(e, s.v[:, :, part], may)
            m = new
        self.close(s, m, l, acc)


scaled_dot_product_attention = base.operation(Mine)
