import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

GROUP = 4  # heads that fit into the cache together


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    q, k, v = base.mha_heads(p)
    full = mask
    if mask is not None:
        full = mask[(None,) * (4 - mask.ndim)]
    context = np.zeros((p.B, p.H, p.Sq, p.E), p.T)
    weights = np.zeros((p.B, p.H, p.Sq, p.Sk), p.T)
    for first in range(0, p.H, GROUP):
        last = min(first + GROUP, p.H)
        part = None if full is None else full[:, :last - first]
        keep, bias = base.mask_parts(part, (p.B, last - first, p.Sq, p.Sk), p.T)
        if p.is_causal:
            keep = keep & base.causal_table(p.Sq, p.Sk)
        here = slice(first, last)
        context[:, here], weights[:, here] = base.attend(q[:, here], k[:, here], v[:, here], p.scale, keep, bias)
    return base.mha_end(p, context, weights)
