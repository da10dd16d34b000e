import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


SPLIT = 7


class Kernel(base.Single):
    """Split-K: states (output, logsumexp) of seven keys each, merged in a pairwise tree; the sink is a state without values."""

    def softmax_of(self, s):
        w = s.work.type
        shape = (s.B, s.Hq, s.Sq)
        states = [(np.zeros(shape + (s.Ev,), s.work), np.full(shape, -np.inf, s.work))]
        if s.sink is not None:
            states.append((states[0][0], np.broadcast_to(s.sink[None, :, None], shape)))
        for a in range(0, s.T, SPLIT):
            x, ok = s.logits[..., a : a + SPLIT], s.ok[..., a : a + SPLIT]
            m = x.max(-1)
            m = np.where(m == -np.inf, w(0), m)
            e = np.where(ok, np.exp(x - m[..., None]), w(0))
            total = e.sum(-1)
            part = base.weighed(e, s.v[:, :, a : a + SPLIT], ok)
            states.append((part / np.where(total == 0, w(1), total)[..., None], m + np.log(total)))
        while len(states) > 1:
            paired = [merged(w, *states[n], *states[n + 1]) for n in range(0, len(states) - 1, 2)]
            states = paired + states[len(paired) * 2 :]
        s.acc, s.lse = states[0]
        near = np.where(s.lse == -np.inf, w(0), s.lse)
        s.weights = np.where(s.ok, np.exp(s.logits - near[..., None]), w(0))

    def weigh(self, s):
        return s.acc


def merged(w, one, lse_one, two, lse_two):
    m = np.maximum(lse_one, lse_two)
    near = np.where(m == -np.inf, w(0), m)
    a, b = np.exp(lse_one - near), np.exp(lse_two - near)
    total = a + b
    safe = np.where(total == 0, w(1), total)
    a, b = (a / safe)[..., None], (b / safe)[..., None]
    part = np.where(a == 0, np.where(np.isnan(one), one, w(0)), a * one)
    part = part + np.where(b == 0, np.where(np.isnan(two), two, w(0)), b * two)
    return part, near + np.log(total)


scaled_dot_product_attention = base.build(Kernel)
