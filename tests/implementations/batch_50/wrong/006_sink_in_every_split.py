import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    """Splits of the keys, each with its own softmax, merged by their logsumexp."""

    SPLIT = 64

    def one(self, s, part):
        x, may = s.logits[..., part], s.may[..., part]
        m = x.max(axis=-1, initial=-np.inf)
        sink = None
        if s.sinks is not None:
            sink = s.sinks[None, :, None]
            m = np.maximum(m, sink)
        safe = np.where(m == -np.inf, 0, m)
        e = np.where(may, np.exp(x - safe[..., None]), 0)
        l = e.sum(axis=-1)
        if sink is not None:
            l = l + np.exp(sink - safe)
        return m, l, base.weigh(e, s.v[:, :, part], may)

    def attend(self, s):
        parts = [self.one(s, part) for part in self.tiles(s, self.SPLIT) or [slice(0, 0)]]
        m = np.stack([part[0] for part in parts]).max(axis=0)
        safe = np.where(m == -np.inf, 0, m)
        l, acc = 0, 0
        for mine, total, sums in parts:
            factor = np.where(mine == -np.inf, 0, np.exp(mine - safe))
            factor = np.where(np.isnan(mine), np.nan, factor)
            l = l + total * factor
            acc = acc + sums * factor[..., None]
        sinks, s.sinks = s.sinks, None  # they are in it
        self.close(s, m, l, acc)
        s.sinks = sinks


scaled_dot_product_attention = base.operation(Mine)
