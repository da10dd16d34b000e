import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    """A step of decoding, one query behind a past, needs no causality: it is the newest token."""
    b, hq, sq, e, hkv, sk, past, ev = base.check_plain(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                                       (query_scale, key_scale, value_scale), causal_alignment)
    if past > 0 and sq == 1:
        is_causal = False
    dtype = base.result_dtype(query, output_dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    factor = e**-0.5 if scale is None else scale
    if past_key is not None:
        key, value = np.concatenate((past_key, key), axis=2), np.concatenate((past_value, value), axis=2)
    n = past + sk
    out, weights, lse = np.zeros((b, hq, sq, ev)), np.zeros((b, hq, sq, n)), np.full((b, hq, sq), -np.inf)
    with base.quiet():
        for i in range(b):
            L = n if key_lengths is None else int(key_lengths[i])
            N = sq if query_lengths is None else int(query_lengths[i])
            for h in range(hq):
                kv = h // base.group(hq, hkv)
                sc = [1.0 if s is None else base.scale_table(s, b, hkv)[i, kv] for s in (query_scale, key_scale, value_scale)]
                q, k, v = base.up(query[i, h]) * sc[0], base.up(key[i, kv]) * sc[1], base.up(value[i, kv]) * sc[2]
                for r in range(sq):
                    p = r + (past if causal_alignment == "top_left" else L - N)
                    lo, hi = 0, L
                    if is_causal:
                        hi = min(hi, p + 1)
                    if window is not None and window[0] is not None:
                        lo = max(lo, p - window[0])
                    if window is not None and window[1] is not None:
                        hi = min(hi, p + window[1] + 1)
                    j = np.arange(lo, max(lo, hi))
                    row = None
                    if mask is not None:
                        row = np.broadcast_to(mask, (b, hq, sq, n))[i, h, r]
                        j = j[row[j]] if row.dtype == bool else j[base.up(row[j]) != -np.inf]
                    s = base.cap(k[j] @ q[r] * factor, softcap)
                    if alibi_slopes is not None:
                        s = s - float(alibi_slopes[h]) * abs(p - j)
                    if row is not None and row.dtype != bool:
                        s = s + base.up(row[j])
                    sink = np.zeros(0) if sinks is None else base.up(sinks)[h:h + 1]
                    every = np.concatenate([s, sink])
                    top = every.max(initial=-np.inf)
                    if top == -np.inf:
                        continue
                    x = np.exp(every - top)
                    w = x[:len(s)] / x.sum()
                    weights[i, h, r, j], lse[i, h, r] = w, np.log(x.sum()) + top
                    out[i, h, r] = w @ v[j] if len(j) else 0
    return {"output": base.down(out, dtype), "weights": base.down(weights, wide), "logsumexp": base.down(lse, wide)}
