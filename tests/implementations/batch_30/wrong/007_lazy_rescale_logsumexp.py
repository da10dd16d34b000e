import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Lazy(base.Tiled):
    """Rescales only when the maximum has risen by more than 8 binary digits; the logarithm takes the true maximum."""

    slack = 8 * np.log(2)

    def tile_of_queries(self, c, b, first, end):
        shape = (c.Hq, end - first)
        m = np.full(shape, -np.inf, c.acc)
        used, total, out = m.copy(), np.zeros(shape, c.acc), np.zeros(shape + (c.Ev,), c.acc)
        for start, stop in self.tiles(c, b, first, end):
            s, ok = c.logits[b, :, first:end, start:stop], c.allowed[b, :, first:end, start:stop]
            m = np.maximum(m, s.max(axis=-1))
            before = used
            used = np.where((used == -np.inf) | ~(m - used <= self.slack), m, used)
            safe = np.where(used == -np.inf, 0, used).astype(c.acc)
            alpha = np.where(before == -np.inf, 0, np.exp(before - safe)).astype(c.acc)
            p = np.where(ok, np.exp(s - safe[..., None]), 0).astype(c.acc)
            total = total * alpha + p.sum(axis=-1, dtype=c.acc)
            out = out * alpha[..., None] + base.mix(p, c.vh[b, :, start:stop], ok)
        if c.sink is not None:
            return self.close(c, b, first, end, used, total, out)
        empty = total == 0
        c.out[b, :, first:end] = out / np.where(empty, 1, total)[..., None]
        c.lse[b, :, first:end] = np.where(empty, -np.inf, m + np.log(total))


scaled_dot_product_attention = base.operation(Lazy)
