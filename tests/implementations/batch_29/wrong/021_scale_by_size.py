import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def spread(scale, B, Hkv, ct):
    """(B, Hkv) from whatever comes."""
    s = np.asarray(scale).astype(ct).ravel()
    if s.size == 1:
        return np.full((B, Hkv), s[0])
    if s.size == Hkv:
        return np.tile(s, (B, 1))
    if s.size == B * Hkv:
        return s.reshape(B, Hkv)
    return np.repeat(s[:, None], Hkv, axis=1)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    B, Hq, Hkv, Sq, Sk, P, E, Ev = base.check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                              query_scale, key_scale, value_scale)
    result = query.dtype if query.dtype.name not in base.QUANT else base.dtype_of(output_dtype or "float32")
    ct = base.wide(result)
    if P:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    G = Hq // Hkv if Hkv else 1
    q, k, v = query.astype(ct), key.astype(ct), value.astype(ct)
    if query_scale is not None:
        q *= np.repeat(spread(query_scale, B, Hkv, ct), G, axis=1)[..., None, None]
    if key_scale is not None:
        k *= spread(key_scale, B, Hkv, ct)[..., None, None]
    if value_scale is not None:
        v *= spread(value_scale, B, Hkv, ct)[..., None, None]
    r = base.scaled_dot_product_attention(q, k, v, mask, key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks,
                                          alibi_slopes=alibi_slopes, is_causal=is_causal, scale=scale, softcap=softcap,
                                          causal_alignment=causal_alignment, window=window) if not P else moved(
        q, k, v, P, mask, sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window)
    return {"output": r["output"].astype(result), "logsumexp": r["logsumexp"]}


def moved(q, k, v, P, mask, sinks, slopes, is_causal, alignment, scale, softcap, window):
    return base.scaled_dot_product_attention(q, k[:, :, P:], v[:, :, P:], mask, past_key=k[:, :, :P], past_value=v[:, :, :P],
                                             sinks=sinks, alibi_slopes=slopes, is_causal=is_causal, scale=scale,
                                             softcap=softcap, causal_alignment=alignment, window=window)
