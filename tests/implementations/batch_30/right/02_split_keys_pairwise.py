import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Split(base.Sdpa):
    """Each part of 3 keys has its own softmax; neighbours are merged in a tree. The sink is a part of its own."""

    gives_weights = gives_scores = False

    def core(self, c):
        states = [self.part(c, start, stop) for start, stop in base.ranges(c.K, 3)]
        if c.sink is not None:
            shape = (c.B, c.Hq, c.Sq)
            states.append((np.broadcast_to(c.sink, shape), np.zeros(shape + (c.Ev,), c.acc)))
        if not states:
            states = [(np.full((c.B, c.Hq, c.Sq), -np.inf, c.acc), np.zeros((c.B, c.Hq, c.Sq, c.Ev), c.acc))]
        while len(states) > 1:
            merged = [self.merge(*pair) for pair in zip(states[::2], states[1::2])]
            states = merged + states[len(merged) * 2:]
        c.lse, c.out = states[0]

    def part(self, c, start, stop):
        s, ok = c.logits[..., start:stop], c.allowed[..., start:stop]
        m = s.max(axis=-1)
        m = np.where(m == -np.inf, 0, m).astype(c.acc)
        p = np.where(ok, np.exp(s - m[..., None]), 0).astype(c.acc)
        total = p.sum(axis=-1, dtype=c.acc)
        out = base.mix(p / np.where(total == 0, 1, total)[..., None], c.vh[:, :, start:stop], ok)
        return np.where(total == 0, -np.inf, m + np.log(total)).astype(c.acc), out

    def merge(self, a, b):
        top = np.maximum(a[0], b[0])
        top = np.where(top == -np.inf, 0, top).astype(a[0].dtype)
        wa, wb = np.exp(a[0] - top), np.exp(b[0] - top)
        total = wa + wb
        empty = total == 0
        sa = (wa / np.where(empty, 1, total))[..., None]
        sb = (wb / np.where(empty, 1, total))[..., None]
        out = np.where(a[0][..., None] == -np.inf, 0, sa * a[1]) + np.where(b[0][..., None] == -np.inf, 0, sb * b[1])
        return np.where(empty, -np.inf, top + np.log(total)).astype(top.dtype), out.astype(top.dtype)


scaled_dot_product_attention = base.operation(Split)
