import math
import numpy as np
import ml_dtypes

F8A, F8B = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
BF16 = np.dtype(ml_dtypes.bfloat16)
QUANT = (F8A, F8B, np.dtype(np.int8))


def quantized(x):
    return np.asarray(x).dtype in QUANT


def named(name):
    return BF16 if str(name) == "bfloat16" else np.dtype(name)


def wide(dt):
    return np.dtype(np.float64) if np.dtype(dt) == np.float64 else np.dtype(np.float32)


def refuse(condition, text):
    if condition:
        raise ValueError(text)


# ---- merge

def merge_check(oa, la, ob, lb):
    refuse(oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3, "rank")
    refuse(oa.shape != ob.shape, "outputs")
    refuse(la.shape != oa.shape[:3] or lb.shape != oa.shape[:3], "logsumexp")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    merge_check(oa, la, ob, lb)
    dt = oa.dtype
    ct = wide(dt)
    oa, la, ob, lb = (x.astype(ct) for x in (oa, la, ob, lb))
    with np.errstate(all="ignore"):
        m = np.maximum(la, lb)
        ms = np.where(m == -np.inf, ct.type(0), m)
        ea, eb = la == -np.inf, lb == -np.inf
        wa, wb = np.where(ea, ct.type(0), np.exp(la - ms)), np.where(eb, ct.type(0), np.exp(lb - ms))
        t = wa + wb
        ta = np.where(ea[..., None], ct.type(0), wa[..., None] * oa)
        tb = np.where(eb[..., None], ct.type(0), wb[..., None] * ob)
        out = (ta + tb) / np.where(t == 0, ct.type(1), t)[..., None]
        out = np.where(ea[..., None] & ~eb[..., None], ob, np.where(eb[..., None] & ~ea[..., None], oa, out))
        for l in (la, lb):
            out = np.where(np.isnan(l)[..., None], ct.type(np.nan), out)
        lse = np.where(m == -np.inf, m, ms + np.log(t))
    return {"output": out.astype(dt), "logsumexp": lse.astype(ct)}


# ---- attention

def check(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None):
    refuse(query.ndim != 4 or key.ndim != 4 or value.ndim != 4, "rank")
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1], key.shape[2]
    refuse(key.shape[3] != E, "width")
    refuse(key.shape[0] != B or value.shape[0] != B, "batch")
    refuse(value.shape[1] != Hkv, "heads")
    refuse((Hq % Hkv != 0) if Hkv else Hq != 0, "grouped")
    refuse(value.shape[2] != Sk, "length")
    refuse((past_key is None) != (past_value is None), "past")
    P = 0
    if past_key is not None:
        refuse(past_key.ndim != 4 or past_value.ndim != 4, "rank")
        P = past_key.shape[2]
        refuse(past_key.shape[0] != B or past_value.shape[0] != B, "batch")
        refuse(past_key.shape[1] != Hkv or past_value.shape[1] != Hkv, "grouped")
        refuse(past_value.shape[2] != P, "length")
        refuse(past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "width")
        refuse(key_lengths is not None or query_lengths is not None, "past and lengths")
    for n, top in ((key_lengths, Sk), (query_lengths, Sq)):
        if n is not None:
            n = np.asarray(n)
            refuse(n.shape != (B,), "batch")
            refuse(bool(((n < 0) | (n > top)).any()), "length")
    if mask is not None:
        refuse(not 2 <= mask.ndim <= 4, "mask")
        full = (B, Hq, Sq, P + Sk)
        refuse(mask.shape[-1] != P + Sk, "mask")
        for have, want in zip(mask.shape[::-1], full[::-1]):
            refuse(have not in (1, want), "mask")
    return B, Hq, Hkv, Sq, Sk, P, E, value.shape[3]


def scale_of(s, B, Hkv):
    """(B, Hkv) of a scale, or a refusal."""
    s = np.asarray(s)
    refuse(s.ndim > 2, "scale")
    for have, want in zip(s.shape[::-1], (Hkv, B)):
        refuse(have not in (1, want), "scale")
    return np.broadcast_to(s, (B, Hkv))


def dequantize(x, s, B, Hkv, ct):
    y = x.astype(ct)
    if s is None:
        return y
    s = scale_of(s, B, Hkv).astype(ct)
    if x.shape[1] != Hkv:
        s = np.repeat(s, x.shape[1] // Hkv, axis=1)
    return y * s[:, :, None, None]


def result_dtype(query, output_dtype):
    if quantized(query):
        return named(output_dtype or "float32")
    return query.dtype



def allowed(p, j, L, is_causal, window):
    """(queries, keys): who may attend by position."""
    d = j[None, :] - p[:, None]
    ok = np.broadcast_to(j[None, :] < L, d.shape).copy()
    if is_causal:
        ok &= d <= 0
    if window is not None:
        left, right = window
        if left is not None:
            ok &= d >= -left
        if right is not None:
            ok &= d <= right
    return ok


def head(q, k, v, p, ok, bias, slope, scale, softcap, sink, ct):
    """One head: q (S, E), k (K, E), v (K, Ev), bias (S, K) or None. Row by row."""
    S, K = q.shape[0], k.shape[0]
    out, w, lse = np.zeros((S, v.shape[1]), ct), np.zeros((S, K), ct), np.full(S, -np.inf, ct)
    j = np.arange(K)
    with np.errstate(all="ignore"):
        for i in range(S):
            see = ok[i]
            x = (k[see] @ q[i]) * ct.type(scale)
            if softcap:
                x = ct.type(softcap) * np.tanh(x / ct.type(softcap))
            if slope is not None:
                x = x - slope * np.abs(p[i] - j[see]).astype(ct)
            if bias is not None:
                x = x + bias[i][see]
            if sink is not None:
                x = np.concatenate([x, [sink]]).astype(ct)
            if x.size == 0:
                continue
            m = x.max()
            e = np.exp(x - m)
            t = e.sum()
            lse[i] = m + np.log(t)
            n = int(see.sum())
            w[i, see] = e[:n] / t
            if n:
                out[i] = w[i, see] @ v[see]
    return out, w, lse


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    B, Hq, Hkv, Sq, Sk, P, E, Ev = check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths)
    dt = result_dtype(query, output_dtype)
    ct = wide(dt)
    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    q = dequantize(query, query_scale, B, Hkv, ct)
    k = dequantize(key, key_scale, B, Hkv, ct)
    v = dequantize(value, value_scale, B, Hkv, ct)
    K = P + Sk
    scale = 1 / math.sqrt(E) if scale is None else scale
    out, w, lse = np.zeros((B, Hq, Sq, Ev), ct), np.zeros((B, Hq, Sq, K), ct), np.zeros((B, Hq, Sq), ct)
    mm = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, K))
    for b in range(B):
        L = K if key_lengths is None else int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        p = np.arange(Sq) + (P if causal_alignment == "top_left" else L - N)
        ok0 = allowed(p, np.arange(K), L, is_causal, window)
        for h in range(Hq):
            ok, bias = ok0, None
            if mm is not None:
                if mm.dtype == bool:
                    ok = ok0 & mm[b, h]
                else:
                    bias = mm[b, h].astype(ct)
                    ok = ok0 & (bias != -np.inf)
            g = h // (Hq // Hkv)
            out[b, h], w[b, h], lse[b, h] = head(
                q[b, h], k[b, g], v[b, g], p, ok, bias, None if alibi_slopes is None else ct.type(alibi_slopes[h]),
                scale, softcap, None if sinks is None else ct.type(sinks[h]), ct)
    return {"output": out.astype(dt), "weights": w, "logsumexp": lse}


# ---- layouts: each sequence by itself

def mask_rows(mask, Hq):
    """A mask without axes of batch entries and queries as (Hq, width)."""
    if mask is None:
        return None
    m = np.asarray(mask)
    m = m.reshape((1,) * (4 - m.ndim) + m.shape)
    return np.broadcast_to(m[0, :, 0, :], (Hq, m.shape[-1]))


def sequence(q, k, v, N, mrows, sinks, alibi, is_causal, alignment, scale, softcap, window, ct, head=head):
    """q (Hq, S, E), of which N count; k (Hkv, L, E), v (Hkv, L, Ev). out (Hq, S, Ev), lse (Hq, S)."""
    Hq, S, E = q.shape
    Hkv, L = k.shape[:2]
    scale = 1 / math.sqrt(E) if scale is None else scale
    p = np.arange(S) + (0 if alignment == "top_left" else L - N)
    ok0 = allowed(p, np.arange(L), L, is_causal, window)
    out, lse = np.zeros((Hq, S, v.shape[2]), ct), np.zeros((Hq, S), ct)
    for h in range(Hq):
        ok, bias = ok0, None
        if mrows is not None:
            row = mrows[h, :L]
            if row.dtype == bool:
                ok = ok0 & row[None]
            else:
                bias = np.broadcast_to(row.astype(ct), (S, L))
                ok = ok0 & (bias != -np.inf)
        g = h // (Hq // Hkv)
        out[h], _, lse[h] = head(q[h], k[g], v[g], p, ok, bias, None if alibi is None else ct.type(alibi[h]), scale,
                                 softcap, None if sinks is None else ct.type(sinks[h]), ct)
    return out, lse


def layout_check(query, key, value, mask, axis, rank, query_lengths=None):
    refuse(not query.ndim == key.ndim == value.ndim == rank, "rank")
    refuse(query.shape[-1] != key.shape[-1], "width")
    refuse(key.shape[:-1] != value.shape[:-1], "key and value")
    refuse((query.shape[1] % key.shape[axis] != 0) if key.shape[axis] else query.shape[1] != 0, "grouped")
    if query_lengths is not None:
        refuse(query_lengths.shape != query.shape[:1], "batch")
        refuse(bool(((query_lengths < 0) | (query_lengths > query.shape[2])).any()), "length")
    if mask is not None:
        refuse(not 2 <= mask.ndim <= 4 or mask.ndim > 2 and mask.shape[-3] not in (1, query.shape[1]), "mask")


def packed(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
           causal_alignment="top_left", scale=None, softcap=None, window=None, **_):
    layout_check(query, key, value, mask, 1, 3)
    refuse(len(query_starts) != len(key_starts) or query_starts[-1] != len(query) or key_starts[-1] != len(key), "starts")
    Tq, Hq, E = query.shape
    dt, ct = query.dtype, wide(query.dtype)
    out, lse = np.zeros((Tq, Hq, value.shape[2]), dt), np.zeros((Tq, Hq), ct)
    m = mask_rows(mask, Hq)
    for b in range(len(query_starts) - 1):
        a, z, c, d = int(query_starts[b]), int(query_starts[b + 1]), int(key_starts[b]), int(key_starts[b + 1])
        o, l = sequence(query[a:z].astype(ct).swapaxes(0, 1), key[c:d].astype(ct).swapaxes(0, 1),
                        value[c:d].astype(ct).swapaxes(0, 1), z - a, m, sinks, alibi_slopes, is_causal,
                        causal_alignment, scale, softcap, window, ct)
        out[a:z], lse[a:z] = o.swapaxes(0, 1).astype(dt), l.swapaxes(0, 1)
    return {"output": out, "logsumexp": lse}


def paged_run(query, key_pool, value_pool, pages_of, L_of, query_lengths, mask, sinks, alibi_slopes, is_causal,
              causal_alignment, scale, softcap, window, heads_first=False, run=sequence):
    layout_check(query, key_pool, value_pool, mask, 1 if heads_first else 2, 4, query_lengths)
    B, Hq, Sq, E = query.shape
    dt, ct = query.dtype, wide(query.dtype)
    if heads_first:
        key_pool, value_pool = key_pool.swapaxes(1, 2), value_pool.swapaxes(1, 2)
    ps, Hkv, Ev = key_pool.shape[1], key_pool.shape[2], value_pool.shape[3]
    out, lse = np.zeros((B, Hq, Sq, Ev), dt), np.zeros((B, Hq, Sq), ct)
    m = mask_rows(mask, Hq)
    for b in range(B):
        L, pages = L_of(b), pages_of(b)
        N = Sq if query_lengths is None else int(query_lengths[b])
        k, v = np.zeros((Hkv, L, E), ct), np.zeros((Hkv, L, Ev), ct)
        for j in range(L):
            k[:, j], v[:, j] = key_pool[pages[j // ps], j % ps], value_pool[pages[j // ps], j % ps]
        o, lse[b] = run(query[b].astype(ct), k, v, N, m, sinks, alibi_slopes, is_causal, causal_alignment, scale,
                        softcap, window, ct)
        out[b] = o.astype(dt)
    return {"output": out, "logsumexp": lse}


def paged(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
          alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
          heads_first=False):
    refuse(len(block_table) != len(query) or len(key_lengths) != len(query), "batch")
    most = block_table.shape[1] * key_pool.shape[2 if heads_first else 1]
    refuse(bool(((key_lengths < 0) | (key_lengths > most)).any()), "length")
    return paged_run(query, key_pool, value_pool, lambda b: block_table[b], lambda b: int(key_lengths[b]),
                     query_lengths, mask, sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window,
                     heads_first)


def paged_csr(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
              sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
              window=None, heads_first=False):
    refuse(len(page_starts) != len(query) + 1 or len(last_page_length) != len(query), "batch")
    ps = key_pool.shape[2 if heads_first else 1]

    def pages(b):
        return page_indices[int(page_starts[b]):int(page_starts[b + 1])]

    def length(b):
        n = len(pages(b))
        return (n - 1) * ps + int(last_page_length[b]) if n else 0

    return paged_run(query, key_pool, value_pool, pages, length, query_lengths, mask, sinks, alibi_slopes, is_causal,
                     causal_alignment, scale, softcap, window, heads_first)


def paged_heads_first(*a, **k):
    return paged(*a, heads_first=True, **k)


def paged_csr_heads_first(*a, **k):
    return paged_csr(*a, heads_first=True, **k)
