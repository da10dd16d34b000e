"""Multi-head attention in float32 throughout: each query gathers the keys that it may attend to; pairwise trees."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
conventions = {"accumulation": "float32"}


def _tree(parts):
    while len(parts) > 1:
        half = len(parts) // 2
        odd = parts[2 * half:]
        parts = np.concatenate([parts[:2 * half:2] + parts[1:2 * half:2], odd])
    return parts[0]


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    a = base.check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                              b_query, b_key, b_value, b_output, mask, is_causal, scale)
    f = np.float32
    with np.errstate(all="ignore"):
        allowed, bias = base.permitted(mask, is_causal, a.B, a.H, a.Sq, a.Sk, np.dtype(np.float64))
        if bias is not None:  # large finite numbers stay finite in float32
            bias = np.clip(bias, np.finfo(f).min, np.finfo(f).max).astype(f)
        q = base.split(base.project(query, w_query, b_query, f) * f(a.scale), a.H)
        k = base.split(base.project(key, w_key, None, f), a.H)  # a bias of the keys changes nothing
        v = base.split(base.project(value, w_value, b_value, f), a.H)
        if bias is not None:
            bias = np.broadcast_to(bias, allowed.shape)
        weights = np.zeros(allowed.shape, f)
        heads = np.zeros(q.shape, f)
        for at in np.ndindex(a.B, a.H, a.Sq):
            seen = np.flatnonzero(allowed[at])[::-1]
            if not len(seen):
                continue
            logits = k[at[0], at[1], seen] @ q[at]
            if bias is not None:
                logits = logits + bias[at][seen]
            share = np.exp(logits - logits.max())
            total = _tree(share)
            weights[at][seen] = share / total
            heads[at] = _tree(share[:, None] * v[at[0], at[1], seen]) / total
        output = base.project(base.combine(heads), w_output, b_output, f)
        return {"output": output.astype(a.dtype), "weights": weights.astype(a.dtype)}
