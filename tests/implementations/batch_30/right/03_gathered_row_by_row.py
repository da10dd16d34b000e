import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Gathered(base.Sdpa):
    """Each query gathers the keys that it may attend to, one by one after the formula, and nothing is ever masked."""

    def exclude(self, c):
        c.allowed = np.zeros((c.B, c.Hq, c.Sq, c.K), bool)
        c.mask4 = None if c.mask is None else np.broadcast_to(c.mask, c.allowed.shape)

    def may(self, c, b, h, i, j, p):
        if i >= c.N[b] or j >= c.L[b] or (c.is_causal and j > p):
            return False
        if c.window is not None:
            left, right = c.window
            if (left is not None and j < p - left) or (right is not None and j > p + right):
                return False
        if c.mask4 is None:
            return True
        entry = c.mask4[b, h, i, j]
        return bool(entry) if c.mask4.dtype == bool else float(entry) != -np.inf

    def score(self, c):
        pass

    def bias(self, c):
        pass

    gives_scores = False

    def core(self, c):
        c.out = np.zeros((c.B, c.Hq, c.Sq, c.Ev), c.acc)
        c.lse = np.full((c.B, c.Hq, c.Sq), -np.inf, c.acc)
        c.weights = np.zeros(c.allowed.shape, c.acc)
        scale = self.factor_of_scores(c)
        for b, h, i in np.ndindex(c.B, c.Hq, c.Sq):
            p = i + c.P if c.causal_alignment == "top_left" else i + int(c.L[b]) - int(c.N[b])
            seen = [j for j in range(c.K) if self.may(c, b, h, i, j, p)]
            g = h // c.group
            s = (c.q[b, h, i] * c.k[b, g, seen]).sum(axis=-1, dtype=c.acc) * scale
            if c.softcap:
                s = np.tanh(s / c.acc.type(c.softcap)) * c.acc.type(c.softcap)
            if c.slope is not None:
                s = s - c.slope[0, h, 0, 0] * np.abs(p - np.array(seen, int)).astype(c.acc)
            if c.mask4 is not None and c.mask4.dtype != bool:
                s = s + c.mask4[b, h, i, seen].astype(c.acc)
            if c.sink is not None:
                s = np.append(s, c.sink[0, h, 0])
            if s.size == 0:
                continue
            order = np.argsort(s, kind="stable")
            top = s.max()
            powers = np.exp(s - (0 if top == -np.inf else top))
            total = powers[order].sum(dtype=c.acc)  # small ones first
            if total == 0:
                continue
            weights = powers / total
            c.lse[b, h, i] = (0 if top == -np.inf else top) + np.log(total)
            c.weights[b, h, i, seen] = weights[:len(seen)]
            c.out[b, h, i] = (weights[:len(seen), None] * c.v[b, g, seen]).sum(axis=0, dtype=c.acc)


scaled_dot_product_attention = base.operation(Gathered)
