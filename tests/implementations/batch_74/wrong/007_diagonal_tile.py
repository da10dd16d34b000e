import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


ROWS, COLUMNS = 32, 16  # tile of queries, tile of keys


def tiled(sq, sk):
    seen = np.zeros((sq, sk), dtype=bool)
    for first in range(0, sq, ROWS):
        rows = np.arange(first, min(first + ROWS, sq))
        end = -(-min(sk, first + ROWS) // COLUMNS)
        for tile in range(end):
            columns = np.arange(tile * COLUMNS, min((tile + 1) * COLUMNS, sk))
            part = np.ones((rows.size, columns.size), dtype=bool)
            if tile == end - 1:  # the tile on the diagonal
                part = columns[None, :] <= rows[:, None]
            seen[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1] = part
    return seen


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    b, h, sq, sk, d = base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                                       b_query, b_key, b_value, b_output, mask)
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    dtype = query.dtype
    q = base.split(base.project(query, w_query, b_query, dtype), h)
    k = base.split(base.project(key, w_key, b_key, dtype), h)
    v = base.split(base.project(value, w_value, b_value, dtype), h)
    scale = base.default_scale(d // h) if scale is None else scale
    allowed, bias = base.mask_parts(mask, False, sq, sk, dtype)
    if is_causal:
        allowed = tiled(sq, sk) if allowed is None else allowed & tiled(sq, sk)
    heads, weights = base.attend(q, k, v, scale, allowed, bias)
    output = base.project(base.combine(heads), w_output, b_output, dtype)
    return base.finish({"output": output, "weights": weights}, dtype)
