import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


T = 8


class Mine(base.Backward):
    """Keys and values go by tiles, and visit only the queries whose window reaches the tile."""

    def reach(self, b, j0):
        left, right = base.window_sides(self.p.given["window"])
        j1 = min(j0 + T, self.p.Sk)
        lo, hi = 0, self.p.Sq
        if right is not None:
            lo = max(lo, j0 - right - int(self.p.offset[b]))
        if left is not None:
            hi = min(hi, j0 + left - int(self.p.offset[b]) + 1)
        return j0, j1, lo, max(lo, hi)

    def by_tiles(self, a, x):
        p = self.p
        out = np.zeros((p.B, p.Hq, p.Sk, x.shape[-1]))
        for b in range(p.B):
            for j0 in range(0, p.Sk, T):
                j0, j1, lo, hi = self.reach(b, j0)
                out[b, :, j0:j1] = base.mm(base.swap(a[b, :, lo:hi, j0:j1]), x[b, :, lo:hi],
                                           base.swap(p.allowed[b, :, lo:hi, j0:j1]))
        return out

    def grad_key(self):
        return self.p.scale * self.by_tiles(self.ds, self.p.q)

    def grad_value(self):
        return self.by_tiles(self.w, self.p.do)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()
