import ml_dtypes
import numpy as np

TILE = 4


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


def bytes_to_numbers(exponent_bits, mantissa_bits, bias):
    """The 256 numbers of a float8 format."""
    code = np.arange(256)
    sign = np.where(code >> 7, -1.0, 1.0)
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    normal = (1 + fraction) * 2.0 ** (exponent - bias)
    small = fraction * 2.0 ** (1 - bias)
    return sign, exponent, fraction, np.where(exponent == 0, small, normal)


def tables():
    sign, exponent, fraction, number = bytes_to_numbers(4, 3, 7)
    e4m3 = sign * np.where((exponent == 15) & (fraction == 0.875), np.nan, number)
    sign, exponent, fraction, number = bytes_to_numbers(5, 2, 15)
    e5m2 = sign * np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), number)
    return {np.dtype(ml_dtypes.float8_e4m3fn): e4m3, np.dtype(ml_dtypes.float8_e5m2): e5m2}


TABLES = tables()


def load(x, t):
    if x.dtype in TABLES:
        return TABLES[x.dtype][np.ascontiguousarray(x).view(np.uint8)].astype(t).reshape(x.shape)
    return x.astype(t)


def of_head(s, b, g):
    """The scale of head g in batch entry b."""
    if s is None:
        return 1
    s = np.asarray(s)
    s = s.reshape((1,) * (2 - s.ndim) + s.shape)
    return s[b if s.shape[0] > 1 else 0, g if s.shape[1] > 1 else 0]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    """Tiles of keys, an online softmax, and numbers of float8 read from a table."""
    q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
    pk = None if past_key is None else np.asarray(past_key)
    pv = None if past_value is None else np.asarray(past_value)
    mask = None if mask is None else np.asarray(mask)
    P = check(q, k, v, mask, pk, pv, key_lengths, query_lengths, (query_scale, key_scale, value_scale))
    B, HQ, SQ, E = q.shape
    HKV, EV = k.shape[1], v.shape[3]
    kind = q.dtype
    if is_quantized(q):
        name = output_dtype or "float32"
        kind = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
    t = np.float64 if kind == np.float64 else np.float32
    if pk is not None:
        k, v = np.concatenate([pk, k], axis=2), np.concatenate([pv, v], axis=2)
    K = k.shape[2]
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, K))
    factor = t(1 / np.sqrt(E)) if scale is None else t(scale)
    output, logsumexp = np.zeros((B, HQ, SQ, EV), kind), np.full((B, HQ, SQ), -np.inf, t)
    for b in range(B):
        L = K if key_lengths is None else int(key_lengths[b])
        N = SQ if query_lengths is None else int(query_lengths[b])
        p = np.arange(N) + (P if causal_alignment == "top_left" else L - N)
        for h in range(HQ):
            g = h // (HQ // HKV)
            with np.errstate(all="ignore"):
                qh = load(q[b, h, :N], t) * t(of_head(query_scale, b, g))
                top = np.full(N, -np.inf, t)
                total, acc = np.zeros(N, t), np.zeros((N, EV), t)
                if sinks is not None:
                    top, total = np.full(N, sinks[h], t), np.ones(N, t)
                for start in range(0, L, TILE):
                    j = np.arange(start, min(start + TILE, L))
                    kh = load(k[b, g, j], t) * t(of_head(key_scale, b, g))
                    vh = load(v[b, g, j], t)
                    x = (qh @ kh.T) * factor
                    if softcap:
                        x = t(softcap) * np.tanh(x / t(softcap))
                    gap = p[:, None] - j
                    if alibi_slopes is not None:
                        x = x - t(alibi_slopes[h]) * np.abs(gap).astype(t)
                    see = np.ones(x.shape, bool)
                    if is_causal:
                        see &= gap >= 0
                    if window is not None and window[0] is not None:
                        see &= gap <= window[0]
                    if window is not None and window[1] is not None:
                        see &= gap >= -window[1]
                    if mask is not None:
                        m = mask[b, h, :N, start:start + TILE][:, :len(j)]
                        see &= m if m.dtype == bool else m != -np.inf
                        x = x if m.dtype == bool else x + m.astype(t)
                    x = np.where(see, x, -np.inf)
                    new = np.maximum(top, x.max(axis=1))
                    base = np.where(new == -np.inf, 0, new)
                    w = np.where(see, np.exp(x - base[:, None]), 0)
                    fade = np.where(top == -np.inf, 0, np.exp(top - base))
                    if v.dtype in TABLES:  # both sides of the product in one dtype
                        w, sums = load(w.astype(v.dtype), t), w.sum(axis=1)
                    else:
                        sums = w.sum(axis=1)
                    for i in range(N):
                        acc[i] = acc[i] * fade[i] + w[i, see[i]] @ vh[see[i]]
                    total, top = total * fade + sums, new
                acc = acc / np.where(total == 0, 1, total)[:, None]
                output[b, h, :N] = (acc * t(of_head(value_scale, b, g))).astype(kind)
                logsumexp[b, h, :N] = np.where(total == 0, -np.inf, top + np.log(total))
    return {"output": output, "logsumexp": logsumexp}
