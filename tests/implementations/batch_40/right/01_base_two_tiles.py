"""Online softmax in tiles of 8 by 32, in powers of two, in float32; the keys are visited from the last tile to the first."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

LOG2E = 1.4426950408889634074
LN2 = 0.69314718055994530942


class Mine(base.Kernel):
    rows, columns = 8, 32

    def attend(self, s):
        s.output = np.zeros((s.B, s.Hq, s.Sq, s.Ev), s.work)
        s.logsumexp = np.full((s.B, s.Hq, s.Sq), -np.inf, s.work)
        log2e, ln2 = s.work.type(LOG2E), s.work.type(LN2)
        for b in range(s.B):
            for rows, _ in self.query_tiles(s):
                p = s.offset[b] + rows
                shape = (s.Hq, len(rows))
                m, l = np.full(shape, -np.inf, s.work), np.zeros(shape, s.work)
                acc = np.zeros((*shape, s.Ev), s.work)
                alive = np.zeros(shape, bool)
                first, last = self.key_blocks(s, b, p)
                for block in reversed(range(first, last)):
                    lo, hi = block * self.columns, min((block + 1) * self.columns, s.total)
                    allowed = self.tile_allowed(s, b, rows, p, lo, hi)
                    alive |= allowed.any(axis=-1)
                    x = self.tile_logits(s, b, rows, p, lo, hi, allowed) * log2e
                    new = np.maximum(m, x.max(axis=-1))
                    shift = np.where(new == -np.inf, 0, new)
                    powers = np.exp2(x - shift[..., None])
                    decay = np.exp2(m - shift)
                    l = l * decay + powers.sum(axis=-1)
                    acc = acc * decay[..., None] + base.weigh(powers, s.v[b, :, lo:hi], allowed)
                    m = new
                lone = -np.inf
                if s.sink is not None:  # the sink comes last, as a key without a value
                    sink = (s.sink * log2e)[:, None]
                    new = np.maximum(m, sink)
                    shift = np.where(new == -np.inf, 0, new)
                    decay = np.exp2(m - shift)
                    l, acc, m = l * decay + np.exp2(sink - shift), acc * decay[..., None], new
                    lone = s.sink[:, None]
                s.output[b][:, rows] = np.where(alive[..., None], acc / np.where(alive, l, 1)[..., None], 0)
                s.logsumexp[b][:, rows] = np.where(alive, (np.where(m == -np.inf, 0, m) + np.log2(l)) * ln2, lone)


scaled_dot_product_attention = base.operation(Mine)
