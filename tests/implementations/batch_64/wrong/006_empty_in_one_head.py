import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    queries, keys, values = base.projected(c)
    allowed, bias = base.permitted(c, mask, is_causal)
    with np.errstate(all="ignore"):
        logits = queries @ keys.swapaxes(-1, -2) * c.wide.type(c.scale)
        if bias is not None:
            logits = logits + bias
    logits = np.where(allowed, logits, np.finfo(c.wide).min)
    none = ~allowed.any(axis=-1, keepdims=True)
    weights = base.shares(logits, allowed | none)
    hidden = none.all(axis=1, keepdims=True)  # queries that see nothing
    weights = np.where(hidden, 0, weights).astype(c.wide)
    heads = base.weigh(weights, values, (allowed | none) & ~hidden)
    return base.finish(c, heads, weights)
