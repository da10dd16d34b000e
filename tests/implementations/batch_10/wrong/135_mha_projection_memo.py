import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    for x in (query, key, value):
        if x.ndim != 3:
            raise ValueError("rank")
    done = {}

    def project(x, w, b, side):
        if (id(x), side) not in done:
            y = x @ w if b is None else x @ w + b
            done[id(x), side] = base.split_heads(y, num_heads)["output"]
        return done[id(x), side]

    q = project(query, w_query, b_query, "query")
    k = project(key, w_key, b_key, "memory")
    v = project(value, w_value, b_value, "memory")
    heads = base.scaled_dot_product_attention(q, k, v, mask=mask, is_causal=is_causal, scale=scale)
    out = base.combine_heads(heads["output"])["output"] @ w_output
    return {"output": out if b_output is None else out + b_output, "weights": heads["weights"]}

dtypes = ("float64", "float32")
