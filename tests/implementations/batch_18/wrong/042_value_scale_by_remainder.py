import ml_dtypes
import numpy as np


def check(q, k, v, mask, pk, pv, kl, ql, scales):
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
        raise ValueError("rank")
    B, HQ, SQ, E = q.shape
    HKV, SK = k.shape[1:3]
    if k.shape[3] != E or k.shape[0] != B or v.shape[:3] != (B, HKV, SK) or HQ % max(HKV, 1):
        raise ValueError("query, key and value do not fit")
    if (pk is None) != (pv is None):
        raise ValueError("half a past")
    P = 0
    if pk is not None:
        P = pk.shape[2]
        if pk.shape != (B, HKV, P, E) or pv.shape != (B, HKV, P, v.shape[3]):
            raise ValueError("the past does not fit")
    for lengths, most in ((kl, SK), (ql, SQ)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            if lengths.shape != (B,) or np.any(lengths < 0) or np.any(lengths > most):
                raise ValueError("lengths")
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != P + SK:
            raise ValueError("mask")
        np.broadcast_to(mask, (B, HQ, SQ, P + SK))
    for s in scales:
        if s is not None:
            if np.ndim(s) > 2 or any(x not in (1, y) for x, y in zip(np.shape(s)[::-1], (HKV, B))):
                raise ValueError("scale")
    return P


def is_quantized(x):
    return x.dtype.itemsize == 1


def numbers(x, t):
    return x.astype(t)


def spread(s, B, HKV, G, t):
    """A scale for every query head, with axes for tokens."""
    if s is None:
        return t(1)
    s = np.broadcast_to(np.asarray(s), (B, HKV)).astype(t)
    return np.repeat(s, G, axis=1)[:, :, None, None]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    """Scales are folded in behind the products: into the scores, and into the output."""
    q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
    pk = None if past_key is None else np.asarray(past_key)
    pv = None if past_value is None else np.asarray(past_value)
    mask = None if mask is None else np.asarray(mask)
    P = check(q, k, v, mask, pk, pv, key_lengths, query_lengths, (query_scale, key_scale, value_scale))
    B, HQ, SQ, E = q.shape
    HKV = k.shape[1]
    G = HQ // max(HKV, 1)
    kind = q.dtype
    if is_quantized(q):
        name = output_dtype or "float32"
        kind = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
    t = np.float64 if kind == np.float64 else np.float32
    if P:
        k, v = np.concatenate([pk, k], axis=2), np.concatenate([pv, v], axis=2)
    K = k.shape[2]
    L = np.full(B, K) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, SQ) if query_lengths is None else np.asarray(query_lengths)
    first = np.full(B, P) if causal_alignment == "top_left" else L - N
    p = (first[:, None] + np.arange(SQ))[:, None, :, None]
    j = np.arange(K)[None, None, None, :]
    with np.errstate(all="ignore"):
        qn = numbers(q, t)
        kn, vn = np.repeat(numbers(k, t), G, axis=1), np.repeat(numbers(v, t), G, axis=1)
        dots = np.einsum("bhie,bhje->bhij", qn, kn)
        logits = dots * (spread(query_scale, B, HKV, G, t) * spread(key_scale, B, HKV, G, t))
        logits = logits * t(E ** -0.5 if scale is None else scale)
        if softcap:
            logits = np.tanh(logits / t(softcap)) * t(softcap)
        if alibi_slopes is not None:
            logits = logits - np.asarray(alibi_slopes).astype(t)[None, :, None, None] * np.abs(p - j).astype(t)
        ok = np.broadcast_to(j < L[:, None, None, None], logits.shape).copy()
        if is_causal:
            ok &= j <= p
        if window is not None and window[0] is not None:
            ok &= j >= p - window[0]
        if window is not None and window[1] is not None:
            ok &= j <= p + window[1]
        if mask is not None:
            if mask.dtype == bool:
                ok &= mask
            else:
                logits = logits + mask.astype(t)
                ok &= mask != -np.inf
        logits = np.where(ok, logits, -np.inf)
        top = logits.max(axis=3, keepdims=True, initial=-np.inf)
        if sinks is not None:
            sink = np.asarray(sinks).astype(t)[None, :, None, None]
            top = np.maximum(top, sink)
        base = np.where(top == -np.inf, 0, top)
        w = np.where(ok, np.exp(logits - base), 0)
        total = w.sum(axis=3, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sink - base)
        w = w / np.where(total == 0, 1, total)
        clean = np.isfinite(vn)
        out = np.einsum("bhij,bhje->bhie", w, np.where(clean, vn, 0))
        for b, h, c in zip(*np.nonzero(~clean.all(axis=3))):
            odd = np.where(clean[b, h, c], 0, vn[b, h, c])
            out[b, h] += np.where(ok[b, h, :, c, None], w[b, h, :, c, None] * odd, 0)
        if value_scale is not None:
            per_head = np.broadcast_to(np.asarray(value_scale), (B, HKV)).astype(t)
            out = out * np.tile(per_head, (1, G))[:, :, None, None]
        lse = np.log(total) + base
    return {"output": out.astype(kind), "logsumexp": lse[..., 0]}
