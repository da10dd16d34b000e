"""Right implementations, from the pages: a dense one, the layouts of serving, the merge; and what they share."""
from types import SimpleNamespace
import numpy as np
import ml_dtypes

BF16 = np.dtype(ml_dtypes.bfloat16)
QUANT = {np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype("int8")}


def named(name):
    return BF16 if str(name) == "bfloat16" else np.dtype(name)


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def check(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
          query_scale=None, key_scale=None, value_scale=None, **_):
    for x in (query, key, value, past_key, past_value):
        refuse(x is not None and x.ndim != 4, "rank")
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1:3]
    refuse(key.shape[3] != E, "width")
    refuse(key.shape[0] != B or value.shape[0] != B, "batch")
    refuse(value.shape[1] != Hkv, "heads")
    refuse(Hq != 0 and (Hkv == 0 or Hq % Hkv), "grouped")
    refuse(value.shape[2] != Sk, "length")
    refuse((past_key is None) != (past_value is None), "past")
    P = 0
    if past_key is not None:
        P = past_key.shape[2]
        refuse(past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "width of the past")
        refuse(past_key.shape[0] != B or past_value.shape[0] != B, "batch of the past")
        refuse(past_key.shape[1] != Hkv or past_value.shape[1] != Hkv, "heads of the past")
        refuse(past_value.shape[2] != P, "length of the past")
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            refuse(lengths.shape != (B,), "lengths")
            refuse(bool((lengths < 0).any() or (lengths > most).any()), "length range")
    if mask is not None:
        refuse(mask.ndim < 2 or mask.ndim > 4, "mask rank")
        refuse(mask.shape[-1] != P + Sk, "mask keys")
        for m, n in zip(mask.shape[::-1], (P + Sk, Sq, Hq, B)):
            refuse(m not in (1, n), "mask shape")
    for s in (query_scale, key_scale, value_scale):
        if s is not None:
            shape = np.shape(s)
            refuse(len(shape) > 2, "scale rank")
            for m, n in zip(shape[::-1], (Hkv, B)):
                refuse(m not in (1, n), "scale shape")


def per_head(s, B, Hkv):
    """a scale as (B, Hkv)"""
    return np.broadcast_to(np.asarray(s, np.float64), (B, Hkv))


def wide(x, s=None):
    y = np.asarray(x).astype(np.float64)
    return y if s is None else y * s


def positions(B, Sq, St, P, key_lengths, query_lengths, causal_alignment):
    L = np.full(B, St) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    i = np.arange(Sq)
    if causal_alignment == "bottom_right":
        return L, N, i[None] + (L - N)[:, None]
    return L, N, np.broadcast_to(i[None] + P, (B, Sq))


def rank4(mask):
    return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)


def allowed(B, Hq, Sq, St, L, pos, is_causal=False, window=None, mask=None):
    j = np.arange(St)
    ok = np.broadcast_to(j[None, None, :] < L[:, None, None], (B, Sq, St))
    p = pos[:, :, None]
    if is_causal:
        ok = ok & (j <= p)
    if window is not None:
        left, right = window
        if left is not None:
            ok = ok & (j >= p - left)
        if right is not None:
            ok = ok & (j <= p + right)
    ok = np.broadcast_to(ok[:, None], (B, Hq, Sq, St))
    if mask is not None:
        m = rank4(mask)
        m = m if m.dtype == bool else ~np.isneginf(m.astype(np.float64))
        ok = ok & m
    return ok


def prepare(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
            sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
            causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None, first=None):
    """checked, widened to float64, with positions, what is allowed, and what is added to the scores"""
    check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, query_scale, key_scale, value_scale)
    c = SimpleNamespace()
    c.B, c.Hq, c.Sq, c.E = query.shape
    c.Hkv, c.Ev = key.shape[1], value.shape[3]
    c.group = c.Hq // c.Hkv if c.Hkv else 1
    c.P = 0 if past_key is None else past_key.shape[2]
    c.present_key = np.array(key) if past_key is None else np.concatenate([past_key, key], 2)
    c.present_value = np.array(value) if past_value is None else np.concatenate([past_value, value], 2)
    c.St = c.present_key.shape[2]
    qs = ks = vs = None
    if query_scale is not None:
        qs = np.repeat(per_head(query_scale, c.B, c.Hkv), c.group, 1)[:, :, None, None]
    if key_scale is not None:
        ks = per_head(key_scale, c.B, c.Hkv)[:, :, None, None]
    if value_scale is not None:
        vs = per_head(value_scale, c.B, c.Hkv)[:, :, None, None]
    c.q, c.k, c.v = wide(query, qs), wide(c.present_key, ks), wide(c.present_value, vs)
    c.dtype = named(output_dtype) if output_dtype is not None else query.dtype
    c.quantized = any(s is not None for s in (query_scale, key_scale, value_scale))
    if c.quantized:
        c.present_key, c.present_value = c.k.astype(c.dtype), c.v.astype(c.dtype)
    c.wide = np.dtype(np.float64) if c.dtype == np.float64 else np.dtype(np.float32)
    c.scale = 1 / np.sqrt(c.E) if scale is None else float(scale)
    c.softcap = float(softcap) if softcap else 0.0
    c.sinks = None if sinks is None else np.asarray(sinks).astype(np.float64)
    c.slopes = None if alibi_slopes is None else np.asarray(alibi_slopes).astype(np.float64)
    c.L, c.N, c.pos = positions(c.B, c.Sq, c.St, c.P, key_lengths, query_lengths, causal_alignment)
    if first is not None:
        c.pos = np.broadcast_to(first + np.arange(c.Sq), (c.B, c.Sq))
    c.ok = allowed(c.B, c.Hq, c.Sq, c.St, c.L, c.pos, is_causal, window, mask)
    bias = np.zeros((c.B, c.Hq, c.Sq, c.St))
    if c.slopes is not None:
        bias = bias - c.slopes[:, None, None] * np.abs(c.pos[:, :, None] - np.arange(c.St))[:, None]
    if mask is not None and mask.dtype != bool:
        bias = bias + rank4(mask).astype(np.float64)
    c.bias = bias
    c.is_causal, c.window, c.mask = bool(is_causal), window, mask
    return c


def dots(c):
    with np.errstate(all="ignore"):
        return np.einsum("bhie,bhje->bhij", c.q, np.repeat(c.k, c.group, 1))


def cap(s, softcap):
    with np.errstate(all="ignore"):
        return softcap * np.tanh(s / softcap) if softcap else s


def softmax(logits, ok, sinks=None):
    """weights and logsumexp over what is ok"""
    with np.errstate(all="ignore"):
        m = logits.max(-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            m = np.maximum(m, sinks[:, None, None])
        safe = np.where(np.isneginf(m), 0, m)
        e = np.where(ok, np.exp(logits - safe), 0)
        total = e.sum(-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sinks[:, None, None] - safe)
        w = e / np.where(total == 0, 1, total)
        lse = np.log(total)[..., 0] + safe[..., 0]
    return w, lse


def weigh(w, ok, v, group):
    """sums of the values of what is ok, each times its weight"""
    v = np.repeat(v, group, 1)
    with np.errstate(all="ignore"):
        if np.isfinite(v).all():
            return np.einsum("bhij,bhje->bhie", w, v)
        return np.where(ok[..., None], w[..., None] * v[:, :, None], 0).sum(3)


def finish(c, output, lse=None, **more):
    with np.errstate(all="ignore"):
        r = {"output": output.astype(c.dtype)}
        if lse is not None:
            r["logsumexp"] = lse.astype(c.wide)
        for name, x in more.items():
            r[name] = x.astype(c.wide)
    r["present_key"], r["present_value"] = c.present_key, c.present_value
    return r


def dense(*args, **kw):
    c = prepare(*args, **kw)
    with np.errstate(all="ignore"):
        scores = dots(c) * c.scale
        logits = np.where(c.ok, cap(scores, c.softcap) + c.bias, -np.inf)
    w, lse = softmax(logits, c.ok, c.sinks)
    return finish(c, weigh(w, c.ok, c.v, c.group), lse, weights=w, logits=logits)


scaled_dot_product_attention = dense


# the layouts of serving

def columns(mask, L):
    return None if mask is None else mask[..., :L]


def gather(pool, pages, L, heads_first):
    """the first L tokens of these pages: (H, L, E)"""
    if heads_first:
        pool = pool.swapaxes(1, 2)
    size = pool.shape[1]
    n = -(-L // size)
    x = pool[np.asarray(pages[:n], dtype=np.int64)].reshape((n * size,) + pool.shape[2:])[:L]
    return x.swapaxes(0, 1)


def one(q, k, v, mask=None, **kw):
    """one sequence: (H, N, E), (Hkv, L, E)"""
    r = dense(q[None], k[None], v[None], mask=columns(mask, k.shape[1]), **kw)
    return r["output"][0], r["logsumexp"][0]


def packed(query, key, value, query_starts, key_starts, inner=one, **kw):
    Tq, Hq, _ = query.shape
    out = np.zeros((Tq, Hq, value.shape[2]), query.dtype)
    lse = np.zeros((Tq, Hq), np.float64 if query.dtype == np.float64 else np.float32)
    for b in range(len(query_starts) - 1):
        a, z = int(query_starts[b]), int(query_starts[b + 1])
        c, d = int(key_starts[b]), int(key_starts[b + 1])
        o, l = inner(query[a:z].swapaxes(0, 1), key[c:d].swapaxes(0, 1), value[c:d].swapaxes(0, 1), **kw)
        out[a:z], lse[a:z] = o.swapaxes(0, 1), l.T
    return {"output": out, "logsumexp": lse}


def batched(query, tokens, Ev, query_lengths=None, inner=one, **kw):
    """tokens(b) gives keys and values (H, L, E) of sequence b"""
    B, Hq, Sq, _ = query.shape
    out = np.zeros((B, Hq, Sq, Ev), query.dtype)
    lse = np.zeros((B, Hq, Sq), np.float64 if query.dtype == np.float64 else np.float32)
    for b in range(B):
        N = Sq if query_lengths is None else int(query_lengths[b])
        k, v = tokens(b)
        out[b, :, :N], lse[b, :, :N] = inner(query[b, :, :N], k, v, **kw)
    return {"output": out, "logsumexp": lse}


def paged(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, heads_first=False, **kw):
    def tokens(b):
        return [gather(p, block_table[b], int(key_lengths[b]), heads_first) for p in (key_pool, value_pool)]
    return batched(query, tokens, value_pool.shape[3], query_lengths, **kw)


def paged_csr(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None,
              heads_first=False, **kw):
    size = key_pool.shape[2 if heads_first else 1]

    def tokens(b):
        a, z = int(page_starts[b]), int(page_starts[b + 1])
        L = (z - a - 1) * size + int(last_page_length[b]) if z > a else 0
        return [gather(p, page_indices[a:z], L, heads_first) for p in (key_pool, value_pool)]
    return batched(query, tokens, value_pool.shape[3], query_lengths, **kw)


# merging

def check_merge(output_a, logsumexp_a, output_b, logsumexp_b):
    refuse(output_a.ndim != 4 or output_b.ndim != 4, "rank")
    refuse(logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3, "rank of the logarithms")
    refuse(output_a.shape != output_b.shape, "outputs")
    refuse(logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3], "logarithms")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    a, b, la, lb = (np.asarray(x).astype(np.float64) for x in (output_a, output_b, logsumexp_a, logsumexp_b))
    with np.errstate(all="ignore"):
        m = np.maximum(la, lb)
        safe = np.where(np.isneginf(m), 0, m)
        wa, wb = np.exp(la - safe), np.exp(lb - safe)
        total = wa + wb
        ea, eb = np.isneginf(la)[..., None], np.isneginf(lb)[..., None]
        d = np.where(total == 0, 1, total)
        pa = np.where(ea, 0, a * (wa / d)[..., None])
        pb = np.where(eb, 0, b * (wb / d)[..., None])
        out = pa + pb
        lse = np.log(total) + safe
        kind = np.float64 if output_a.dtype == np.float64 else np.float32
        return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(kind)}
