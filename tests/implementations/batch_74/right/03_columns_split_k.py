import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def thirds(a, b, dtype):
    """a · b, the inner axis in three parts (split-K)."""
    n = a.shape[1]
    cuts = sorted({0, n // 3, 2 * n // 3, n})
    with np.errstate(**base.QUIET):
        total = np.zeros((a.shape[0], b.shape[1]), base.inner(dtype))
        for low, high in zip(cuts[:-1], cuts[1:]):
            total = total + np.matmul(a[:, low:high], b[low:high])
        return total


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    """A token in each column inside; split-K; w_value · w_output first for the output; log-sum-exp in place of a division."""
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = np.asarray(x).dtype
    kind = base.inner(dtype)
    xt = base.widen(x, dtype).T
    q, k, v = (thirds(base.widen(w, dtype).T, xt, dtype) for w in (w_query, w_key, w_value))
    scale = base.default_scale(q.shape[0]) if scale is None else scale
    with np.errstate(**base.QUIET):
        scores = thirds(k.T, q, dtype) * kind.type(scale)  # keys in rows, queries in columns
        top = scores.max(axis=0, keepdims=True, initial=-np.inf)
        far = scores - top
        weights = np.exp(far - np.log(np.exp(far).sum(axis=0, keepdims=True)))
        if w_output is None:
            output = thirds(v, weights, dtype)
        else:
            joined = base.times(base.widen(w_value, dtype), base.widen(w_output, dtype))
            output = base.times(base.times(joined.T, xt), weights)
    outputs = {"output": output, "weights": weights, "scores": scores, "query": q, "key": k, "value": v}
    return base.finish({name: a.T for name, a in outputs.items()}, dtype)
