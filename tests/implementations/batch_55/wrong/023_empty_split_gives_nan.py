import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Tiled):
    split = 64

    def core(self, a):
        a.out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), a.work)
        a.logsumexp = np.full((a.B, a.Hq, a.Sq), -np.inf, a.work)
        sink = self.sink(a)[..., 0]
        for b in range(a.B):
            outs, lses = [], []
            for k in range(0, a.T, self.split):
                keys = slice(k, min(k + self.split, a.T))
                logits, may = a.logits[b, :, :, keys], a.may[b, :, :, keys]
                m = logits.max(axis=-1, keepdims=True)
                safe = np.where(m == -np.inf, 0, m).astype(a.work)
                e = np.where(may, np.exp(logits - safe), 0).astype(a.work)
                l = e.sum(axis=-1, keepdims=True)
                outs.append(self.weigh(a, e, may, a.v[b, :, keys]) / l)
                lses.append((safe + np.log(l))[..., 0])
            lse = np.stack([*lses, np.broadcast_to(sink, (a.Hq, a.Sq))])
            m = lse.max(axis=0)
            safe = np.where(m == -np.inf, 0, m)
            w = np.exp(lse - safe)
            total = w.sum(axis=0)
            dead = ~a.may[b].any(axis=-1)
            for weight, out in zip(w, outs):
                a.out[b] += (weight / np.where(total == 0, 1, total))[..., None] * out
            a.out[b][dead] = 0
            a.logsumexp[b] = safe + np.log(total)


scaled_dot_product_attention = base.operation(Kind)
