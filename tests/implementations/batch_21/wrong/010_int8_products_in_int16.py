import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def dot_int8(q, k):
    """(..., N, E) with (..., K, E), both int8: four products at a time in 16 bits, then in 32 bits."""
    e = q.shape[-1]
    pad = [(0, 0)] * (q.ndim - 1) + [(0, -e % 4)]
    q, k = np.pad(q, pad).astype(np.int16), np.pad(k, pad).astype(np.int16)
    total = np.zeros((*q.shape[:-1], k.shape[-2]), np.int32)
    for c in range(0, q.shape[-1], 4):
        quad = np.zeros(total.shape, np.int16)
        for d in range(c, c + 4):
            quad += q[..., :, None, d] * k[..., None, :, d]
        total += quad
    return total.astype(np.float64)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    b, hq, sq, e, hkv, sk, past, ev = base.check_plain(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                                       (query_scale, key_scale, value_scale), causal_alignment)
    dtype = base.result_dtype(query, output_dtype)
    g = base.group(hq, hkv)
    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    n = past + sk
    one = np.ones((b, hkv))
    qs, ks, vs = (np.repeat(one if s is None else base.scale_table(s, b, hkv), g, axis=1)
                  for s in (query_scale, key_scale, value_scale))
    with base.quiet():
        if query.dtype == np.int8 and key.dtype == np.int8:
            s = dot_int8(np.asarray(query), np.repeat(key, g, axis=1))
        else:
            s = np.einsum("bhne,bhke->bhnk", base.up(query), np.repeat(base.up(key), g, axis=1))
        scores = s * (qs * ks)[:, :, None, None] * (e**-0.5 if scale is None else scale)
        L = np.full(b, n) if key_lengths is None else np.asarray(key_lengths).astype(int)
        N = np.full(b, sq) if query_lengths is None else np.asarray(query_lengths).astype(int)
        p = np.arange(sq)[None, :, None] + (np.full(b, past) if causal_alignment == "top_left" else L - N)[:, None, None]
        j = np.arange(n)[None, None, :]
        ok = (j < L[:, None, None]) & np.ones((1, sq, 1), bool)
        if is_causal:
            ok = ok & (j <= p)
        if window is not None and window[0] is not None:
            ok = ok & (j >= p - window[0])
        if window is not None and window[1] is not None:
            ok = ok & (j <= p + window[1])
        ok = np.repeat(ok[:, None], hq, axis=1)
        logits = base.cap(scores, softcap)
        if alibi_slopes is not None:
            logits = logits - base.up(alibi_slopes)[None, :, None, None] * abs(p - j)[:, None]
        if mask is not None and mask.dtype == bool:
            ok &= mask
        elif mask is not None:
            ok &= base.up(mask) != -np.inf
            logits = logits + base.up(mask)
        logits = np.where(ok, logits, -np.inf)
        m = logits.max(-1, initial=-np.inf)
        x = np.where(ok, np.exp(logits - np.where(m == -np.inf, 0, m)[..., None]), 0)
        v = np.repeat(base.up(value), g, axis=1)
        out, lse = base.finish(m, x.sum(-1), base.weigh(x, v, ok), None if sinks is None else base.up(sinks)[None, :, None])
        out = out * vs[:, :, None, None]
    wide = np.float64 if dtype == np.float64 else np.float32
    return {"output": base.down(out, dtype), "logsumexp": base.down(lse, wide)}
