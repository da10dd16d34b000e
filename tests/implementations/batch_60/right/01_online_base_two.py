import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 5
LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453


class Kernel(base.Single):
    """Online softmax in powers of two over tiles of five keys, the sink as the state to start from, float32 throughout."""

    def softmax_of(self, s):
        w = s.work.type
        shape = (s.B, s.Hq, s.Sq)
        x = s.logits * w(LOG2E)
        if s.sink is None:
            m, total = np.full(shape, -np.inf, s.work), np.zeros(shape, s.work)
        else:
            m = np.broadcast_to(s.sink[None, :, None] * w(LOG2E), shape).copy()
            total = np.ones(shape, s.work)
        acc = np.zeros(shape + (s.Ev,), s.work)
        for a in range(0, s.T, TILE):
            part, ok = x[..., a : a + TILE], s.ok[..., a : a + TILE]
            new = np.maximum(m, part.max(-1))
            near = np.where(new == -np.inf, w(0), new)
            shrink = np.exp2(m - near)
            e = np.where(ok, np.exp2(part - near[..., None]), w(0))
            total = total * shrink + e.sum(-1)
            acc = acc * shrink[..., None] + base.weighed(e, s.v[:, :, a : a + TILE], ok)
            m = new
        near = np.where(m == -np.inf, w(0), m)
        s.lse = w(LN2) * (near + np.log2(total))
        dead = total == 0
        safe = np.where(dead, w(1), total)[..., None]
        s.weights = np.where(s.ok & ~dead[..., None], np.exp2(x - near[..., None]) / safe, w(0))
        s.acc = np.where(dead[..., None], w(0), acc / safe)

    def weigh(self, s):
        return s.acc


scaled_dot_product_attention = base.build(Kernel)
