import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "packed"


def _row(q, keys, values, biases, sink, scale, softcap):
    """One query with the keys that it may attend to."""
    total, top = (0.0, -np.inf) if sink is None else (1.0, sink)
    if not len(keys):
        return np.zeros(values.shape[1], values.dtype), top if sink is not None else -np.inf
    s = keys @ q * scale
    if softcap:
        s = softcap * np.tanh(s / softcap)
    s = s + biases
    m = np.maximum(s.max(), top)
    p = np.exp(s - m)
    total = p.sum() + (np.exp(top - m) if sink is not None else 0.0)
    return (p / total) @ values, m + np.log(total)


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    base.refuse(query.ndim != 3 or key.ndim != 3 or value.ndim != 3, "rank")
    base.refuse(key.shape[0] != value.shape[0] or key.shape[1] != value.shape[1], "heads and tokens")
    base.refuse(key.shape[2] != query.shape[2] or query.shape[1] % max(key.shape[1], 1) != 0, "query")
    dtype, hq, group = query.dtype.type, query.shape[1], query.shape[1] // max(key.shape[1], 1)
    scale = dtype(query.shape[2] ** -0.5 if scale is None else scale)
    out = np.zeros(query.shape[:2] + value.shape[2:], dtype)
    lse = np.full(query.shape[:2], -np.inf, dtype)
    left, right = (None, None) if window is None else window
    with np.errstate(all="ignore"):
        for b in range(len(query_starts) - 1):
            q0, q1, k0, k1 = int(query_starts[b]), int(query_starts[b + 1]), int(key_starts[b]), int(key_starts[b + 1])
            n, length = q1 - q0, k1 - k0
            offset = max(length - n, 0) if causal_alignment == "bottom_right" else 0
            for i in range(n):
                p = i + offset
                first = 0 if left is None else max(p - left, 0)
                last = length - 1 if right is None else min(p + right, length - 1)
                if is_causal:
                    last = min(last, p)
                keep = np.arange(first, last + 1)
                for h in range(hq):
                    bias = np.zeros(len(keep), dtype)
                    use = np.ones(len(keep), bool)
                    if alibi_slopes is not None:
                        bias = bias - dtype(alibi_slopes[h]) * np.abs(p - keep).astype(dtype)
                    if mask is not None:
                        m = np.asarray(mask)
                        m = m.reshape((1,) * (4 - m.ndim) + m.shape)[0]
                        m = m[h if m.shape[0] > 1 else 0, 0][keep]
                        use = m if m.dtype == bool else ~np.isneginf(m)
                        bias = bias if m.dtype == bool else bias + m
                    kept = keep[use]
                    k, v = key[k0:k1, h // group][kept], value[k0:k1, h // group][kept]
                    out[q0 + i, h], lse[q0 + i, h] = _row(query[q0 + i, h], k, v, bias[use],
                                                          None if sinks is None else dtype(sinks[h]), scale, softcap)
    return {"output": out, "logsumexp": lse}
