"""Tiles of keys with a running maximum, in the dtype of the run (float32 for half precision); gradients from what was stored."""

import math

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
TILE = 16
BFLOAT = np.dtype(ml_dtypes.bfloat16)


def work_of(dtype):
    return np.dtype(np.float64) if dtype == np.float64 else np.dtype(np.float32)


def demand(condition):
    if not condition:
        raise ValueError("inputs that do not fit together")


def check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths):
    demand(query.ndim == key.ndim == value.ndim == 4)
    B, H, S, E = query.shape
    demand(key.shape[0] == B == value.shape[0] and key.shape[3] == E)
    demand(key.shape[:3] == value.shape[:3])
    demand(H == 0 or (key.shape[1] > 0 and H % key.shape[1] == 0))
    demand((past_key is None) == (past_value is None))
    P = 0
    if past_key is not None:
        demand(past_key.ndim == past_value.ndim == 4)
        demand(past_key.shape[:2] == key.shape[:2] and past_key.shape[3] == E)
        demand(past_value.shape[:3] == past_key.shape[:3] and past_value.shape[3] == value.shape[3])
        demand(key_lengths is None and query_lengths is None)
        P = past_key.shape[2]
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, S)):
        if lengths is not None:
            demand(lengths.shape == (B,) and all(0 <= n <= most for n in lengths))
    owed = (B, H, S, P + key.shape[2])
    if mask is not None:
        demand(2 <= mask.ndim <= 4 and mask.dtype.kind not in "iu" and mask.shape[-1] == owed[-1])
        demand(all(a in (1, b) for a, b in zip(mask.shape[::-1], owed[::-1])))
    return P, owed


def check_scale(scale, B, G):
    if scale is not None:
        demand(scale.ndim <= 2 and all(a in (1, b) for a, b in zip(scale.shape[::-1], (G, B))))


def scaled(x, scale, work):
    x = x.astype(work)
    if scale is None:
        return x
    scale = scale.astype(work)
    while scale.ndim < 2:
        scale = scale[None]
    return x * scale[:, :, None, None]


class Rows:
    """Which keys the queries of an entry and a head see, and what is added to their scores."""

    def __init__(self, owed, P, mask, key_lengths, query_lengths, alibi, causal, alignment, window, work):
        demand(alignment in ("top_left", "bottom_right"))
        self.owed, self.mask, self.alibi, self.causal, self.work = owed, mask, alibi, causal, work
        self.window = (None, None) if window is None else tuple(window)
        B, H, S, K = owed
        self.L = [K] * B if key_lengths is None else [int(n) for n in key_lengths]
        self.N = [S] * B if query_lengths is None else [int(n) for n in query_lengths]
        self.first = [P] * B if alignment == "top_left" else [n - m for n, m in zip(self.L, self.N)]

    def cut(self, b, h, begin, end):
        ahead = np.arange(begin, end)[None, :] - (self.first[b] + np.arange(self.owed[2]))[:, None]
        see = np.ones(ahead.shape, bool) & (np.arange(begin, end) < self.L[b])
        left, right = self.window
        if self.causal:
            see &= ahead <= 0
        if left is not None:
            see &= ahead >= -left
        if right is not None:
            see &= ahead <= right
        add = np.zeros(ahead.shape, self.work)
        if self.alibi is not None:
            add = add - self.alibi[h].astype(self.work) * np.abs(ahead).astype(self.work)
        if self.mask is not None:
            mask = np.broadcast_to(self.mask, self.owed)[b, h, :, begin:end]
            if mask.dtype == bool:
                see &= mask
            else:
                mask = mask.astype(self.work)
                see &= ~np.isneginf(mask)
                add = add + mask
        return see, add


def times(p, see, v):
    """p @ v over what is seen."""
    if np.isfinite(v).all():
        return np.where(see, p, 0) @ v
    total = np.zeros((p.shape[0], v.shape[1]), p.dtype)
    for j in range(p.shape[1]):
        total[see[:, j]] += p[see[:, j], j, None] * v[j]
    return total


def logits_of(q, k, add, see, factor, cap):
    s = (q @ k.T) * q.dtype.type(factor)
    z = s if not cap else q.dtype.type(cap) * np.tanh(s / q.dtype.type(cap))
    return s, np.where(see, z + add, -np.inf)


def online(q, k, v, rows, b, h, factor, cap, sink):
    work = q.dtype
    m = np.full(len(q), -np.inf if sink is None else sink, work)
    total = np.where(np.isneginf(m), 0, 1).astype(work)
    out = np.zeros((len(q), v.shape[1]), work)
    for begin in range(0, len(k), TILE):
        part = slice(begin, min(begin + TILE, len(k)))
        see, add = rows.cut(b, h, part.start, part.stop)
        _, z = logits_of(q, k[part], add, see, factor, cap)
        new = np.maximum(m, z.max(axis=1))
        safe = np.where(np.isneginf(new), 0, new)
        p = np.where(see, np.exp(z - safe[:, None]), 0).astype(work)
        keep = np.where(np.isneginf(m), 0, np.exp(m - safe)).astype(work)
        total = total * keep + p.sum(axis=1)
        out = out * keep[:, None] + times(p, see, v[part])
        m = new
    none = total == 0
    output = out / np.where(none, 1, total)[:, None]
    log = np.where(none, -np.inf, np.where(np.isneginf(m), 0, m) + np.log(np.where(none, 1, total)))
    return output, log.astype(work)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    P, owed = check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths)
    B, H, S, K = owed
    G = key.shape[1]
    for item in (query_scale, key_scale, value_scale):
        check_scale(item, B, G)
    demand(softcap is None or softcap >= 0)
    dtype = query.dtype
    if query_scale is not None:
        dtype = BFLOAT if output_dtype == "bfloat16" else np.dtype(output_dtype)
    work = work_of(dtype)
    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    k, v = scaled(key, key_scale, work), scaled(value, value_scale, work)
    group = H // G if G else 1
    rows = Rows(owed, P, mask, key_lengths, query_lengths, alibi_slopes, is_causal, causal_alignment, window, work)
    factor = 1 / math.sqrt(query.shape[3]) if scale is None else scale
    output, log = np.zeros((B, H, S, value.shape[3]), work), np.zeros((B, H, S), work)
    with np.errstate(all="ignore"):
        for b in range(B):
            for h in range(H):
                g = h // group
                q = query[b, h].astype(work)
                if query_scale is not None:
                    q = q * work.type(np.broadcast_to(query_scale, (B, G))[b, g])
                sink = None if sinks is None else work.type(sinks[h])
                output[b, h], log[b, h] = online(q, k[b, g], v[b, g], rows, b, h, factor, softcap, sink)
        result = {"output": output.astype(dtype), "logsumexp": log}
    if query_scale is None and key_scale is None and value_scale is None:
        result |= {"present_key": key.copy(), "present_value": value.copy()}
    return result


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    _, owed = check(query, key, value, mask, None, None, key_lengths, query_lengths)
    B, H, S, K = owed
    G, Ev = key.shape[1], value.shape[3]
    demand(grad_output.shape == (B, H, S, Ev))
    demand(grad_logsumexp is None or grad_logsumexp.shape == (B, H, S))
    dtype = query.dtype
    work = work_of(dtype)
    group = H // G if G else 1
    rows = Rows(owed, 0, mask, key_lengths, query_lengths, alibi_slopes, is_causal, causal_alignment, window, work)
    factor = work.type(1 / math.sqrt(query.shape[3]) if scale is None else scale)
    dq, dk, dv = (np.zeros(x.shape, work) for x in (query, key, value))
    additive = mask is not None and mask.dtype != bool
    dmask = np.zeros(owed, work) if additive else None
    dsinks = np.zeros(H, work)
    with np.errstate(all="ignore"):
        for b in range(B):
            for h in range(H):
                g, N = h // group, rows.N[b]
                q, k, v = query[b, h].astype(work), key[b, g].astype(work), value[b, g].astype(work)
                sink = None if sinks is None else work.type(sinks[h])
                o, lse = online(q, k, v, rows, b, h, factor, softcap, sink)
                if output is not None:
                    o = output[b, h].astype(work)
                if logsumexp is not None:
                    lse = logsumexp[b, h].astype(work)
                live = np.zeros(S, bool)
                counted = np.arange(S) < N
                tiles = [slice(j, min(j + TILE, K)) for j in range(0, K, TILE)]
                for part in tiles:
                    live |= rows.cut(b, h, part.start, part.stop)[0].any(axis=1)
                live &= counted
                go = np.where(live[:, None], grad_output[b, h].astype(work), 0)
                gl = np.zeros(S, work) if grad_logsumexp is None else grad_logsumexp[b, h].astype(work)
                gl = np.where(counted, gl, 0)
                delta = np.where(live, (go * o).sum(axis=1), 0)
                for part in tiles:
                    see, add = rows.cut(b, h, part.start, part.stop)
                    see = see & counted[:, None]
                    s, z = logits_of(q, k[part], add, see, factor, softcap)
                    p = np.where(see, np.exp(z - lse[:, None]), 0).astype(work)
                    gz = np.where(see, p * (go @ v[part].T - delta[:, None] + gl[:, None]), 0).astype(work)
                    if additive:
                        dmask[b, h, :, part] = gz
                    gs = gz
                    if softcap:
                        gs = np.where(see, gz * (1 - np.tanh(s / work.type(softcap)) ** 2), 0).astype(work)
                    dv[b, g, part] += times(p.T, see.T, go)
                    dk[b, g, part] += times(gs.T, see.T, q) * factor
                    dq[b, h] += times(gs, see, k[part]) * factor
                if sink is not None:
                    share = np.where(counted & ~np.isneginf(lse), np.exp(sink - lse) * (gl - delta), 0)
                    dsinks[h] += share.sum()
        result = {"grad_query": dq.astype(dtype), "grad_key": dk.astype(dtype), "grad_value": dv.astype(dtype)}
    if additive:
        shape = (1,) * (4 - mask.ndim) + mask.shape
        for axis in range(4):
            if shape[axis] == 1:
                dmask = dmask.sum(axis=axis, keepdims=True)
        result["grad_mask"] = dmask.reshape(mask.shape)
    if sinks is not None:
        result["grad_sinks"] = dsinks
    return result


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    demand(output_a.ndim == 4 and output_a.shape == output_b.shape)
    demand(logsumexp_a.shape == logsumexp_b.shape == output_a.shape[:3])
    work = work_of(output_a.dtype)
    output = np.zeros(output_a.shape, output_a.dtype)
    log = np.zeros(output_a.shape[:3], work)
    with np.errstate(all="ignore"):
        for place in np.ndindex(log.shape):
            a, b = work.type(logsumexp_a[place]), work.type(logsumexp_b[place])
            if a == -np.inf and b == -np.inf:
                log[place] = -np.inf
            elif a == -np.inf:
                output[place], log[place] = output_b[place], b
            elif b == -np.inf:
                output[place], log[place] = output_a[place], a
            else:
                most = max(a, b) if a == a and b == b else work.type(np.nan)
                wa, wb = np.exp(a - most), np.exp(b - most)
                total = wa + wb
                mixed = output_a[place].astype(work) * (wa / total) + output_b[place].astype(work) * (wb / total)
                output[place] = mixed.astype(output_a.dtype)
                log[place] = most + np.log(total)
    return {"output": output, "logsumexp": log}


def softmax(x, axis=-1):
    if x.size == 0:
        return x.copy()
    rows = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
    shape = rows.shape
    rows = rows.reshape(-1, shape[-1]).astype(work_of(x.dtype))
    with np.errstate(all="ignore"):
        for row in rows:
            row -= row.max()
            np.exp(row, out=row)
            row /= row.sum()
    rows = rows.reshape(shape)
    return (rows.reshape(x.shape) if axis is None else np.moveaxis(rows, -1, axis)).astype(x.dtype)
