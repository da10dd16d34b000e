"""Right: for each query a list of the keys that it may attend to, weighed one by one in powers of two; logsumexp to the base 2."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
conventions = {"logsumexp_base": "2", "empty_logsumexp": "plus_infinity"}
LOG2E = 1 / math.log(2)


def keys_of(p, b, i):
    at = i + int(p.offset[b])
    low, high = 0, int(p.L[b])
    if p.left is not None:
        low = max(low, at - p.left)
    if p.causal:
        high = min(high, at + 1)
    if p.right is not None:
        high = min(high, at + p.right + 1)
    return at, range(low, max(low, high))


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev))
    lse = np.full((p.B, p.Hq, p.Sq), np.inf)
    with np.errstate(all="ignore"):
        for b, i in np.ndindex(p.B, p.Sq):
            at, keys = keys_of(p, b, i)
            for h in range(p.Hq):
                top = -np.inf if p.sinks is None else p.sinks[h] * LOG2E
                total = 0.0 if top == -np.inf else 1.0
                acc = np.zeros(p.Ev)
                row = None
                if p.mask4 is not None:
                    nb, nh, ns, _ = p.mask4.shape
                    row = p.mask4[b if nb > 1 else 0, h if nh > 1 else 0, i if ns > 1 else 0]
                for j in reversed(keys):
                    plus = 0.0
                    if row is not None:
                        if p.boolean:
                            if not row[j]:
                                continue
                        else:
                            plus = float(row[j])
                            if plus == -math.inf:
                                continue
                    s = (p.q[b, h, i] * p.k[b, h // p.G, j]).sum() * p.scale
                    if p.cap:
                        s = p.cap * np.tanh(s / p.cap)
                    if p.slopes is not None:
                        s = s - p.slopes[h] * abs(at - j)
                    s = (s + plus) * LOG2E
                    v = p.v[b, h // p.G, j]
                    if s == -np.inf and np.isfinite(v).all():
                        continue
                    if np.isnan(s) or s == np.inf:
                        total, acc, top = np.nan, np.full(p.Ev, np.nan), np.nan
                        break
                    if s > top:
                        old = np.exp2(top - s) if total else 0.0
                        total, acc, top = total * old + 1.0, acc * old + v, s
                    else:
                        e = np.exp2(s - top)
                        total, acc = total + e, acc + e * v
                if total != 0:
                    out[b, h, i] = acc / total
                    lse[b, h, i] = np.log2(total) + top
    return base.finish(p, out, logsumexp=lse)
