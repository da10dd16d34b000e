import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def flat(x, w, bias, dtype):
    rows = np.ravel(x, order="K").reshape(x.shape[0] * x.shape[1], x.shape[2])  # no copy where none is needed
    return base.project(rows, w, bias, dtype).reshape(x.shape)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    b, h, sq, sk, d = base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                                       b_query, b_key, b_value, b_output, mask)
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    dtype = query.dtype
    q = base.split(flat(query, w_query, b_query, dtype), h)
    k = base.split(flat(key, w_key, b_key, dtype), h)
    v = base.split(flat(value, w_value, b_value, dtype), h)
    scale = base.default_scale(d // h) if scale is None else scale
    allowed, bias = base.mask_parts(mask, is_causal, sq, sk, dtype)
    heads, weights = base.attend(q, k, v, scale, allowed, bias)
    output = base.project(base.combine(heads), w_output, b_output, dtype)
    return base.finish({"output": output, "weights": weights}, dtype)
