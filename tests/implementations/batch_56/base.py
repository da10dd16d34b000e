"""Attention after the pages, in parts that the other files use."""
import types

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")


def dtype_of(name):
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(ml_dtypes, str(name)))


def quantized(array):
    return array.dtype.name in QUANTIZED


def scale_of(given, batch, heads, name):
    """A scale as (B or 1, Hkv or 1)."""
    scale = np.asarray(given)
    if scale.ndim > 2:
        raise ValueError(f"{name} has too many axes")
    scale = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
    for length, owed in zip(scale.shape, (batch, heads)):
        if length not in (1, owed):
            raise ValueError(f"{name} does not fit to {batch} entries and {heads} key heads")
    return scale


def multiplied(array, scale, work):
    """Quantized numbers times a scale of (B or 1, Hkv or 1)."""
    return array.astype(work) * scale.astype(work)[:, :, None, None]


def lengths_of(given, batch, most, name):
    if given is None:
        return np.full(batch, most, dtype=np.int64)
    lengths = np.asarray(given)
    if lengths.shape != (batch,):
        raise ValueError(f"{name} for another number of batch entries")
    lengths = lengths.astype(np.int64)
    if (lengths < 0).any() or (lengths > most).any():
        raise ValueError(f"{name} out of range")
    return lengths


def mask_of(mask, shape):
    mask = np.asarray(mask)
    if not 2 <= mask.ndim <= 4:
        raise ValueError("mask of this rank")
    if mask.shape[-1] != shape[-1]:
        raise ValueError("mask for another number of keys")
    for length, owed in zip(mask.shape[::-1], shape[::-1]):
        if length not in (1, owed):
            raise ValueError("mask does not broadcast to the scores")
    return mask


def check(query, key, value, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment):
    for array in (query, key, value):
        if array.ndim != 4:
            raise ValueError("rank")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key and past_value are given together")
    if past_key is not None and (key_lengths is not None or query_lengths is not None):
        raise ValueError("past and lengths never come together")
    if query.shape[3] != key.shape[3] or query.shape[3] == 0:
        raise ValueError("width")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch")
    if key.shape[1] != value.shape[1]:
        raise ValueError("heads of key and value")
    if (query.shape[1] % key.shape[1] if key.shape[1] else query.shape[1]) != 0:
        raise ValueError("grouped")
    if key.shape[2] != value.shape[2]:
        raise ValueError("length")
    if past_key is not None:
        for past, new in ((past_key, key), (past_value, value)):
            if past.ndim != 4:
                raise ValueError("rank of the past")
            if past.shape[0] != new.shape[0] or past.shape[1] != new.shape[1] or past.shape[3] != new.shape[3]:
                raise ValueError("past does not fit")
        if past_key.shape[2] != past_value.shape[2]:
            raise ValueError("length of the past")
    if softcap is not None and softcap < 0:
        raise ValueError("softcap")
    if causal_alignment not in ("top_left", "bottom_right"):
        raise ValueError("causal_alignment")


def prepare(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
            sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
            causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    """Everything checked, joined, multiplied by its scale, widened and placed."""
    query, key, value = (np.asarray(array) for array in (query, key, value))
    if past_key is not None:
        past_key = np.asarray(past_key)
    if past_value is not None:
        past_value = np.asarray(past_value)
    check(query, key, value, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    c = types.SimpleNamespace()
    c.B, c.Hq, c.Sq, c.E = query.shape
    c.Hkv, c.Sk, c.Ev = key.shape[1], key.shape[2], value.shape[3]
    c.P = 0 if past_key is None else past_key.shape[2]
    c.K = c.P + c.Sk
    c.G = c.Hq // c.Hkv if c.Hkv else 1
    if output_dtype is not None:
        c.dtype = dtype_of(output_dtype)
    else:
        c.dtype = np.dtype(np.float32) if quantized(query) else query.dtype
    c.work = np.dtype(np.float64) if c.dtype == np.float64 else np.dtype(np.float32)
    c.has_scales = any(s is not None for s in (query_scale, key_scale, value_scale))
    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    c.present_key, c.present_value = key, value
    widened = []
    for array, given, name in ((query, query_scale, "query_scale"), (key, key_scale, "key_scale"),
                               (value, value_scale, "value_scale")):
        if given is None:
            widened.append(array.astype(c.work))
        else:
            s = scale_of(given, c.B, c.Hkv, name)
            if array is query:
                s = np.repeat(s, c.G, axis=1) if s.shape[1] == c.Hkv else s
            widened.append(multiplied(array, s, c.work))
    c.q, c.k, c.v = widened
    c.L = lengths_of(key_lengths, c.B, c.Sk, "key_lengths") if key_lengths is not None else np.full(c.B, c.K, np.int64)
    c.N = lengths_of(query_lengths, c.B, c.Sq, "query_lengths")
    c.bottom = causal_alignment == "bottom_right"
    first = c.L - c.N if c.bottom else np.full(c.B, c.P, np.int64)
    c.p = first[:, None] + np.arange(c.Sq)
    c.scale = 1.0 / np.sqrt(float(c.E)) if scale is None else float(scale)
    c.softcap = float(softcap) if softcap else None
    c.is_causal = bool(is_causal)
    c.left, c.right = (None, None) if window is None else tuple(window)
    c.left = None if c.left is None else int(c.left)
    c.right = None if c.right is None else int(c.right)
    c.shape = (c.B, c.Hq, c.Sq, c.K)
    c.mask = None if mask is None else mask_of(mask, c.shape)
    c.sinks = c.slopes = None
    if sinks is not None:
        c.sinks = np.asarray(sinks).astype(c.work)
        if c.sinks.shape != (c.Hq,):
            raise ValueError("sinks")
    if alibi_slopes is not None:
        c.slopes = np.asarray(alibi_slopes).astype(c.work)
        if c.slopes.shape != (c.Hq,):
            raise ValueError("alibi_slopes")
    return c


def heads(c, array):
    return np.repeat(array, c.G, axis=1) if c.Hkv else array


def allowed_of(c, p=None, causal=True, window=True, mask=True, length=True):
    """(B, Hq, Sq, K): which keys each query may attend to. p: (B, Sq) or (B, Hq, Sq)."""
    p = c.p if p is None else p
    p = (p[:, None, :] if p.ndim == 2 else p)[..., None]
    j = np.arange(c.K)
    allowed = np.ones(c.shape, dtype=bool)
    if length:
        allowed &= (j < c.L[:, None])[:, None, None, :]
    if causal and c.is_causal:
        allowed &= j <= p
    if window and c.left is not None:
        allowed &= j >= p - c.left
    if window and c.right is not None:
        allowed &= j <= p + c.right
    if mask and c.mask is not None:
        allowed &= c.mask if c.mask.dtype == bool else c.mask.astype(c.work) != -np.inf
    return allowed


def scores_of(c, q=None, k=None):
    with np.errstate(all="ignore"):
        q = c.q if q is None else q
        k = c.k if k is None else k
        return (q @ heads(c, k).swapaxes(-1, -2)) * c.work.type(c.scale)


def biased(c, scores, distance_p=None):
    with np.errstate(all="ignore"):
        logits = scores
        if c.softcap is not None:
            cap = c.work.type(c.softcap)
            logits = cap * np.tanh(logits / cap)
        if c.slopes is not None:
            p = c.p if distance_p is None else distance_p
            distance = np.abs(p[:, :, None] - np.arange(c.K)).astype(c.work)
            logits = logits - c.slopes[None, :, None, None] * distance[:, None]
        if c.mask is not None and c.mask.dtype != bool:
            logits = logits + c.mask.astype(c.work)
        return logits


def excluded(logits, allowed):
    return np.where(allowed, logits, logits.dtype.type(-np.inf))


def finite_or_zero(m):
    return np.where(m == -np.inf, m.dtype.type(0), m)


def softmax(c, logits, allowed, sinks=True):
    """weights and logsumexp of logits that hold minus infinity where excluded. sinks: True, or (B or 1, Hq, Sq or 1)."""
    with np.errstate(all="ignore"):
        m = logits.max(axis=-1, initial=-np.inf)
        s = None
        if c.sinks is not None:
            s = np.broadcast_to(c.sinks[None, :, None] if sinks is True else sinks, m.shape)
            m = np.maximum(m, s)
        m = finite_or_zero(m)
        e = np.where(allowed, np.exp(logits - m[..., None]), c.work.type(0))
        total = e.sum(axis=-1)
        if s is not None:
            total = total + np.exp(s - m)
        weights = e / np.where(total == 0, c.work.type(1), total)[..., None]
        return np.where(allowed, weights, c.work.type(0)), np.log(total) + m


def weigh(w, v, allowed):
    """Sum of the values times weights; what is excluded has no effect."""
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(v)
        if not bad.any():
            return w @ v
        out = w @ np.where(bad, v.dtype.type(0), v)
        for j in np.flatnonzero(bad.any(axis=(0, 1, 3))):
            odd = np.where(bad[:, :, j], v[:, :, j], v.dtype.type(0))[:, :, None, :]
            out = out + np.where(allowed[..., j, None], w[..., j, None] * odd, v.dtype.type(0))
        return out


def presents(c, result):
    if not c.has_scales:
        result["present_key"] = c.present_key.astype(c.dtype)
        result["present_value"] = c.present_value.astype(c.dtype)
    return result


def rounded(c, out):
    with np.errstate(all="ignore"):
        return out.astype(c.dtype)


def finish(c, scores, logits, allowed, sinks=True):
    logits = excluded(logits, allowed)
    weights, lse = softmax(c, logits, allowed, sinks)
    out = weigh(weights, heads(c, c.v), allowed)
    result = {"output": rounded(c, out), "weights": weights, "logsumexp": lse, "scores": scores, "logits": logits}
    return presents(c, result)


def attention(query, key, value, **others):
    c = prepare(query, key, value, **others)
    scores = scores_of(c)
    return finish(c, scores, biased(c, scores), allowed_of(c))


# Parts of the keys -------------------------------------------------------------------------------------------------

def part(c, logits, allowed, start, stop, v=None):
    """Largest logit, sum of exponentials and mean of the values over some keys; logits are excluded already."""
    with np.errstate(all="ignore"):
        l, a = logits[..., start:stop], allowed[..., start:stop]
        m = l.max(axis=-1, initial=-np.inf)
        e = np.where(a, np.exp(l - finite_or_zero(m)[..., None]), c.work.type(0))
        v = heads(c, c.v) if v is None else v
        total = e.sum(axis=-1)
        return m, total, weigh(e / nonzero(total)[..., None], v[:, :, start:stop], a)


def sink_part(c, shape):
    m = np.broadcast_to(c.sinks[None, :, None], shape).astype(c.work)
    return m, np.where(m == -np.inf, c.work.type(0), c.work.type(1)), np.zeros(shape + (c.Ev,), c.work)


def nonzero(total):
    return np.where(total == 0, total.dtype.type(1), total)


def joined(a, b):
    with np.errstate(all="ignore"):
        m = np.maximum(a[0], b[0])
        safe = finite_or_zero(m)
        x, y = np.exp(a[0] - safe), np.exp(b[0] - safe)
        x, y = a[1] * x, b[1] * y
        total = nonzero(x + y)
        return m, x + y, a[2] * (x / total)[..., None] + b[2] * (y / total)[..., None]


def nothing(c):
    shape = (c.B, c.Hq, c.Sq)
    return np.full(shape, -np.inf, c.work), np.zeros(shape, c.work), np.zeros(shape + (c.Ev,), c.work)


def closed(state):
    """Output and logsumexp of a state."""
    m, total, acc = state
    with np.errstate(all="ignore"):
        return acc, np.log(total) + finite_or_zero(m)


# Layouts of serving ------------------------------------------------------------------------------------------------

def columns(mask, length):
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.ndim < 1 or mask.shape[-1] < length:
        raise ValueError("mask has too few columns")
    return mask[..., :length]


def starts_of(starts, total, name):
    starts = np.asarray(starts).astype(np.int64)
    if starts.ndim != 1 or not len(starts) or starts[0] != 0 or starts[-1] != total or (np.diff(starts) < 0).any():
        raise ValueError(name)
    return starts


def packed_checks(query, key, value, query_starts, key_starts):
    query, key, value = (np.asarray(array) for array in (query, key, value))
    if not query.ndim == key.ndim == value.ndim == 3:
        raise ValueError("rank")
    if key.shape[0] != value.shape[0]:
        raise ValueError("length")
    qs = starts_of(query_starts, query.shape[0], "query_starts")
    ks = starts_of(key_starts, key.shape[0], "key_starts")
    if len(qs) != len(ks):
        raise ValueError("batch")
    return query, key, value, qs, ks


def packed(query, key, value, query_starts, key_starts, mask=None, one=None, **rest):
    query, key, value, qs, ks = packed_checks(query, key, value, query_starts, key_starts)
    one = attention if one is None else one
    work = np.float64 if query.dtype == np.float64 else np.float32
    out = np.zeros(query.shape[:2] + (value.shape[2],), query.dtype)
    lse = np.zeros(query.shape[:2], work)
    check(query[None].swapaxes(1, 2), key[None].swapaxes(1, 2), value[None].swapaxes(1, 2), None, None, None, None,
          rest.get("softcap"), rest.get("causal_alignment", "top_left"))
    for b in range(len(qs) - 1):
        q = query[None, qs[b]:qs[b + 1]].swapaxes(1, 2)
        k, v = (array[None, ks[b]:ks[b + 1]].swapaxes(1, 2) for array in (key, value))
        r = one(q, k, v, mask=columns(mask, k.shape[2]), **rest)
        out[qs[b]:qs[b + 1]] = r["output"][0].swapaxes(0, 1)
        lse[qs[b]:qs[b + 1]] = r["logsumexp"][0].swapaxes(0, 1)
    return {"output": out, "logsumexp": lse}


def pools(query, key_pool, value_pool, heads_first):
    """Checked, and as (pages, page size, Hkv, features)."""
    query, k, v = (np.asarray(array) for array in (query, key_pool, value_pool))
    if not query.ndim == k.ndim == v.ndim == 4:
        raise ValueError("rank")
    if heads_first:
        k, v = k.swapaxes(1, 2), v.swapaxes(1, 2)
    if k.shape[:3] != v.shape[:3]:
        raise ValueError("pools")
    if query.shape[3] != k.shape[3]:
        raise ValueError("width")
    if (query.shape[1] % k.shape[2] if k.shape[2] else query.shape[1]) != 0:
        raise ValueError("grouped")
    return query, k, v


def table_pages(block_table, key_lengths, batch, size):
    table = np.asarray(block_table)
    lengths = np.asarray(key_lengths)
    if table.ndim != 2 or len(table) != batch or lengths.shape != (batch,):
        raise ValueError("batch")
    lengths = lengths.astype(np.int64)
    if (lengths < 0).any() or (lengths > table.shape[1] * size).any():
        raise ValueError("key_lengths")
    return [table[b, : -(-int(lengths[b]) // size)].astype(np.int64) for b in range(batch)], lengths


def list_pages(page_starts, page_indices, last_page_length, batch, size):
    starts, indices, last = (np.asarray(array).astype(np.int64) for array in (page_starts, page_indices, last_page_length))
    if starts.shape != (batch + 1,) or last.shape != (batch,) or indices.ndim != 1 or starts[-1] > len(indices):
        raise ValueError("batch")
    pages = [indices[starts[b]:starts[b + 1]] for b in range(batch)]
    lengths = []
    for b in range(batch):
        if len(pages[b]) and not 1 <= last[b] <= size:
            raise ValueError("last_page_length")
        lengths.append((len(pages[b]) - 1) * size + int(last[b]) if len(pages[b]) else 0)
    return pages, np.array(lengths, dtype=np.int64).reshape(batch)


def gathered(pool, pages, length):
    """(1, Hkv, length, features)."""
    size, count, width = pool.shape[1:]
    return pool[pages].reshape(len(pages) * size, count, width)[:length].swapaxes(0, 1)[None]


def paged(query, k, v, pages, lengths, query_lengths=None, mask=None, one=None, **rest):
    """query (B, Hq, Sq, E); pools as (pages, page size, Hkv, features); one(q, k, v, mask=, b=...) for a sequence."""
    batch, Hq, Sq, _ = query.shape
    N = lengths_of(query_lengths, batch, Sq, "query_lengths")
    work = np.float64 if query.dtype == np.float64 else np.float32
    out = np.zeros((batch, Hq, Sq, v.shape[3]), query.dtype)
    lse = np.full((batch, Hq, Sq), -np.inf, work)
    for b in range(batch):
        L = int(lengths[b])
        q = query[b:b + 1, :, :N[b]]
        given = dict(mask=columns(mask, L), **rest)
        kk, vv = gathered(k, pages[b], L), gathered(v, pages[b], L)
        r = attention(q, kk, vv, **given) if one is None else one(b, q, kk, vv, **given)
        out[b, :, :N[b]] = r["output"][0]
        lse[b, :, :N[b]] = r["logsumexp"][0]
    return {"output": out, "logsumexp": lse}
