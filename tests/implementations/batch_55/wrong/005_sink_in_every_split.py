import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Tiled):
    split = 32

    def core(self, a):
        a.out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), a.work)
        a.logsumexp = np.full((a.B, a.Hq, a.Sq), -np.inf, a.work)
        for b in range(a.B):
            parts = []
            for k in range(0, max(a.T, 1), self.split):
                keys = slice(k, min(k + self.split, a.T))
                state = self.step(a, self.begin(a, a.Sq), a.logits[b, :, :, keys], a.may[b, :, :, keys], a.v[b, :, keys])
                parts.append(self.end(a, state))
            lse = np.stack([part[1] for part in parts])
            m = lse.max(axis=0)
            safe = np.where(m == -np.inf, 0, m)
            w = np.exp(lse - safe)
            total = w.sum(axis=0)
            nothing = total == 0
            for weight, (out, _) in zip(w, parts):
                a.out[b] += np.where(weight > 0, weight, np.where(np.isnan(weight), weight, 0))[..., None] * out
            a.out[b] /= np.where(nothing, 1, total)[..., None]
            a.logsumexp[b] = np.where(nothing, -np.inf, safe + np.log(np.where(nothing, 1, total)))


scaled_dot_product_attention = base.operation(Kind)
