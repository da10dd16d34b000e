import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(array):
    """The sum along the first axis, of pairs of pairs."""
    if len(array) == 0:
        return np.zeros(array.shape[1:], array.dtype)
    while len(array) > 1:
        last = array[-1:] if len(array) % 2 else array[:0]
        array = np.concatenate([array[0:len(array) - 1:2] + array[1::2], last])
    return array[0]


@base.quiet
def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    p = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    q = base.cut(base.project(query, w_query, b_query, p.wd), p.H)
    k = base.cut(base.project(key, w_key, b_key, p.wd), p.H)
    v = base.cut(base.project(value, w_value, b_value, p.wd), p.H)
    allowed, bias = base.masks(mask, is_causal, p)
    bias = None if bias is None else np.broadcast_to(bias, allowed.shape)
    weights = np.zeros((p.B, p.H, p.Sq, p.Sk), p.wd)
    output = np.zeros((p.B, p.Sq, p.D), p.wd)
    w_out = w_output.astype(p.wd)
    for b in range(p.B):
        for i in range(p.Sq):
            parts = []
            for h in reversed(range(p.H)):
                seen = np.flatnonzero(allowed[b, h, i])
                if len(seen) == 0:
                    continue
                scores = tree((k[b, h, seen] * q[b, h, i]).T) * p.wd.type(p.scale)
                if bias is not None:
                    scores = scores + bias[b, h, i, seen]
                powers = np.exp(scores - scores.max())
                shares = powers / tree(powers)
                weights[b, h, i, seen] = shares
                mixed = tree(shares[:, None] * v[b, h, seen])
                parts.append(tree(mixed[:, None] * w_out[h * p.E:(h + 1) * p.E]))  # this head's part of the output
            if parts:
                output[b, i] = tree(np.stack(parts))
    if b_output is not None:
        output = output + b_output.astype(p.wd)
    return base.rounded(p.dtype, output=output, weights=weights)
