import ml_dtypes
import numpy as np

conventions = {"dequantized": "bfloat16"}


def widened(x, s, t):
    """A quantized number times its scale, stored in bfloat16 as caches are widened."""
    x = x.astype(t)
    return x if s is None else (x * t(s)).astype(ml_dtypes.bfloat16).astype(t)


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


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    """Products with scales are rounded to bfloat16; keys are summed in a shuffled order."""
    q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
    pk = None if past_key is None else np.asarray(past_key)
    pv = None if past_value is None else np.asarray(past_value)
    mask = None if mask is None else np.asarray(mask)
    P = check(q, k, v, mask, pk, pv, key_lengths, query_lengths, (query_scale, key_scale, value_scale))
    B, HQ, SQ, E = q.shape
    HKV, SK, EV = k.shape[1], k.shape[2], v.shape[3]
    if is_quantized(q):
        name = output_dtype or "float32"
        kind = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
    else:
        kind = q.dtype
    t = np.float64 if kind == np.float64 else np.float32
    qs, ks, vs = (np.full((B, HKV), None) if s is None else np.broadcast_to(np.asarray(s), (B, HKV)).astype(object)
                  for s in (query_scale, key_scale, value_scale))
    output = np.zeros((B, HQ, SQ, EV), kind)
    logsumexp = np.full((B, HQ, SQ), -np.inf, t)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, P + SK))
    factor = t(1 / np.sqrt(E)) if scale is None else t(scale)
    j = np.arange(P + SK)
    for b in range(B):
        L = P + SK if key_lengths is None else int(key_lengths[b])
        N = SQ if query_lengths is None else int(query_lengths[b])
        first = P if causal_alignment == "top_left" else L - N
        for h in range(HQ):
            g = h // (HQ // HKV)
            with np.errstate(all="ignore"):
                qh = widened(q[b, h], qs[b, g], t)
                kh = widened(k[b, g], ks[b, g], t)
                vh = widened(v[b, g], vs[b, g], t)
                if P:
                    kh = np.concatenate([widened(pk[b, g], ks[b, g], t), kh])
                    vh = np.concatenate([widened(pv[b, g], vs[b, g], t), vh])
                s = (qh @ kh.T) * factor
                if softcap:
                    s = np.tanh(s / t(softcap)) * t(softcap)
                for i in range(N):
                    p = first + i
                    see = j < L
                    if is_causal:
                        see &= j <= p
                    if window is not None and window[0] is not None:
                        see &= j >= p - window[0]
                    if window is not None and window[1] is not None:
                        see &= j <= p + window[1]
                    x = s[i]
                    if alibi_slopes is not None:
                        x = x - t(alibi_slopes[h]) * np.abs(p - j).astype(t)
                    if mask is not None:
                        m = mask[b, h, i]
                        see &= m if m.dtype == bool else m != -np.inf
                        x = x if m.dtype == bool else x + m.astype(t)
                    order = np.flatnonzero(see)
                    order = np.random.default_rng(len(order)).permutation(order)  # sums in another order
                    x = x[order]
                    top = x.max(initial=-np.inf)
                    if sinks is not None:
                        top = np.maximum(top, t(sinks[h]))
                    if top == -np.inf:
                        continue
                    w = np.exp(x - top)
                    total = w.sum() + (0 if sinks is None else np.exp(t(sinks[h]) - top))
                    output[b, h, i] = ((w @ vh[order]) / total).astype(kind)
                    logsumexp[b, h, i] = np.log(total) + top
    return {"output": output, "logsumexp": logsumexp}
