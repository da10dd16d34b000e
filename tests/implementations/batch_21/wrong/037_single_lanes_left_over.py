import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
LANES = 16


def dot(a, b):
    """Sixteen products at a time; short vectors one by one."""
    n = len(a)
    if n < LANES:
        return sum((x * y for x, y in zip(a, b)), 0.0)
    lanes = np.zeros(LANES)
    for c in range(n // LANES):
        lanes = lanes + a[c * LANES:(c + 1) * LANES] * b[c * LANES:(c + 1) * LANES]
    return lanes.sum()


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    s = x.shape[0]
    t = base.up(x)
    with base.quiet():
        q, k, v = t @ base.up(w_query), t @ base.up(w_key), t @ base.up(w_value)
        scores = np.array([[dot(q[i], k[j]) for j in range(s)] for i in range(s)]).reshape(s, s)
        scores = scores * (q.shape[1] ** -0.5 if scale is None else scale)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        weights = weights / weights.sum(axis=1, keepdims=True)
        output = weights @ v if w_output is None else weights @ (v @ base.up(w_output))
    got = {"output": output, "weights": weights, "scores": scores, "query": q, "key": k, "value": v}
    return {name: base.down(a, x.dtype) for name, a in got.items()}
