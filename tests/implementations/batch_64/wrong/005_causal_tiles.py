import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

ROWS, COLUMNS = 32, 16


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    queries, keys, values = base.projected(c)
    allowed, bias = base.permitted(c, mask, is_causal)
    heads = np.zeros((c.B, c.H, c.Sq, c.E), c.wide)
    weights = np.zeros((c.B, c.H, c.Sq, c.Sk), c.wide)
    for number, start in enumerate(range(0, c.Sq, ROWS)):
        rows = slice(start, start + ROWS)
        end = min(c.Sk, (number + 1) * COLUMNS) if is_causal else c.Sk  # tiles behind the diagonal are skipped
        part = None if bias is None else bias[:, :, rows, :end]
        heads[:, :, rows], weights[:, :, rows, :end] = base.attend(
            queries[:, :, rows], keys[:, :, :end], values[:, :, :end], allowed[:, :, rows, :end], part, c.scale)
    return base.finish(c, heads, weights)
