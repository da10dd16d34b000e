import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    """Float32 throughout; keys in rows and queries in columns; heads of a group as columns of one product."""

    narrow = base.F32

    def dots(self, a):
        if not a.Hkv or not a.Hq:
            return super().dots(a)
        groups = a.Hq // a.Hkv
        q = a.q.reshape(a.B, a.Hkv, groups * a.Sq, a.E)
        k = a.k[:, ::groups]
        turned = k @ q.swapaxes(-1, -2)  # (B, Hkv, T, groups * Sq)
        return np.ascontiguousarray(turned.swapaxes(-1, -2)).reshape(a.B, a.Hq, a.Sq, a.T)

    def core(self, a):
        turned = np.ascontiguousarray(a.logits.swapaxes(-1, -2))
        sink = np.broadcast_to(self.sink(a), (a.B, a.Hq, 1, a.Sq))
        column = np.concatenate([turned, sink], axis=-2)
        m = column.max(axis=-2, keepdims=True)
        safe = np.where(m == -np.inf, 0, m).astype(a.work)
        e = np.exp(column - safe)
        total = e.sum(axis=-2, keepdims=True)
        nothing = total == 0
        lse = np.where(nothing, -np.inf, safe + np.log(np.where(nothing, 1, total)))
        e = np.where(a.may.swapaxes(-1, -2), e[..., : a.T, :], 0).astype(a.work)
        a.logsumexp = lse[..., 0, :]
        # values meet the exponentials first, and the sum divides afterwards
        divisor = np.where(nothing, 1, total).astype(a.work).swapaxes(-1, -2)
        a.weights = e.swapaxes(-1, -2) / divisor
        a.out = self.weigh(a, np.ascontiguousarray(e.swapaxes(-1, -2)), a.may, a.v) / divisor


scaled_dot_product_attention = base.operation(Kind)
