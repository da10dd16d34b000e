"""Right implementations after the pages, and parts of them. Everything is carried in float64 unless `work` says otherwise."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np

NARROW = (np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype(np.int8))
HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def named_dtype(name):
    if name is None:
        return None
    return np.dtype(getattr(ml_dtypes, name)) if isinstance(name, str) and hasattr(ml_dtypes, name) else np.dtype(name)


def spread_scale(scale, batch, heads):
    """A scale as (B, Hkv) in float64."""
    scale = np.asarray(scale)
    refuse(scale.ndim > 2, "scale has too many axes")
    for have, want in zip(scale.shape[::-1], (heads, batch)):
        refuse(have not in (1, want), "scale does not fit")
    return np.broadcast_to(scale.astype(np.float64), (batch, heads))


def check_lengths(lengths, batch, most):
    if lengths is None:
        return None
    lengths = np.asarray(lengths)
    refuse(lengths.shape != (batch,), "lengths for another batch")
    lengths = lengths.astype(np.int64)
    refuse(bool(((lengths < 0) | (lengths > most)).any()), "length out of range")
    return lengths


def setup(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
          sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
          causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None, work=np.float64):
    """Check, prepend the past, dequantize, widen, place the queries."""
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    for array in (query, key, value):
        refuse(array.ndim != 4, "rank")
    batch, hq, sq, width = query.shape
    hkv, sk = key.shape[1:3]
    refuse(key.shape[3] != width, "width")
    refuse(width == 0, "no features")
    refuse(key.shape[0] != batch or value.shape[0] != batch, "batch")
    refuse(value.shape[1] != hkv, "heads")
    refuse(hq % hkv != 0 if hkv else hq != 0, "grouped")
    refuse(value.shape[2] != sk, "length")
    refuse((past_key is None) != (past_value is None), "half a past")
    refuse(past_key is not None and (key_lengths is not None or query_lengths is not None), "past and lengths")
    present_key, present_value, past = key, value, 0
    if past_key is not None:
        past_key, past_value = np.asarray(past_key), np.asarray(past_value)
        refuse(past_key.ndim != 4 or past_value.ndim != 4, "rank of past")
        refuse(past_key.shape[3] != width or past_value.shape[3] != value.shape[3], "width of past")
        refuse(past_key.shape[0] != batch or past_value.shape[0] != batch, "batch of past")
        refuse(past_key.shape[1] != hkv or past_value.shape[1] != hkv, "heads of past")
        refuse(past_key.shape[2] != past_value.shape[2], "length of past")
        past = past_key.shape[2]
        present_key = np.concatenate([past_key, key], axis=2)
        present_value = np.concatenate([past_value, value], axis=2)
    total = past + sk
    key_lengths = check_lengths(key_lengths, batch, sk)
    query_lengths = check_lengths(query_lengths, batch, sq)
    refuse(causal_alignment not in ("top_left", "bottom_right"), "alignment")
    refuse(softcap is not None and softcap < 0, "softcap")
    if mask is not None:
        mask = np.asarray(mask)
        refuse(mask.dtype.kind in "iu", "mask of integers")
        refuse(not 2 <= mask.ndim <= 4, "rank of mask")
        refuse(mask.shape[-1] != total, "columns of mask")
        for have, want in zip(mask.shape[::-1], (total, sq, hq, batch)):
            refuse(have not in (1, want), "mask does not fit")
    group = hq // hkv if hkv else 1
    for heads in (sinks, alibi_slopes):
        refuse(heads is not None and np.asarray(heads).shape != (hq,), "one number for each head")
    out = named_dtype(output_dtype) if output_dtype is not None and query.dtype in NARROW else query.dtype
    if out == np.float64:
        work = np.float64
    wide = [array.astype(work) for array in (query, present_key, present_value)]
    scales = (query_scale, key_scale, value_scale)
    spread = [None if s is None else spread_scale(s, batch, hkv) for s in scales]
    for n, s in enumerate(spread):
        if s is not None:
            s = np.repeat(s, group, axis=1) if n == 0 else s
            wide[n] = wide[n] * s[:, :, None, None].astype(work)
    lengths = key_lengths if key_lengths is not None else np.full(batch, total, dtype=np.int64)
    counts = query_lengths if query_lengths is not None else np.full(batch, sq, dtype=np.int64)
    start = np.full(batch, past, dtype=np.int64) if causal_alignment == "top_left" else lengths - counts
    return SimpleNamespace(
        query=query, key=key, value=value, past_key=past_key, past_value=past_value,
        present_key=present_key, present_value=present_value, q=wide[0], k=wide[1], v=wide[2], work=np.dtype(work),
        B=batch, Hq=hq, Hkv=hkv, G=group, Sq=sq, Sk=sk, P=past, T=total, E=width, Ev=value.shape[3], L=lengths, N=counts,
        start=start, has_key_lengths=key_lengths is not None, has_query_lengths=query_lengths is not None,
        mask=mask, causal=bool(is_causal), alignment=causal_alignment,
        scale=1 / np.sqrt(width) if scale is None else float(scale),
        cap=float(softcap) if softcap else 0.0, window=None if window is None else tuple(window),
        sinks=None if sinks is None else np.asarray(sinks).astype(work),
        slopes=None if alibi_slopes is None else np.asarray(alibi_slopes).astype(work),
        scaled=any(s is not None for s in scales), out=out,
        side=np.dtype(np.float64 if out == np.float64 else np.float32))


def positions(S):
    """The position of every query, (B, Hq, Sq)."""
    return np.broadcast_to(S.start[:, None, None] + np.arange(S.Sq), (S.B, S.Hq, S.Sq))


def masked(S):
    """What the mask alone allows, (B, Hq, Sq, T)."""
    shape = (S.B, S.Hq, S.Sq, S.T)
    if S.mask is None:
        return np.ones(shape, dtype=bool)
    fine = S.mask if S.mask.dtype == bool else S.mask.astype(np.float64) != -np.inf
    return np.broadcast_to(fine, shape).copy()


def allowed(S, causal_at=None, window_at=None):
    """The keys that each query may attend to, (B, Hq, Sq, T)."""
    j = np.arange(S.T)
    ok = masked(S) & (j < S.L[:, None, None, None])
    if S.causal:
        p = (positions(S) if causal_at is None else causal_at)[..., None]
        ok &= j <= p
    if S.window is not None:
        p = (positions(S) if window_at is None else window_at)[..., None]
        left, right = S.window
        if left is not None:
            ok &= j >= p - left
        if right is not None:
            ok &= j <= p + right
    return ok


def raw_scores(S):
    k = np.repeat(S.k, S.G, axis=1)
    return S.q @ np.swapaxes(k, -1, -2) * S.work.type(S.scale)


def to_logits(S, scores, ok, alibi_at=None):
    logits = scores
    if S.cap:
        cap = S.work.type(S.cap)
        logits = cap * np.tanh(logits / cap)
    if S.slopes is not None:
        p = (positions(S) if alibi_at is None else alibi_at)[..., None]
        logits = logits - S.slopes[:, None, None] * np.abs(p - np.arange(S.T)).astype(S.work)
    if S.mask is not None and S.mask.dtype != bool:
        logits = logits + S.mask.astype(S.work)
    return np.where(ok, logits, S.work.type(-np.inf))


def weighted(weights, v, ok):
    """weights (..., Sq, T) times v (..., T, Ev); what is excluded has no effect."""
    if np.isfinite(v).all():
        return weights @ v
    out = np.zeros(weights.shape[:-1] + v.shape[-1:], dtype=v.dtype)
    for i in range(weights.shape[-2]):
        part = weights[..., i, :, None] * v
        out[..., i, :] = np.where(ok[..., i, :, None], part, 0).sum(axis=-2)
    return out


def normalise(S, logits, sinks=True):
    """weights and logsumexp."""
    top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    sink = S.sinks[:, None, None] if sinks and S.sinks is not None else None
    if sink is not None:
        top = np.maximum(top, sink)
    top = np.where(top == -np.inf, S.work.type(0), top)
    e = np.exp(logits - top)
    total = e.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - top)
    weights = np.where(total == 0, S.work.type(0), e / np.where(total == 0, S.work.type(1), total))
    return weights, (top + np.log(total))[..., 0]


def some(total):
    """What may be divided by"""
    return np.where(total == 0, total.dtype.type(1), total)


def state(S, logits, ok, lo, hi):
    """Keys lo to hi alone: (largest logit, sum, weighted mean of the values), without sinks."""
    part = logits[..., lo:hi]
    top = part.max(axis=-1, keepdims=True, initial=-np.inf)
    shift = np.where(top == -np.inf, S.work.type(0), top)
    e = np.exp(part - shift)
    v = np.repeat(S.v[:, :, lo:hi], S.G, axis=1)
    total = e.sum(axis=-1, keepdims=True)
    return top, total, weighted(e / some(total), v, ok[..., lo:hi])


def join(a, b):
    """Two states as one."""
    top = np.maximum(a[0], b[0])
    shift = np.where(top == -np.inf, top.dtype.type(0), top)
    fa, fb = np.exp(a[0] - shift), np.exp(b[0] - shift)
    total = a[1] * fa + b[1] * fb
    return top, total, a[2] * (a[1] * fa / some(total)) + b[2] * (b[1] * fb / some(total))


def sink_state(S):
    shape = (S.B, S.Hq, S.Sq)
    sink = np.broadcast_to(S.sinks[:, None, None], (S.B, S.Hq, S.Sq, 1)).astype(S.work)
    return sink, np.ones(shape + (1,), S.work), np.zeros(shape + (S.Ev,), S.work)


def empty_state(S):
    shape = (S.B, S.Hq, S.Sq)
    return np.full(shape + (1,), -np.inf, S.work), np.zeros(shape + (1,), S.work), np.zeros(shape + (S.Ev,), S.work)


def read_state(a):
    """output and logsumexp of a state"""
    shift = np.where(a[0] == -np.inf, a[0].dtype.type(0), a[0])
    return a[2], (shift + np.log(a[1]))[..., 0]


def results(S, output, weights=None, logsumexp=None, scores=None, logits=None):
    found = {"output": output.astype(S.out)}
    for name, array in (("weights", weights), ("logsumexp", logsumexp), ("scores", scores), ("logits", logits)):
        if array is not None:
            found[name] = array.astype(S.side)
    if not S.scaled:
        found["present_key"] = np.array(S.present_key).astype(S.out)
        found["present_value"] = np.array(S.present_value).astype(S.out)
    return found


def finish(S, ok=None, scores=None, alibi_at=None):
    with np.errstate(all="ignore"):
        ok = allowed(S) if ok is None else ok
        scores = raw_scores(S) if scores is None else scores
        logits = to_logits(S, scores, ok, alibi_at)
        weights, logsumexp = normalise(S, logits)
        output = weighted(weights, np.repeat(S.v, S.G, axis=1), ok)
        return results(S, output, weights, logsumexp, scores, logits)


def run(*args, **named):
    return finish(setup(*args, **named))


# Layouts of serving


def columns(mask, length):
    return None if mask is None else np.asarray(mask)[..., :length]


def check_packed(query, key, value, query_starts, key_starts):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    for array in (query, key, value):
        refuse(array.ndim != 3, "rank")
    refuse(query.shape[2] != key.shape[2], "width")
    refuse(key.shape[1] != value.shape[1], "heads")
    refuse(query.shape[1] % key.shape[1] != 0 if key.shape[1] else query.shape[1] != 0, "grouped")
    refuse(key.shape[0] != value.shape[0], "length")
    qs, ks = np.asarray(query_starts).astype(np.int64), np.asarray(key_starts).astype(np.int64)
    refuse(qs.shape != ks.shape or qs.ndim != 1 or len(qs) == 0, "starts")
    return query, key, value, qs, ks


def packed(query, key, value, query_starts, key_starts, mask=None, core=None, **options):
    """core(S, b) finishes what was set up for sequence b"""
    query, key, value, qs, ks = check_packed(query, key, value, query_starts, key_starts)
    out = np.zeros((query.shape[0], query.shape[1], value.shape[2]), query.dtype)
    lse = np.zeros(query.shape[:2], np.float64 if query.dtype == np.float64 else np.float32)
    for b in range(len(qs) - 1):
        a, z, c, d = qs[b], qs[b + 1], ks[b], ks[b + 1]
        S = setup(*(x.swapaxes(0, 1)[None] for x in (query[a:z], key[c:d], value[c:d])), mask=columns(mask, d - c), **options)
        got = finish(S) if core is None else core(S, b)
        out[a:z] = got["output"][0].swapaxes(0, 1)
        lse[a:z] = got["logsumexp"][0].swapaxes(0, 1)
    return {"output": out, "logsumexp": lse}


def check_paged(query, key_pool, value_pool, heads_first):
    query, key_pool, value_pool = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    for array in (query, key_pool, value_pool):
        refuse(array.ndim != 4, "rank")
    heads, slots = (1, 2) if heads_first else (2, 1)
    refuse(query.shape[3] != key_pool.shape[3], "width")
    refuse(key_pool.shape[heads] != value_pool.shape[heads], "heads")
    hkv = key_pool.shape[heads]
    refuse(query.shape[1] % hkv != 0 if hkv else query.shape[1] != 0, "grouped")
    refuse(key_pool.shape[slots] != value_pool.shape[slots], "length")
    return query, key_pool, value_pool, key_pool.shape[slots]


def gather(pool, pages, length, heads_first):
    """(1, Hkv, length, E)"""
    got = pool[np.asarray(pages, dtype=np.int64)]
    if heads_first:
        got = got.swapaxes(1, 2)
    return got.reshape((-1,) + got.shape[2:])[:length].swapaxes(0, 1)[None]


def paged(query, key_pool, value_pool, pages, lengths, heads_first=False, query_lengths=None, mask=None, core=None,
          **options):
    """pages: for each sequence, its pages in order; core(S, b) finishes"""
    query, key_pool, value_pool, size = check_paged(query, key_pool, value_pool, heads_first)
    batch, hq, sq = query.shape[:3]
    query_lengths = check_lengths(query_lengths, batch, sq)
    refuse(len(lengths) != batch, "lengths for another batch")
    out = np.zeros((batch, hq, sq, value_pool.shape[3]), query.dtype)
    lse = np.zeros((batch, hq, sq), np.float64 if query.dtype == np.float64 else np.float32)
    for b in range(batch):
        length = int(lengths[b])
        refuse(length < 0 or length > size * len(pages[b]), "length")
        S = setup(query[b:b + 1], gather(key_pool, pages[b], length, heads_first),
                  gather(value_pool, pages[b], length, heads_first), mask=columns(mask, length),
                  query_lengths=None if query_lengths is None else query_lengths[b:b + 1], **options)
        got = finish(S) if core is None else core(S, b)
        out[b], lse[b] = got["output"][0], got["logsumexp"][0]
    return {"output": out, "logsumexp": lse}


def table_pages(block_table, key_lengths, size):
    """Of each row as many entries as the keys need"""
    table, lengths = np.asarray(block_table), np.asarray(key_lengths).astype(np.int64)
    refuse(table.ndim != 2 or lengths.shape != table.shape[:1], "table")
    refuse(bool(((lengths < 0) | (lengths > table.shape[1] * size)).any()), "length")
    return [row[: -(-int(n) // size)] for row, n in zip(table, lengths)], lengths


def list_pages(page_starts, page_indices, last_page_length, size):
    starts, indices = np.asarray(page_starts).astype(np.int64), np.asarray(page_indices)
    last = np.asarray(last_page_length).astype(np.int64)
    pages = [indices[a:z] for a, z in zip(starts[:-1], starts[1:])]
    return pages, [(len(p) - 1) * size + int(n) if len(p) else 0 for p, n in zip(pages, last)]


def paged_table(query, key_pool, value_pool, block_table, key_lengths, heads_first=False, **options):
    size = np.asarray(key_pool).shape[2 if heads_first else 1]
    pages, lengths = table_pages(block_table, key_lengths, size)
    return paged(query, key_pool, value_pool, pages, lengths, heads_first, **options)


def paged_list(query, key_pool, value_pool, page_starts, page_indices, last_page_length, heads_first=False, **options):
    size = np.asarray(key_pool).shape[2 if heads_first else 1]
    pages, lengths = list_pages(page_starts, page_indices, last_page_length, size)
    return paged(query, key_pool, value_pool, pages, lengths, heads_first, **options)
