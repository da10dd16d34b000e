import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    q, k, v = base.mha_heads(p)
    keep, bias = base.exclusions(p)
    alive = keep.any(axis=(1, 3))  # (B, Sq): queries that see something
    usable = keep | ~keep.any(axis=-1, keepdims=True)  # nothing to divide by zero
    with np.errstate(all="ignore"):
        logits = (q @ k.swapaxes(-1, -2)) * p.T(p.scale)
        if bias is not None:
            logits = logits + bias
        logits = np.where(keep, logits, np.finfo(p.T).min).astype(p.T)
        weights = base.shares(logits, usable) * alive[:, None, :, None]
        context = base.weigh(weights, v, usable & alive[:, None, :, None])
    return base.mha_end(p, context, weights)
