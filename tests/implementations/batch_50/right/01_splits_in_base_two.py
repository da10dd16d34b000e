import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    """Online softmax in units of log 2, in tiles of 5 keys, in splits of 23 keys that are merged as a tree."""

    def split(self, s, keys):
        m, l, acc = self.state(s)
        for start in range(keys.start, keys.stop, 5):
            part = slice(start, min(start + 5, keys.stop))
            x, may = s.two[..., part], s.may[..., part]
            m, l, acc = self.merge((m, l, acc), self.tile(x, may, s.v[:, :, part]))
        return m, l, acc

    def tile(self, x, may, v):
        m = x.max(axis=-1)
        e = np.where(may, np.exp2(x - np.where(m == -np.inf, 0, m)[..., None]), 0)
        return m, e.sum(axis=-1), base.weigh(e, v, may)

    def merge(self, one, two):
        m = np.maximum(one[0], two[0])
        safe = np.where(m == -np.inf, 0, m)
        l, acc = 0, 0
        for mine, total, sums in (one, two):
            f = np.exp2(mine - safe)
            l = l + total * f
            acc = acc + sums * f[..., None]
        return m, l, acc

    def attend(self, s):
        s.two = s.logits * np.log2(np.e)
        parts = [self.split(s, part) for part in self.tiles(s, 23)] or [self.state(s)]
        while len(parts) > 1:
            pairs = [self.merge(*parts[n:n + 2]) for n in range(0, len(parts) - 1, 2)]
            parts = pairs + parts[len(pairs) * 2:]
        m, l, acc = parts[0]
        self.close(s, m * np.log(2), l, acc)


scaled_dot_product_attention = base.operation(Mine)
