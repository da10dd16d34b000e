import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Decode(base.Sdpa):
    """One query: keys are split among workers, each of which starts its softmax with the sink."""

    part = 16

    def core(self, c):
        if c.Sq != 1 or c.K <= self.part:
            return super().core(c)
        states = []
        for start, stop in base.ranges(c.K, self.part):
            s, ok = c.logits[..., start:stop], c.allowed[..., start:stop]
            m = s.max(axis=-1)
            if c.sink is not None:
                m = np.maximum(m, c.sink)
            m = np.where(m == -np.inf, 0, m).astype(c.acc)
            p = np.where(ok, np.exp(s - m[..., None]), 0).astype(c.acc)
            total = p.sum(axis=-1, dtype=c.acc)
            if c.sink is not None:
                total = total + np.exp(c.sink - m)
            lse = np.where(total == 0, -np.inf, m + np.log(total))
            out = base.mix(p, c.vh[:, :, start:stop], ok) / np.where(total == 0, 1, total)[..., None]
            states.append((lse, out))
        most = np.max([lse for lse, _ in states], axis=0)
        safe = np.where(most == -np.inf, 0, most)
        shares = [np.exp(lse - safe) for lse, _ in states]
        total = sum(shares)
        c.lse = np.where(total == 0, -np.inf, safe + np.log(total)).astype(c.acc)
        c.out = sum(w[..., None] * out for w, (_, out) in zip(shares, states))
        c.out = (c.out / np.where(total == 0, 1, total)[..., None]).astype(c.acc)


scaled_dot_product_attention = base.operation(Decode)
