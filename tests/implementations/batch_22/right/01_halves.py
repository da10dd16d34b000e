"""Keys are halved until a leaf has at most five; halves are merged by their logarithms, to the base 2."""
import math
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"logsumexp_base": "2"}
LOG2E = 1 / math.log(2)


def no(condition, text):
    if condition:
        raise ValueError(text)


def leaf(q, k, v, ok, extra, slope, pos, j0, softcap):
    """(Sq, E), (n, E), (n, Ev), ok (Sq, n), extra (Sq, n): output and logarithm to the base 2"""
    s = q @ k.T
    if softcap:
        s = np.tanh(s / softcap) * softcap
    if slope:
        s = s - slope * np.abs(pos[:, None] - np.arange(j0, j0 + len(k)))
    if extra is not None:
        s = s + extra
    s = np.where(ok, s * LOG2E, -np.inf)
    top = s.max(-1)
    base = np.where(top == -np.inf, 0, top)
    e = np.where(ok, np.exp2(s - base[:, None]), 0)
    total = e.sum(-1)
    out = np.zeros((len(q), v.shape[1]))
    for n in range(len(k)):
        out += np.where(ok[:, n, None], e[:, n, None] * v[n], 0)
    return out / np.where(total == 0, 1, total)[:, None], np.log2(total) + base


def join(x, y):
    (a, la), (b, lb) = x, y
    lse = np.logaddexp2(la, lb)
    ref = np.where(lse == -np.inf, 0, lse)
    pa, pb = np.exp2(la - ref), np.exp2(lb - ref)
    n = pa + pb
    n = np.where(n == 0, 1, n)
    out = np.where((la == -np.inf)[:, None], 0, a * (pa / n)[:, None]) + np.where((lb == -np.inf)[:, None], 0, b * (pb / n)[:, None])
    return out, lse


def tree(q, k, v, ok, extra, slope, pos, j0, softcap):
    n = len(k)
    if n == 0:
        return np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf)
    if n <= 5:
        return leaf(q, k, v, ok, extra, slope, pos, j0, softcap)
    h = n // 2
    return join(tree(q, k[:h], v[:h], ok[:, :h], None if extra is None else extra[:, :h], slope, pos, j0, softcap),
                tree(q, k[h:], v[h:], ok[:, h:], None if extra is None else extra[:, h:], slope, pos, j0 + h, softcap))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    no(query.ndim != 4 or key.ndim != 4 or value.ndim != 4, "rank")
    B, Hq, Sq, E = query.shape
    no(key.shape[0] != B or value.shape[:3] != key.shape[:3] or key.shape[3] != E, "shapes")
    Hkv = key.shape[1]
    no(Hq and (not Hkv or Hq % Hkv), "groups")
    no((past_key is None) != (past_value is None), "past")
    P = 0
    if past_key is not None:
        no(past_key.ndim != 4 or past_value.ndim != 4 or past_key.shape[:3] != past_value.shape[:3], "past")
        no(past_key.shape[:2] != key.shape[:2] or past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "past")
        P = past_key.shape[2]
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    T = key.shape[2]
    for lengths, most in ((key_lengths, T), (query_lengths, Sq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            no(lengths.shape != (B,) or any(x < 0 or x > most for x in lengths.tolist()), "lengths")
    if mask is not None:
        no(not 2 <= mask.ndim <= 4 or mask.shape[-1] != T, "mask")
        no(any(m not in (1, n) for m, n in zip(mask.shape[::-1], (T, Sq, Hq, B))), "mask")
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))
    scales = []
    for s in (query_scale, key_scale, value_scale):
        if s is not None:
            s = np.asarray(s, np.float64)
            no(s.ndim > 2 or any(m not in (1, n) for m, n in zip(s.shape[::-1], (Hkv, B))), "scale")
            s = np.broadcast_to(s, (B, Hkv))
        scales.append(s)
    dtype = query.dtype
    if output_dtype is not None:
        if str(output_dtype) == "bfloat16":
            import ml_dtypes
            dtype = np.dtype(ml_dtypes.bfloat16)
        else:
            dtype = np.dtype(output_dtype)
    factor = 1 / math.sqrt(E) if scale is None else scale
    left, right = (None, None) if window is None else window
    out = np.zeros((B, Hq, Sq, value.shape[3]))
    lse = np.zeros((B, Hq, Sq))
    cols = np.arange(T)
    with np.errstate(all="ignore"):
        for b in range(B):
            L = T if key_lengths is None else int(key_lengths[b])
            N = Sq if query_lengths is None else int(query_lengths[b])
            pos = np.arange(Sq) + (L - N if causal_alignment == "bottom_right" else P)
            far = cols[None] - pos[:, None]
            may = np.broadcast_to(cols < L, far.shape)
            may = may & (far <= 0) if is_causal else may
            may = may if left is None else may & (far >= -left)
            may = may if right is None else may & (far <= right)
            for h in range(Hq):
                g = h * Hkv // Hq
                q, k, v = (x.astype(np.float64) for x in (query[b, h], key[b, g], value[b, g]))
                q, k, v = (x if s is None else x * s[b, g] for x, s in zip((q, k, v), scales))
                ok, extra = may, None
                if mask is not None and mask.dtype == bool:
                    ok = ok & mask[b, h]
                elif mask is not None:
                    extra = mask[b, h].astype(np.float64)
                    ok = ok & (extra != -np.inf)
                slope = 0 if alibi_slopes is None else float(alibi_slopes[h])
                o, l = tree(q, k, v, ok, extra, slope, pos, 0, softcap) if factor == 1 else tree(q * factor, k, v, ok, extra, slope, pos, 0, softcap)
                if sinks is not None:
                    o, l = join((o, l), (np.zeros_like(o), np.full(Sq, float(sinks[h]) * LOG2E)))
                out[b, h], lse[b, h] = o, l
        return {"output": out.astype(dtype), "logsumexp": lse.astype(np.float64 if dtype == np.float64 else np.float32)}
