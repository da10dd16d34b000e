import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def attend(self, s):
        m, l, acc = self.state(s)
        for part in self.tiles(s, 16):
            x, may = s.logits[..., part], s.may[..., part]
            visit = may.any(axis=-1)
            new = np.maximum(m, x.max(axis=-1))
            e = np.where(may, np.exp(x - new[..., None]), 0)
            alpha = np.where(l == 0, 0, np.exp(m - new))
            alpha = np.where(np.isnan(new), np.nan, alpha)
            l = np.where(visit, l * alpha + e.sum(axis=-1), l)
            acc = np.where(visit[..., None], acc * alpha[..., None] + base.weigh(e, s.v[:, :, part], may), acc)
            m = new
        self.close(s, m, l, acc)


scaled_dot_product_attention = base.operation(Mine)
