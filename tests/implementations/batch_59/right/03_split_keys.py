import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


@base.quiet
def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.prepare_single(x, w_query, w_key, w_value, w_output, scale)
    wide = [w.astype(p.wd) for w in (x, w_query, w_key, w_value)]

    def product(a, b):  # features in three parts
        cuts = [0, a.shape[1] // 3, a.shape[1] // 2, a.shape[1]]
        return sum(a[:, i:j] @ b[i:j] for i, j in zip(cuts, cuts[1:]))

    query, key, value = (product(wide[0], w) for w in wide[1:])
    scores = product(query, np.ascontiguousarray(key.T)) * p.wd.type(p.scale)
    mixed = value if w_output is None else product(value, w_output.astype(p.wd))  # values to outputs first
    cuts = [0, p.S // 4, p.S // 4, p.S // 2, p.S]
    states = []
    for i, j in zip(cuts, cuts[1:]):
        if i < j:
            top = scores[:, i:j].max(axis=1, keepdims=True)
            powers = np.exp(scores[:, i:j] - top)
            total = powers.sum(axis=1, keepdims=True)
            states.append((top + np.log(total), powers @ mixed[i:j] / total))
    output = np.zeros((p.S, mixed.shape[1]), p.wd)
    weights = np.zeros((p.S, p.S), p.wd)
    if states:
        ends = np.concatenate([end for end, _ in states], axis=1)
        top = ends.max(axis=1, keepdims=True)
        sums = np.exp(ends - top)
        parts = sums / sums.sum(axis=1, keepdims=True)
        output = sum(parts[:, n:n + 1] * part for n, (_, part) in enumerate(states))
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = powers / powers[:, ::-1].sum(axis=1, keepdims=True)
    return base.rounded(p.dtype, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
