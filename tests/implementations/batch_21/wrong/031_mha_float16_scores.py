import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = base.check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                       (b_query, b_key, b_value, b_output), mask, num_heads)
    dtype = query.dtype
    half = dtype == np.float16
    q, k, v = (base.split_heads(base.project(*t), num_heads)
               for t in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)))
    scale = e**-0.5 if scale is None else scale
    ok = np.ones((b, num_heads, sq, sk), bool)
    with base.quiet():
        dots = q @ k.swapaxes(-1, -2)
        if half:  # tensor cores write float16
            dots = base.up(base.down(dots, dtype))
        logits = dots * scale
        if mask is not None:
            ok = ok & (mask if mask.dtype == bool else base.up(mask) != -np.inf)
            logits = logits + (0 if mask.dtype == bool else base.up(mask))
        if is_causal:
            ok = ok & (np.arange(sk) <= np.arange(sq)[:, None])
        logits = np.where(ok, logits, -np.inf)
        top = logits.max(-1, keepdims=True, initial=-np.inf)
        x = np.where(ok, np.exp(logits - np.where(top == -np.inf, 0, top)), 0)
        total = x.sum(-1, keepdims=True)
        weights = np.where(ok, x / np.where(total == 0, 1, total), 0)
        output = base.project(base.combine_heads(base.weigh(weights, v, ok)), w_output, b_output)
    return {"output": base.down(output, dtype), "weights": base.down(weights, dtype)}
