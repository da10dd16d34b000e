"""Gradients row by row: the keys of a query are gathered, exponentials are powers of two, sums are pairwise trees, and
rows are gone through backwards. The mean is subtracted from the values' products before they are weighed."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
LOG2E = np.log2(np.e)


def tree(x):
    """Sum over the first axis, in halves."""
    n = len(x)
    if n == 0:
        return np.zeros(x.shape[1:], x.dtype)
    if n == 1:
        return x[0]
    return tree(x[:n // 2]) + tree(x[n // 2:])


class Gradients(base.Backward):
    def passes(self):
        self.widen()
        self.places()
        self.exclude()
        shape = (self.B, self.Hq, self.Sq)
        self.w, self.dp, self.slope = (np.zeros(shape + (self.Sk,)) for _ in range(3))
        self.share, self.delta = np.zeros(shape), np.zeros(shape)
        mask = None
        if self.mask is not None and self.mask.dtype != bool:
            mask = np.broadcast_to(base.wide(self.mask4()), shape + (self.Sk,))
        for b, h, i in reversed(list(np.ndindex(*shape))):
            if i >= self.N[b]:
                continue
            keys = np.flatnonzero(self.attend[b, h, i])
            s = tree((self.k[b, h, keys] * self.q[b, h, i]).T) * self.factor
            slope = np.ones_like(s)
            if self.softcap:
                y = s / self.softcap
                s, slope = self.softcap * np.tanh(y), 1 / np.cosh(y) ** 2
            if self.alibi_slopes is not None:
                s = s - base.wide(self.alibi_slopes)[h] * np.abs(self.p[b, i] - keys)
            if mask is not None:
                s = s + mask[b, h, i, keys]
            if self.sinks is not None:
                s = np.append(s, base.wide(self.sinks)[h])
            if not len(s) or not len(keys) and np.isneginf(s[-1]):
                continue
            e = np.exp2((s - s.max()) * LOG2E)
            e = e / tree(np.sort(e))
            if self.sinks is not None:
                self.share[b, h, i], e = e[-1], e[:-1]
            dp = tree((self.v[b, h, keys] * self.go[b, h, i]).T)
            self.w[b, h, i, keys], self.dp[b, h, i, keys], self.slope[b, h, i, keys] = e, dp, slope
            self.delta[b, h, i] = tree(e * dp) if len(keys) else 0

    def weight_gradients(self):
        pass

    def find_delta(self):
        pass

    def sink_share(self):
        return self.share


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
