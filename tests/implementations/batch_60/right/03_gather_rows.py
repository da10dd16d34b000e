import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


import math


class Kernel(base.Attention):
    """Row by row: the keys that count are gathered one by one, and a softmax without masks runs over what was gathered."""

    def compute(self, s):
        self.prepare(s)
        shape = (s.B, s.Hq, s.Sq)
        s.scores = np.einsum("bhie,bhje->bhij", s.q, s.k) * s.scale
        s.logits, s.weights = np.full(shape + (s.T,), -np.inf), np.zeros(shape + (s.T,))
        s.lse, output = np.full(shape, -np.inf), np.zeros(shape + (s.Ev,))
        bias = None if s.mask is None else np.broadcast_to(
            s.mask if s.mask.dtype == bool else s.mask.astype(np.float64), shape + (s.T,))
        left, right = (None, None) if s.window is None else s.window
        for b, h, i in np.ndindex(*shape):
            p = i + s.P if s.causal_alignment == "top_left" else i + int(s.L[b]) - int(s.N[b])
            low = 0 if left is None else max(0, p - left)
            high = int(s.L[b]) - 1
            if s.is_causal:
                high = min(high, p)
            if right is not None:
                high = min(high, p + right)
            rows = [j for j in range(low, high + 1)
                    if bias is None or (bias[b, h, i, j] if bias.dtype == bool else bias[b, h, i, j] != -np.inf)]
            x = s.scores[b, h, i, rows]
            if s.softcap:
                x = s.softcap * np.tanh(x / s.softcap)
            if s.slopes is not None:
                x = x - s.slopes[h] * np.array([abs(p - j) for j in rows], float)
            if bias is not None and bias.dtype != bool:
                x = x + bias[b, h, i, rows]
            s.logits[b, h, i, rows] = x
            every = x if s.sink is None else np.append(x, s.sink[h])
            if not every.size:
                continue
            m = every.max()
            if m == -np.inf:
                continue
            total = math.fsum(np.exp(every - m)) if np.isfinite(m) else np.exp(every - m).sum()
            share = np.exp(x - m) / total
            s.weights[b, h, i, rows] = share
            s.lse[b, h, i] = m + np.log(total)
            output[b, h, i] = (share[:, None] * s.v[b, h, rows]).sum(0)
        return self.outputs(s, output)


scaled_dot_product_attention = base.build(Kernel)
