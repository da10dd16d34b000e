import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    a = base.check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                              b_query, b_key, b_value, b_output, mask, is_causal, scale)
    with base.quiet():
        q = base.split(base.project(query, w_query, b_query, a.work), a.H)
        k = base.split(base.project(key, w_key, b_key, a.work), a.H)
        v = base.split(base.project(value, w_value, b_value, a.work), a.H)
        flat = mask
        if flat is not None and flat.ndim == 4 and flat.shape[:2] == (a.B, 1):
            # batch and heads are one axis from here on: one copy of the mask for every head
            flat = np.tile(flat[:, 0], (a.H, 1, 1)).reshape(a.B, a.H, *flat.shape[2:])
        allowed, bias = base.permitted(flat, is_causal, a.B, a.H, a.Sq, a.Sk, a.work)
        scores = q @ k.swapaxes(-1, -2) * a.scale
        weights = base.softmax(scores, allowed, bias)
        heads = base.weigh(weights, v, allowed)
        output = base.project(base.combine(heads), w_output, b_output, a.work)
        return {"output": output.astype(a.dtype), "weights": weights.astype(a.dtype)}
