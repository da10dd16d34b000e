import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Tiled):
    """Parts of 3 keys, each with its own maximum and sum, merged in a tree; the sink is a part of its own."""

    def merge(self, x, y):
        m = np.maximum(x[0], y[0])
        safe = np.where(m == -np.inf, 0, m).astype(m.dtype)
        wx = np.where(x[0] == -np.inf, 0, np.exp(x[0] - safe)).astype(m.dtype)
        wy = np.where(y[0] == -np.inf, 0, np.exp(y[0] - safe)).astype(m.dtype)
        return m, x[1] * wx + y[1] * wy, x[2] * wx + y[2] * wy

    def core(self, a):
        a.out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), a.work)
        a.logsumexp = np.zeros((a.B, a.Hq, a.Sq), a.work)
        for b in range(a.B):
            parts = [self.begin(a, a.Sq)]
            for k in range(0, a.T, 3):
                keys = slice(k, min(k + 3, a.T))
                m = np.full((a.Hq, a.Sq, 1), -np.inf, a.work)
                nothing = (m, np.zeros_like(m), np.zeros((a.Hq, a.Sq, a.Ev), a.work))
                parts.append(self.step(a, nothing, a.logits[b, :, :, keys], a.may[b, :, :, keys], a.v[b, :, keys]))
            while len(parts) > 1:
                parts = [self.merge(*parts[n : n + 2]) if n + 1 < len(parts) else parts[n] for n in range(0, len(parts), 2)]
            a.out[b], a.logsumexp[b] = self.end(a, parts[0])


scaled_dot_product_attention = base.operation(Kind)
