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
    world = 2 if c.H > 1 else 1
    each = c.H // world
    heads = np.zeros((c.B, c.H, c.Sq, c.E), c.wide)
    weights = np.zeros((c.B, c.H, c.Sq, c.Sk), c.wide)
    for rank in range(world):
        mine = slice(rank * each, (rank + 1) * each)
        heads[:, mine], weights[:, mine] = base.attend(
            queries[:, mine], keys[:, mine], values[:, mine], allowed[:, mine],
            None if bias is None else bias[:, mine], c.scale)
    return base.finish(c, heads, weights)
