import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    """Packed sequences are padded at their ends (with NaN) and attended as one batch with lengths, in float64 throughout."""
    query, key, value, qs, ks = base.packed_checks(query, key, value, query_starts, key_starts)
    N, L = np.diff(qs), np.diff(ks)
    batch = len(N)
    most_q, most_k = int(N.max(initial=0)), int(L.max(initial=0))

    def padded(tokens, starts, most):
        whole = np.full((batch, tokens.shape[1], most, tokens.shape[2]), np.nan)
        for b in range(batch):
            whole[b, :, :starts[b + 1] - starts[b]] = tokens[starts[b]:starts[b + 1]].astype(np.float64).swapaxes(0, 1)
        return whole

    if mask is not None:
        mask = base.columns(mask, most_k)
    r = base.attention(padded(query, qs, most_q), padded(key, ks, most_k), padded(value, ks, most_k), mask=mask,
                       key_lengths=L, query_lengths=N, **rest)
    out = np.zeros(query.shape[:2] + (value.shape[2],))
    lse = np.zeros(query.shape[:2])
    for b in range(batch):
        out[qs[b]:qs[b + 1]] = r["output"][b, :, :N[b]].swapaxes(0, 1)
        lse[qs[b]:qs[b + 1]] = r["logsumexp"][b, :, :N[b]].swapaxes(0, 1)
    with np.errstate(all="ignore"):
        return {"output": out.astype(query.dtype), "logsumexp": lse.astype(np.float64 if query.dtype == np.float64 else np.float32)}
