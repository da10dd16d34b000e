import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Backwards(base.Tiled):
    """Online softmax in base two over tiles of 5 keys, last tile first, rescaled only when the maximum rises much."""

    rows, columns = 3, 5
    slack = 4.0

    def tiles(self, c, b, first, end):
        return base.ranges(c.K, self.columns)[::-1]

    def step(self, m, total, out, s, ok, v):
        log2e = m.dtype.type(1 / np.log(2))
        top = s.max(axis=-1, initial=-np.inf)
        with np.errstate(all="ignore"):
            new = np.where((m == -np.inf) | ~(top - m <= self.slack), np.maximum(m, top), m).astype(m.dtype)
            safe = np.where(new == -np.inf, 0, new).astype(m.dtype)
            p = np.where(ok, np.exp2((s - safe[..., None]) * log2e), 0).astype(m.dtype)
            alpha = np.where(m == -np.inf, 0, np.exp2((m - safe) * log2e)).astype(m.dtype)
        return new, total * alpha + p.sum(axis=-1, dtype=m.dtype), out * alpha[..., None] + base.mix(p, v, ok)


scaled_dot_product_attention = base.operation(Backwards)
