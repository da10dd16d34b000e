import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    """Keys stay numbers; their scale goes into the factor of the exponent where nothing stands between."""
    b, hq, sq, e, hkv, sk, past, ev = base.check_plain(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                                       (query_scale, key_scale, value_scale), causal_alignment)
    dtype = base.result_dtype(query, output_dtype)
    factor = e**-0.5 if scale is None else scale
    n = past + sk
    ones = np.float32(1)
    qs, ks, vs = (base.scale_table(ones if s is None else s, b, hkv) for s in (query_scale, key_scale, value_scale))
    m4 = None if mask is None else np.broadcast_to(mask, (b, hq, sq, n))
    out, lse = np.zeros((b, hq, sq, ev)), np.zeros((b, hq, sq))
    late = key_scale is not None and not softcap and alibi_slopes is None
    for i in range(b):
        L = n if key_lengths is None else int(key_lengths[i])
        N = sq if query_lengths is None else int(query_lengths[i])
        p = np.arange(sq) + (past if causal_alignment == "top_left" else L - N)
        for h in range(hq):
            kv = h // base.group(hq, hkv)
            k, v = base.up(key[i, kv]), base.up(value[i, kv])
            if past_key is not None:
                k, v = np.concatenate([base.up(past_key[i, kv]), k]), np.concatenate([base.up(past_value[i, kv]), v])
            ok, bias = base.keep(p, np.arange(n), 1, None if m4 is None else m4[i, h][None], is_causal, window,
                                 None if alibi_slopes is None else alibi_slopes[h:h + 1])
            ok, bias = ok[0] & (np.arange(n) < L), bias[0]
            with base.quiet():
                q = base.up(query[i, h]) * qs[i, kv]
                if late:
                    rate = ks[i, kv]
                    s = np.where(ok, q @ k.T * factor + bias, -np.inf)
                else:
                    rate = 1.0
                    s = np.where(ok, base.cap(q @ (k * ks[i, kv]).T * factor, softcap) + bias, -np.inf)
                m = np.where(ok, s * rate, -np.inf).max(-1, initial=-np.inf)
                x = np.where(ok, np.exp(s * rate - np.where(m == -np.inf, 0, m)[:, None]), 0)
            o, lse[i, h] = base.finish(m, x.sum(-1), base.weigh(x, v, ok), None if sinks is None else base.up(sinks)[h])
            out[i, h] = o * vs[i, kv]
    return {"output": base.down(out, dtype), "logsumexp": base.down(lse, np.float64 if dtype == np.float64 else np.float32)}
