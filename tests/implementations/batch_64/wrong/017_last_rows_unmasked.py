import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    allowed, bias = base.permitted(c, mask, is_causal)
    queries, keys, values = base.projected(c)
    if not is_causal:
        return base.finish(c, *base.attend(queries, keys, values, allowed, bias, c.scale))
    near = max(min(c.Sk - 1, c.Sq), 0)  # from here on queries see every key: no mask there
    first = base.attend(queries[:, :, :near], keys, values, allowed[:, :, :near],
                        None if bias is None else bias[:, :, :near], c.scale)
    rest = base.attend(queries[:, :, near:], keys, values, np.ones((c.B, c.H, c.Sq - near, c.Sk), bool), None, c.scale)
    return base.finish(c, *(np.concatenate(both, axis=2) for both in zip(first, rest)))
