import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output,
    b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, num_heads=1, is_causal=False, scale=None,
):
    query, key, value, mask = base.array(query), base.array(key), base.array(value), base.array(mask)
    matrices = [base.array(w) for w in (w_query, w_key, w_value, w_output)]
    biases = [base.array(b) for b in (b_query, b_key, b_value, b_output)]
    shape = base.checked_multi(query, key, value, matrices, biases, mask, num_heads)
    scale = base.default_scale(scale, query.shape[-1], num_heads)
    q, k, v = (base.split(base.project(*t), num_heads) for t in zip((query, key, value), matrices, biases))
    allowed, bias = base.exclusions(mask, is_causal, shape)
    scores = base.score(q, k, scale)
    with np.errstate(all="ignore"):
        top = np.fmax.reduce(scores, axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), 0, top)
        logits = scores if bias is None else scores + bias
        shares = np.where(allowed, np.exp(np.where(allowed, logits, -np.inf) - top), 0)
        total = shares.sum(axis=-1, keepdims=True)
        weights = np.where(allowed, shares / np.where(total == 0, 1, total), 0)
    output = base.project(base.combine(base.mix(weights, v, allowed)), matrices[3], biases[3])
    return {"output": base.rounded(output, query.dtype), "weights": base.rounded(weights, query.dtype)}
