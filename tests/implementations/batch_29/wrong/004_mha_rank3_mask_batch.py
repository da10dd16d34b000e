import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def attend(q, k, v, mask, is_causal, scale):
    """(B, H, S, d) each, in the wide dtype."""
    B, H, Sq, d = q.shape
    Sk = k.shape[2]
    ok = np.ones((B, H, Sq, Sk), bool)
    if is_causal:
        ok &= np.tri(Sq, Sk, dtype=bool)
    bias = None
    if mask is not None:
        if mask.dtype == bool:
            ok &= mask
        else:
            bias = mask.astype(q.dtype)
            ok &= ~np.isneginf(bias)
    out, weights, *_ = base.core(q, k, v, ok, bias, d ** -0.5 if scale is None else scale)
    return out, weights


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    B, Sq, Sk, D, d = base.check_mha(query, key, value, w_query, w_key, w_value, w_output,
                                     (b_query, b_key, b_value, b_output), mask, num_heads)
    ct = base.wide(query.dtype)
    if mask is not None and mask.ndim == 3 and mask.shape[0] == B:
        mask = mask[:, None]  # a mask for each batch entry
    heads = []
    shares = []
    q = base.project(query, w_query, b_query, ct)
    k = base.project(key, w_key, b_key, ct)
    v = base.project(value, w_value, b_value, ct)
    full = None if mask is None else np.broadcast_to(mask, (B, num_heads, Sq, Sk))
    for h in range(num_heads):
        part = slice(h * d, (h + 1) * d)
        o, w = attend(q[:, None, :, part], k[:, None, :, part], v[:, None, :, part],
                      None if full is None else full[:, h:h + 1], is_causal, scale)
        heads.append(o[:, 0])
        shares.append(w)
    out = np.concatenate(heads, axis=-1) @ w_output.astype(ct)
    out = out if b_output is None else out + b_output.astype(ct)
    return {"output": out.astype(query.dtype), "weights": np.concatenate(shares, axis=1).astype(query.dtype)}
