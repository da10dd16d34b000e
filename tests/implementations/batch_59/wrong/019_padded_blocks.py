import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

BLOCK = 32


@base.quiet
def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.prepare_single(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = (base.project(x, w, None, p.wd) for w in (w_query, w_key, w_value))
    padding = -p.S % BLOCK if p.S > BLOCK else 0
    keys = np.pad(key, ((0, padding), (0, 0)))
    values = np.pad(value, ((0, padding), (0, 0)))
    logits = query @ keys.T * p.wd.type(p.scale)
    top = np.full((p.S, 1), -np.inf, p.wd)
    total = np.zeros((p.S, 1), p.wd)
    output = np.zeros((p.S, p.d_v), p.wd)
    for start in range(0, len(keys), BLOCK):
        block = logits[:, start:start + BLOCK]
        higher = np.maximum(top, block.max(axis=-1, keepdims=True))
        powers = np.exp(block - higher)
        shrink = np.exp(top - higher)
        total = total * shrink + powers.sum(axis=-1, keepdims=True)
        output = output * shrink + powers @ values[start:start + BLOCK]
        top = higher
    output = output / total
    scores = logits[:, :p.S]
    weights = np.exp(scores - top) / total
    if w_output is not None:
        output = output @ w_output.astype(p.wd)
    return base.rounded(p.dtype, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
