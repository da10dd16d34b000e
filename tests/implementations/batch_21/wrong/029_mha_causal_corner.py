import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = base.check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                       (b_query, b_key, b_value, b_output), mask, num_heads)
    q, k, v = (base.split_heads(base.project(*t), num_heads)
               for t in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)))
    if is_causal:
        lower = np.tril(np.ones((sq, sk), bool), k=max(sk - sq, 0))
        if mask is None:
            mask = lower
        elif mask.dtype == bool:
            mask = mask & lower
        else:
            mask = np.where(lower, base.up(mask), -np.inf)
    got = base.sdpa(q, k, v, mask=mask, scale=scale)
    output = base.project(base.combine_heads(got["output"]), w_output, b_output)
    return {"output": base.down(output, query.dtype), "weights": base.down(got["weights"], query.dtype)}
