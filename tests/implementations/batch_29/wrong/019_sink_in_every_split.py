import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

SPLIT = 32


def part(a, rows, cols, sinks, softcap):
    """Attention over some keys, and the logarithm of its denominator."""
    bias = None if a.bias is None else a.bias[..., cols]
    out, weights, lse, *_ = base.core(a.q, a.k[:, :, cols], a.v[:, :, cols], a.ok[..., cols], bias, a.scale, softcap, sinks)
    return out, lse


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    parts = [part(a, None, slice(j, j + SPLIT), sinks, softcap) for j in range(0, max(a.n, 1), SPLIT)]
    if len(parts) == 1:
        out, lse = parts[0]
    else:
        with np.errstate(all="ignore"):
            lses = np.stack([lse for _, lse in parts])
            top = lses.max(axis=0)
            top = np.where(np.isneginf(top), 0, top)
            share = np.exp(lses - top)
            total = share.sum(axis=0)
            share = np.where(total == 0, 0, share / total)[..., None]
            # a part without a share has nothing to add
            out = sum(np.where(s == 0, 0, o * s) for (o, _), s in zip(parts, share))
            lse = top + np.log(total)
    return {"output": out.astype(query.dtype), "logsumexp": lse}
