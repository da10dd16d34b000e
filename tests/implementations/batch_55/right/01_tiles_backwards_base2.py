import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Tiled):
    """Online softmax from the last key to the first, tiles of 5 by 7, powers of two, float32."""

    narrow = base.F32
    rows, columns = 5, 7
    log2e = 1.4426950408889634

    def tiles(self, a, b, p):
        return super().tiles(a, b, p)[::-1]

    def begin(self, a, n):
        m = np.broadcast_to(self.sink(a) * a.work.type(self.log2e), (a.Hq, n, 1)).copy()
        return m, np.where(m == -np.inf, 0, 1).astype(a.work), np.zeros((a.Hq, n, a.Ev), a.work)

    def step(self, a, state, logits, may, v):
        m, l, acc = state
        logits = logits * a.work.type(self.log2e)
        new = np.maximum(m, logits.max(axis=-1, keepdims=True, initial=-np.inf))
        safe = np.where(new == -np.inf, a.work.type(0), new)
        e = np.where(may, np.exp2(logits - safe), a.work.type(0))
        keep = np.where(m == -np.inf, a.work.type(0), np.exp2(m - safe))
        return new, l * keep + e.sum(axis=-1, keepdims=True), acc * keep + self.weigh(a, e, may, v)

    def end(self, a, state):
        m, l, acc = state
        nothing = l == 0
        lse = np.where(nothing, -np.inf, (m + np.log2(np.where(nothing, 1, l))) / a.work.type(self.log2e))
        return acc / np.where(nothing, a.work.type(1), l), lse[..., 0]


scaled_dot_product_attention = base.operation(Kind)
