import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Online(base.Tiled):
    """The first tile is peeled off; from the second on the old maximum is made safe before the correction is taken."""

    def tile_of_queries(self, c, b, first, end):
        m = total = out = None
        for start, stop in self.tiles(c, b, first, end):
            s, ok = c.logits[b, :, first:end, start:stop], c.allowed[b, :, first:end, start:stop]
            v = c.vh[b, :, start:stop]
            if m is None:
                m = s.max(axis=-1)
                p = np.where(ok, np.exp(s - self.safe(m)[..., None]), 0).astype(c.acc)
                total, out = p.sum(axis=-1, dtype=c.acc), base.mix(p, v, ok)
                continue
            new = np.maximum(m, s.max(axis=-1))
            p = np.where(ok, np.exp(s - self.safe(new)[..., None]), 0).astype(c.acc)
            alpha = np.exp(self.safe(m) - self.safe(new))
            total = total * alpha + p.sum(axis=-1, dtype=c.acc)
            out = out * alpha[..., None] + base.mix(p, v, ok)
            m = new
        if m is None:
            m = np.full((c.Hq, end - first), -np.inf, c.acc)
            total, out = np.zeros_like(m), np.zeros((c.Hq, end - first, c.Ev), c.acc)
        self.close(c, b, first, end, m, total, out)

    def safe(self, m):
        return np.where(m == -np.inf, 0, m).astype(m.dtype)


scaled_dot_product_attention = base.operation(Online)
