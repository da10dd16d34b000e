import numpy as np

SPLIT = 12


def partial(q, k, v, cols, pos, see, scale, softcap, slopes, added):
    t = q.dtype.type
    s = (q @ np.swapaxes(k, -1, -2)) * t(scale)
    if softcap is not None and softcap > 0:
        s = t(softcap) * np.tanh(s / t(softcap))
    if slopes is not None:
        s = s - slopes[:, None, None] * np.abs(pos[:, None, :, None] - cols).astype(s.dtype)
    if added is not None:
        s = s + added
    s = np.where(see, s, t(-np.inf))
    top = s.max(axis=-1)
    ref = np.where(np.isneginf(top), t(0), top)
    p = np.where(see, np.exp(s - ref[..., None]), t(0))
    total = p.sum(axis=-1)
    p = p / np.where(total == 0, t(1), total)[..., None]
    if np.isfinite(v).all():
        o = p @ v
    else:
        o = np.where(see[..., None], p[..., None] * v[:, :, None], t(0)).sum(axis=-2)
    return o, ref + np.log(total)


def merge(parts, sinks):
    o = np.stack([part[0] for part in parts])
    lse = np.stack([part[1] for part in parts])
    t = o.dtype.type
    top = lse.max(axis=0)
    if sinks is not None:
        top = np.maximum(top, sinks[:, None])
    ref = np.where(np.isneginf(top), t(0), top)
    share = np.exp(lse - ref)
    total = share.sum(axis=0)
    if sinks is not None:
        total = total + np.exp(sinks[:, None] - ref)
    share = share / np.where(total == 0, t(1), total)
    return np.where(share[..., None] == 0, t(0), share[..., None] * o).sum(axis=0), ref + np.log(total)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    for lengths, most in ((key_lengths, key.shape[-2]), (query_lengths, query.shape[-2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    if past_key is not None and key.ndim == value.ndim == 4 and (
        past_key.shape[:2] != key.shape[:2]
        or past_key.shape[3] != key.shape[3]
        or past_value.shape != (*past_key.shape[:3], value.shape[3])
    ):
        raise ValueError("past does not fit")
    for x in (query, key, value):
        if x.ndim != 4:
            raise ValueError("query, key and value need four axes")
    if query.shape[3] != key.shape[3]:
        raise ValueError("query and key differ in width")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if key.shape[1] != value.shape[1] or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in tokens")
    if mask is not None:
        want = query.shape[:3] + (key.shape[2] + (0 if past_key is None else past_key.shape[2]),)
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != want[-1]:
            raise ValueError("mask does not fit")
        np.broadcast_to(mask, want)
    t = np.float64 if query.dtype == np.float64 else np.float32
    P = 0 if past_key is None else past_key.shape[2]
    if P > 0:
        key = np.concatenate([past_key, key], 2)
        value = np.concatenate([past_value, value], 2)
    B, Hq, Sq, E = query.shape
    Sk = key.shape[2]
    scale = E ** -0.5 if scale is None else scale
    L = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths).astype(int)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(int)
    pos = np.arange(Sq)[None] + (P if causal_alignment == "top_left" else (L - N)[:, None])
    pos = np.broadcast_to(pos, (B, Sq))
    reps = Hq // key.shape[1]
    q = query.astype(t)
    slopes = None if alibi_slopes is None else alibi_slopes.astype(t)
    sink = None if sinks is None else sinks.astype(t)
    left, right = (None, None) if window is None else window
    full = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, Sk))
    parts = [(np.zeros((B, Hq, Sq, value.shape[3]), t), np.full((B, Hq, Sq), -np.inf, t))]
    for start in range(0, Sk, SPLIT):
        stop = min(start + SPLIT, Sk)
        cols = np.arange(start, stop)
        k = key[:, :, start:stop].astype(t).repeat(reps, axis=1)
        v = value[:, :, start:stop].astype(t).repeat(reps, axis=1)
        here = pos[:, None, :, None]
        see = cols < L[:, None, None, None]
        if is_causal:
            see = see & (cols <= here)
        if left is not None:
            see = see & (cols >= here - left)
        if right is not None:
            see = see & (cols <= here + right)
        see = np.broadcast_to(see, (B, Hq, Sq, stop - start))
        added = None
        if full is not None:
            piece = full[..., start:stop]
            if piece.dtype == bool:
                see = see & piece
            else:
                added = piece.astype(t)
                see = see & ~np.isneginf(piece)
        o, s = partial(q, k, v, cols, pos, see, scale, softcap, slopes, added)
        if Sk > SPLIT:
            o, s = o.astype(np.float32).astype(t), s.astype(np.float32).astype(t)
        parts.append((o, s))
    out, lse = merge(parts, sink)
    return {"output": out.astype(query.dtype), "logsumexp": lse.astype(query.dtype)}

dtypes = ("float64", "float32")
