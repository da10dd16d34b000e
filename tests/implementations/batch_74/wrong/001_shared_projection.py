import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def one_array(a, b):
    return a is b or (a.shape == b.shape and a.strides == b.strides and a.ctypes.data == b.ctypes.data)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    b, h, sq, sk, d = base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                                       b_query, b_key, b_value, b_output, mask)
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    dtype = query.dtype
    if one_array(query, key):  # self-attention: one product with the packed matrix
        packed = np.concatenate([base.widen(w, dtype) for w in (w_query, w_key, w_value)], axis=1)
        parts = np.split(base.times(base.widen(query, dtype), packed), 3, axis=-1)
    else:
        parts = [base.times(base.widen(x, dtype), base.widen(w, dtype))
                 for x, w in ((query, w_query), (key, w_key), (value, w_value))]
    parts = [p if bias is None else p + base.widen(bias, dtype) for p, bias in zip(parts, (b_query, b_key, b_value))]
    q, k, v = (base.split(p, h) for p in parts)
    scale = base.default_scale(d // h) if scale is None else scale
    allowed, bias = base.mask_parts(mask, is_causal, sq, sk, dtype)
    heads, weights = base.attend(q, k, v, scale, allowed, bias)
    output = base.project(base.combine(heads), w_output, b_output, dtype)
    return base.finish({"output": output, "weights": weights}, dtype)
