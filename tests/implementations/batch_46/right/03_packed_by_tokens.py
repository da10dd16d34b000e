import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np
from types import SimpleNamespace

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


class ByTokens(base.Steps):
    def packed(self, arguments):
        self.kept = {}
        return super().packed(arguments)

    def sequences(self, c, qs, ks):
        """The sequences backwards, the longest number of keys first: the order must not matter."""
        for b in sorted(range(len(qs) - 1), key=lambda b: (qs[b] - qs[b + 1], -b)):
            if qs[b] < qs[b + 1]:
                yield np.arange(qs[b], qs[b + 1]), np.arange(ks[b], ks[b + 1])

    def attend(self, q, k, v, p, c):
        """Head by head and query by query over slices of the keys that position and length leave."""
        B, Hq, Sq = q.shape[:3]
        output, logsumexp = np.zeros((B, Hq, Sq, v.shape[-1])), np.full((B, Hq, Sq), -np.inf)
        group = Hq // k.shape[1] if k.shape[1] else 1
        with np.errstate(all="ignore"):
            for h in range(Hq):
                for i in range(Sq):
                    at = int(p[0, i])
                    low, high = 0, int(c.L[0])
                    if c.is_causal:
                        high = min(high, at + 1)
                    if c.window is not None:
                        low = low if c.window[0] is None else max(low, at - int(c.window[0]))
                        high = high if c.window[1] is None else min(high, at + int(c.window[1]) + 1)
                    j = np.arange(low, max(low, high))
                    extra = np.zeros(len(j))
                    if c.mask4 is not None:
                        row = c.mask4[0, h if c.mask4.shape[1] > 1 else 0, 0]
                        kept = row[j] if row.dtype == bool else base.wide(row[j]) != -np.inf
                        j = j[kept]
                        extra = np.zeros(len(j)) if row.dtype == bool else base.wide(row[j])
                    s = (k[0, h // group, j] * q[0, h, i]).sum(axis=-1) * c.factor
                    if c.softcap:
                        s = np.tanh(s / c.softcap) * c.softcap
                    if c.alibi_slopes is not None:
                        s = s - float(c.alibi_slopes[h]) * np.abs(at - j)
                    s = s + extra
                    if c.sinks is not None:
                        s = np.append(s, float(c.sinks[h]))
                    if not len(s):
                        continue
                    top = s.max()
                    top = 0.0 if top == -np.inf else top
                    powers = np.exp(s - top)
                    total = powers.sum()
                    logsumexp[0, h, i] = np.log(total) + top
                    if len(j):
                        output[0, h, i] = (powers[: len(j), None] * v[0, h // group, j]).sum(axis=0) / total
        return {"output": output, "logsumexp": logsumexp}


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    """Query by query over the slice of keys that it may attend to; sequences in another order."""
    return ByTokens().packed(dict(locals()))
