import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    a = base.check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                              b_query, b_key, b_value, b_output, mask, is_causal, scale)
    with base.quiet():
        if query is key:  # self-attention: one product for all three
            packed = base.widen(query, a.work) @ np.concatenate([base.widen(w, a.work) for w in (w_query, w_key, w_value)], axis=1)
            parts = np.split(packed, 3, axis=-1)
        else:
            parts = [base.widen(x, a.work) @ base.widen(w, a.work) for x, w in ((query, w_query), (key, w_key), (value, w_value))]
        parts = [p if b is None else p + base.widen(b, a.work) for p, b in zip(parts, (b_query, b_key, b_value))]
        q, k, v = (base.split(p, a.H) for p in parts)
        allowed, bias = base.permitted(mask, is_causal, a.B, a.H, a.Sq, a.Sk, a.work)
        scores = q @ k.swapaxes(-1, -2) * a.scale
        weights = base.softmax(scores, allowed, bias)
        heads = base.weigh(weights, v, allowed)
        output = base.project(base.combine(heads), w_output, b_output, a.work)
        return {"output": output.astype(a.dtype), "weights": weights.astype(a.dtype)}
