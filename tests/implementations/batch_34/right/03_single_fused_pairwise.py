"""w_value times w_output first, sums over keys by pairwise trees, powers of two."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(terms):
    """Sum along the first axis by pairs."""
    while terms.shape[0] > 1:
        if terms.shape[0] % 2:
            terms = np.concatenate([terms, np.zeros_like(terms[:1])])
        terms = terms[::2] + terms[1::2]
    return terms.sum(axis=0)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_begin(x, w_query, w_key, w_value, w_output, scale)
    T = p.T
    with np.errstate(all="ignore"):
        query, key, value = (tree(p.x.T[:, :, None] * w[:, None, :]) for w in (p.wq, p.wk, p.wv))
        scores = tree(query.T[:, :, None] * key.T[:, None, :]) * T(p.scale)
        taken = value if p.wo is None else p.x @ (p.wv @ p.wo)
        top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        e = np.exp2((scores - top) * T(np.log2(np.e)))
        total = tree(e.T)
        output = tree(e.T[:, :, None] * taken[:, None, :]) / total[:, None]
        weights = e / total[:, None]
    return base.single_end(p, output, weights, scores, query, key, value)
