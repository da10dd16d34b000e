import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
conventions = {"accumulation": "float32"}
F = np.float32


def single(a):
    with base.quiet():
        return np.array(a).astype(F)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    """All in float32, one key after another for all queries at once."""
    b, hq, sq, e, hkv, sk, past, ev = base.check_plain(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                                       (query_scale, key_scale, value_scale), causal_alignment)
    dtype = base.result_dtype(query, output_dtype)
    g, n = base.group(hq, hkv), past + sk
    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    q, k, v = single(query).reshape(b, hkv, g, sq, e), single(key), single(value)
    factor = F(e**-0.5 if scale is None else scale)
    with base.quiet():
        if query_scale is not None:
            q = q * single(base.scale_table(query_scale, b, hkv))[:, :, None, None, None]
        if key_scale is not None:
            k = k * single(base.scale_table(key_scale, b, hkv))[:, :, None, None]
        if value_scale is not None:
            v = v * single(base.scale_table(value_scale, b, hkv))[:, :, None, None]
        L = np.full(b, n) if key_lengths is None else np.asarray(key_lengths).astype(int)
        N = np.full(b, sq) if query_lengths is None else np.asarray(query_lengths).astype(int)
        first = np.full(b, past) if causal_alignment == "top_left" else L - N
        p = np.broadcast_to((first[:, None] + np.arange(sq))[:, None, None], (b, hkv, g, sq))
        if sinks is None:
            m, l = np.full(p.shape, -np.inf, F), np.zeros(p.shape, F)
        else:
            m = np.array(np.broadcast_to(single(sinks).reshape(1, hkv, g, 1), p.shape))
            l = np.ones(p.shape, F)
        acc = np.zeros((*p.shape, ev), F)
        full = None if mask is None else np.broadcast_to(mask, (b, hq, sq, n)).reshape(b, hkv, g, sq, n)
        for j in range(n):
            ok = np.broadcast_to((j < L)[:, None, None, None], p.shape)
            if is_causal:
                ok = ok & (p >= j)
            if window is not None and window[0] is not None:
                ok = ok & (p - j <= window[0])
            if window is not None and window[1] is not None:
                ok = ok & (j - p <= window[1])
            s = (q * k[:, :, None, None, j]).sum(axis=-1, dtype=F) * factor
            if softcap:
                s = F(softcap) * np.tanh(s / F(softcap))
            if alibi_slopes is not None:
                s = s - single(alibi_slopes).reshape(1, hkv, g, 1) * np.abs(p - j).astype(F)
            if full is not None:
                column = full[..., j]
                ok = ok & (column if column.dtype == bool else single(column) != -np.inf)
                s = s if column.dtype == bool else s + single(column)
            s = np.where(ok, s, F(-np.inf))
            new = np.maximum(m, s)
            at = np.where(new == -np.inf, F(0), new)
            old, x = np.exp(m - at), np.where(ok, np.exp(s - at), F(0))
            l = l * old + x
            acc = acc * old[..., None] + np.where(ok[..., None], x[..., None] * v[:, :, None, None, j], F(0))
            m = new
        empty = l == 0
        out = np.where(empty[..., None], F(0), acc / np.where(empty, F(1), l)[..., None])
        lse = np.where(empty, F(-np.inf), np.log(l) + m)
    return {"output": base.down(out.reshape(b, hq, sq, ev), dtype), "logsumexp": base.down(lse.reshape(b, hq, sq), np.float64 if dtype == np.float64 else F)}
