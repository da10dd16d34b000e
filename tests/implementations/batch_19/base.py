"""A right scaled dot-product attention from the page, in pieces that kernels can be written upon."""
import math

import ml_dtypes
import numpy as np

QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")
HALF = ("float16", "bfloat16")


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, str(name))) if hasattr(ml_dtypes, str(name)) else np.dtype(name)


def check(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
          query_scale=None, key_scale=None, value_scale=None):
    def need(condition, text):
        if not condition:
            raise ValueError(text)

    for array in (query, key, value, past_key, past_value):
        need(array is None or array.ndim == 4, "rank")
    B, H, Sq, E = query.shape
    Hk, Sk = key.shape[1:3]
    need(key.shape[3] == E, "width")
    need(key.shape[0] == B and value.shape[0] == B, "batch")
    need(value.shape[1] == Hk, "heads")
    need(value.shape[2] == Sk, "tokens")
    need(H % Hk == 0 if Hk else H == 0, "groups")
    P = 0
    need((past_key is None) == (past_value is None), "past")
    if past_key is not None:
        P = past_key.shape[2]
        need(past_key.shape[0] == B and past_value.shape[0] == B, "past batch")
        need(past_key.shape[1] == Hk and past_value.shape[1] == Hk, "past heads")
        need(past_value.shape[2] == P, "past tokens")
        need(past_key.shape[3] == E and past_value.shape[3] == value.shape[3], "past width")
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            need(lengths.shape == (B,), "lengths")
            need(not B or (lengths.min() >= 0 and lengths.max() <= most), "length")
    if mask is not None:
        need(2 <= mask.ndim <= 4, "mask rank")
        need(mask.shape[-1] == P + Sk, "mask columns")
        for have, want in zip(mask.shape[::-1], (P + Sk, Sq, H, B)):
            need(have in (1, want), "mask shape")
    for factor in (query_scale, key_scale, value_scale):
        if factor is not None:
            shape = np.shape(factor)
            need(len(shape) <= 2, "scale rank")
            for have, want in zip(shape[::-1], (Hk, B)):
                need(have in (1, want), "scale shape")


def per_head(factor, B, Hk):
    """A scale as (B, Hkv)."""
    factor = np.asarray(factor, np.float64)
    return np.broadcast_to(factor.reshape((1,) * (2 - factor.ndim) + factor.shape), (B, Hk))


class Case:
    pass


def prepare(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
            sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
            causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None, work=None, checked=False):
    if not checked:
        check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, query_scale, key_scale, value_scale)
    c = Case()
    c.B, c.H, c.Sq, c.E = query.shape
    c.Hk, c.Sk, c.Ev = key.shape[1], key.shape[2], value.shape[3]
    c.G = c.H // c.Hk if c.Hk else 1
    c.present_key, c.present_value = key, value
    c.P = 0
    if past_key is not None:
        c.P = past_key.shape[2]
        c.present_key = np.concatenate([past_key, key], axis=2)
        c.present_value = np.concatenate([past_value, value], axis=2)
    c.T = c.P + c.Sk
    c.dtype = query.dtype if output_dtype is None or query.dtype.name not in QUANTIZED else dtype_of(output_dtype)
    if c.dtype.name in QUANTIZED:
        c.dtype = np.dtype(np.float32)
    c.work = np.dtype(work or (np.float64 if c.dtype == np.float64 else np.float32))
    c.q, c.k, c.v = (a.astype(c.work) for a in (query, c.present_key, c.present_value))
    if query_scale is not None:
        c.q = c.q * np.repeat(per_head(query_scale, c.B, c.Hk), c.G, axis=1)[:, :, None, None].astype(c.work)
    if key_scale is not None:
        c.k = c.k * per_head(key_scale, c.B, c.Hk)[:, :, None, None].astype(c.work)
    if value_scale is not None:
        c.v = c.v * per_head(value_scale, c.B, c.Hk)[:, :, None, None].astype(c.work)
    c.L = np.full(c.B, c.T, np.int64) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    c.N = np.full(c.B, c.Sq, np.int64) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    c.causal, c.alignment = bool(is_causal), causal_alignment
    c.left, c.right = (None, None) if window is None else tuple(window)
    c.first = np.full(c.B, c.P, np.int64) if causal_alignment == "top_left" else c.L - c.N
    c.pos = c.first[:, None] + np.arange(c.Sq)
    c.cap = c.work.type(softcap) if softcap is not None and softcap > 0 else None
    c.scale = c.work.type(1 / math.sqrt(c.E) if scale is None else scale)
    c.sinks = None if sinks is None else np.asarray(sinks).astype(c.work)
    c.slopes = None if alibi_slopes is None else np.asarray(alibi_slopes).astype(c.work)
    c.boolean = c.add = None
    if mask is not None:
        full = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        if mask.dtype == bool:
            c.boolean = full
        else:
            c.boolean = full != -np.inf
            c.add = np.where(c.boolean, full.astype(c.work), c.work.type(0))
    c.ok = allowed(c)
    return c


def banned(c, j, p):
    """True where causality or the window exclude key j from position p."""
    out = np.zeros(np.broadcast_shapes(np.shape(j), np.shape(p)), bool)
    if c.causal:
        out |= j > p
    if c.left is not None:
        out |= j < p - c.left
    if c.right is not None:
        out |= j > p + c.right
    return out


def allowed(c):
    j = np.arange(c.T)
    ok = (j < c.L[:, None])[:, None, :] & ~banned(c, j, c.pos[:, :, None])
    ok = np.broadcast_to(ok[:, None], (c.B, c.H, c.Sq, c.T))
    return ok.copy() if c.boolean is None else ok & c.boolean


def shared(c, a):
    return np.repeat(a, c.G, axis=1)


def scores(c):
    with np.errstate(all="ignore"):
        return (c.q @ shared(c, c.k).swapaxes(-1, -2)) * c.scale


def capped(c, s):
    with np.errstate(all="ignore"):
        return s if c.cap is None else c.cap * np.tanh(s / c.cap)


def biased(c, s):
    with np.errstate(all="ignore"):
        if c.slopes is not None:
            distance = np.abs(c.pos[:, :, None] - np.arange(c.T)).astype(c.work)
            s = s - c.slopes[:, None, None] * distance[:, None]
        return s if c.add is None else s + c.add


def excluded(c, s):
    return np.where(c.ok, s, c.work.type(-np.inf))


def logits(c):
    return excluded(c, biased(c, capped(c, scores(c))))


def weigh(p, ok, v):
    """p @ v, where what is excluded has no part."""
    with np.errstate(all="ignore"):
        if np.isfinite(v).all():
            return np.where(ok, p, 0) @ v
        return np.where(ok[..., None], p[..., None] * v[..., None, :, :], 0).sum(axis=-2)


def softmax(c, x):
    """Weights and logsumexp of logits."""
    with np.errstate(all="ignore"):
        m = x.max(axis=-1, keepdims=True, initial=-np.inf)
        sink = None if c.sinks is None else c.sinks[:, None, None]
        if sink is not None:
            m = np.maximum(m, sink)
        m = np.where(m == -np.inf, c.work.type(0), m)
        e = np.where(c.ok, np.exp(x - m), 0)
        total = e.sum(axis=-1, keepdims=True)
        if sink is not None:
            total = total + np.exp(sink - m)
        weights = np.where(c.ok, e / total, 0).astype(c.work)
        return weights, (np.log(total) + m)[..., 0].astype(c.work)


def finish(c, output, **others):
    """The output in its dtype, others as they are."""
    with np.errstate(all="ignore"):
        return {"output": np.asarray(output).astype(c.dtype), **others}


def wide(c, **named):
    """Side outputs in the dtype of the results, or wider."""
    return {name: np.asarray(a).astype(c.work if c.work.itemsize >= c.dtype.itemsize else c.dtype) for name, a in named.items()}


def tile(c, b, h, i0, i1, j0, j1):
    """Logits of a tile (minus infinity where excluded), and where they are allowed."""
    with np.errstate(all="ignore"):
        s = (c.q[b, h, i0:i1] @ c.k[b, h // c.G, j0:j1].T) * c.scale
        s = capped(c, s)
        j = np.arange(j0, j1)
        if c.slopes is not None:
            s = s - c.slopes[h] * np.abs(c.pos[b, i0:i1, None] - j).astype(c.work)
        if c.add is not None:
            s = s + np.broadcast_to(c.add, (c.B, c.H, c.Sq, c.T))[b, h, i0:i1, j0:j1]
        ok = c.ok[b, h, i0:i1, j0:j1]
        return np.where(ok, s, c.work.type(-np.inf)), ok


def heads(c):
    return ((b, h) for b in range(c.B) for h in range(c.H))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = prepare(**locals(), work=np.float64)
    s = scores(c)
    x = excluded(c, biased(c, capped(c, s)))
    weights, lse = softmax(c, x)
    return finish(c, weigh(weights, c.ok, shared(c, c.v)), weights=weights, logsumexp=lse, scores=s, logits=x,
                  present_key=c.present_key.copy(), present_value=c.present_value.copy())


# ---- layouts of serving ----

def columns(mask, L):
    return None if mask is None else mask[..., :L]


def packed(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
           causal_alignment="top_left", scale=None, softcap=None, window=None, inner=None):
    inner = inner or scaled_dot_product_attention
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise ValueError("rank")
    output = np.zeros((*query.shape[:2], value.shape[2]), query.dtype)
    lse = np.zeros(query.shape[:2])
    for b in range(len(query_starts) - 1):
        q0, q1, k0, k1 = (int(n) for n in (*query_starts[b:b + 2], *key_starts[b:b + 2]))
        got = inner(*(a.swapaxes(0, 1)[None] for a in (query[q0:q1], key[k0:k1], value[k0:k1])),
                    mask=columns(mask, k1 - k0), sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
                    causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
        output[q0:q1] = got["output"][0].swapaxes(0, 1)
        lse[q0:q1] = got["logsumexp"][0].T
    return {"output": output, "logsumexp": lse}


def paged(query, key_pool, value_pool, tables, lengths, query_lengths=None, mask=None, heads_first=False, inner=None, **options):
    """tables: for each sequence its pages; lengths: for each its keys."""
    inner = inner or scaled_dot_product_attention
    if heads_first:
        key_pool, value_pool = key_pool.swapaxes(1, 2), value_pool.swapaxes(1, 2)
    size = key_pool.shape[1]
    output = np.zeros((*query.shape[:3], value_pool.shape[3]), query.dtype)
    lse = np.full(query.shape[:3], -np.inf)
    for b in range(len(query)):
        L = int(lengths[b])
        pages = np.asarray(tables[b])[: -(-L // size)].astype(int)
        k, v = (pool[pages].reshape(-1, *pool.shape[2:])[:L].swapaxes(0, 1)[None] for pool in (key_pool, value_pool))
        got = inner(query[b:b + 1], k, v, mask=columns(mask, L),
                    query_lengths=None if query_lengths is None else query_lengths[b:b + 1], **options)
        output[b], lse[b] = got["output"][0], got["logsumexp"][0]
    return {"output": output, "logsumexp": lse}


def csr_lengths(page_starts, last_page_length, size):
    counts = np.diff(np.asarray(page_starts).astype(int))
    return np.where(counts > 0, (counts - 1) * size + np.asarray(last_page_length).astype(int), 0)
