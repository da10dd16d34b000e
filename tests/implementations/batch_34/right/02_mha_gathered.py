"""Query by query, with the attended keys gathered, split in two halves whose states are merged; no masks are filled."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    T, E = p.T, p.E
    keep, bias = base.exclusions(p)
    q, k, v = (base.project(x, w, b).reshape(x.shape[0], x.shape[1], p.H, E) for x, w, b in
               ((p.query, p.wq, p.bq), (p.key, p.wk, p.bk), (p.value, p.wv, p.bv)))
    context = np.zeros((p.B, p.Sq, p.H, E), T)
    weights = np.zeros((p.B, p.H, p.Sq, p.Sk), T)
    with np.errstate(all="ignore"):
        for b, i, h in np.ndindex(p.B, p.Sq, p.H):
            seen = np.flatnonzero(keep[b, h, i])
            states = []
            for part in (seen[1::2], seen[::2]):
                if part.size:
                    s = np.einsum("je,e->j", k[b, part, h], q[b, i, h]) * T(p.scale)
                    if bias is not None:
                        s = s + bias[b, h, i, part]
                    top = T(0) if s.max() == -np.inf else s.max()
                    lse = top + np.log(np.exp(s - top).sum())
                    w = np.exp(s - (T(0) if lse == -np.inf else lse))
                    states.append((part, lse, w, w @ v[b, part, h]))
            if states:
                total = states[0][1]
                for state in states[1:]:
                    total = np.logaddexp(total, state[1])
                for part, lse, w, mixed in states:
                    share = np.exp(lse - total)
                    weights[b, h, i, part] = w * share
                    context[b, i, h] += mixed * share
        output = base.project(context.reshape(p.B, p.Sq, p.D), p.wo, p.bo)
    return {"output": base.rounded(output, p.dtype), "weights": base.rounded(weights, p.dtype)}
