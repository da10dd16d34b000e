"""Keys in splits, each with its own output and logsumexp, merged from the last to the first by sigmoids; the sink is one more split."""
import numpy as np


def refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError("query, key and value have four axes")
    (B, Hq, Sq, E), (Bk, Hkv, Sk, Ek), (Bv, Hv, Sv, Ev) = query.shape, key.shape, value.shape
    if E != Ek or B != Bk or B != Bv or Hkv != Hv or Sk != Sv:
        raise ValueError("query, key and value do not fit")
    if (Hkv == 0 and Hq) or (Hkv and Hq % Hkv):
        raise ValueError("heads do not divide")
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            if np.shape(lengths) != (B,) or any(int(n) < 0 or int(n) > most for n in lengths):
                raise ValueError("lengths")
    if mask is not None:
        want = (B, Hq, Sq, Sk)
        if mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != Sk:
            raise ValueError("mask")
        if any(n != 1 and n != want[4 - mask.ndim + a] for a, n in enumerate(mask.shape)):
            raise ValueError("mask")
    for x in (grad_output, output):
        if x is not None and x.shape != (B, Hq, Sq, Ev):
            raise ValueError("shape of a gradient")
    for x in (logsumexp, grad_logsumexp):
        if x is not None and x.shape != (B, Hq, Sq):
            raise ValueError("shape of a gradient")


SPLIT = 16


def times(a, keep, x):
    x = np.asarray(x)
    if np.all(np.isfinite(x)):
        return np.matmul(a, x)
    return np.where(keep[..., None], a[..., None] * x[..., None, :, :], 0).sum(-2, dtype=a.dtype)


def merge(one, two, at, bt):
    """two partial results and their logarithms"""
    both = np.logaddexp(at, bt)
    gone = np.isneginf(both)
    gap = np.where(gone, 0, bt - np.where(gone, 0, at))
    first = np.where(gone, 0, 1 / (1 + np.exp(gap)))
    second = np.where(gone, 0, 1 / (1 + np.exp(-gap)))
    return (first[..., None] * one + second[..., None] * two).astype(one.dtype), both


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    kind = query.dtype
    wide = kind if kind.itemsize > 4 else np.dtype(np.float32)
    query, key, value, grad_output = (np.asarray(x, dtype=wide) for x in (query, key, value, grad_output))
    scale = wide.type(1 / np.sqrt(E)) if scale is None else wide.type(scale)
    L = np.array([Sk] * B if key_lengths is None else [int(n) for n in key_lengths], dtype=int)
    N = np.array([Sq] * B if query_lengths is None else [int(n) for n in query_lengths], dtype=int)
    start = L - N if causal_alignment == "bottom_right" else np.zeros(B, int)
    p = (np.arange(Sq) + start[:, None])[:, None, :, None]
    rows = np.broadcast_to((np.arange(Sq) < N[:, None])[:, None, :], (B, Hq, Sq))
    head = np.arange(Hq) // (Hq // Hkv) if Hkv else np.arange(0)
    whole = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, Sk))
    go = np.where(rows[..., None], grad_output, 0)
    extra = np.zeros((B, Hq, Sq), wide)
    if grad_logsumexp is not None:
        extra = np.where(rows, grad_logsumexp, 0).astype(wide)

    def part(j0, j1):
        j = np.arange(j0, j1)[None, None, None, :]
        keep = rows[..., None] & (j < L[:, None, None, None])
        if is_causal:
            keep = keep & (j <= p)
        if window is not None and window[0] is not None:
            keep = keep & (p - j <= window[0])
        if window is not None and window[1] is not None:
            keep = keep & (j - p <= window[1])
        s = np.matmul(query, key[:, head, j0:j1].swapaxes(-1, -2)) * scale
        slope = 1
        if softcap:
            curve = np.tanh(s / wide.type(softcap))
            slope, s = 1 - curve * curve, wide.type(softcap) * curve
        if alibi_slopes is not None:
            s = s - alibi_slopes.astype(wide)[:, None, None] * abs(p - j).astype(wide)
        if whole is not None:
            m = whole[..., j0:j1]
            if m.dtype == bool:
                keep = keep & m
            else:
                keep = keep & (m > -np.inf) | keep & np.isnan(m)
                s = s + m.astype(wide)
        return np.where(keep, s, -np.inf).astype(wide), slope, keep

    splits = [(j0, min(Sk, j0 + SPLIT)) for j0 in range(0, Sk, SPLIT)]
    with np.errstate(all="ignore"):
        # forward, split by split
        mixed = np.zeros((B, Hq, Sq, Ev), wide)
        total = np.full((B, Hq, Sq), -np.inf, wide)
        seen = np.zeros((B, Hq, Sq), bool)
        for j0, j1 in reversed(splits):
            s, slope, keep = part(j0, j1)
            seen |= keep.any(-1)
            top = s.max(-1)
            top = np.where(np.isneginf(top), 0, top)
            e = np.exp(s - top[..., None])
            some = e.sum(-1)
            own = times(e / np.where(some == 0, 1, some)[..., None], keep, value[:, head, j0:j1])
            mixed, total = merge(mixed, own, total, top + np.log(some))
        if sinks is not None:
            sink = np.broadcast_to(sinks.astype(wide)[:, None], (B, Hq, Sq))
            mixed, total = merge(mixed, np.zeros_like(mixed), total, sink)
        if output is not None:
            mixed = output.astype(wide)
        if logsumexp is not None:
            total = np.where(seen, logsumexp, total).astype(wide)
        delta = np.where(seen, (go * mixed).sum(-1), 0)
        lift = extra - delta
        anchor = np.where(seen, total, 0)[..., None]

        # backward, split by split
        dq = np.zeros(query.shape, wide)
        dk = np.zeros((B, Hq, Sk, E), wide)
        dv = np.zeros((B, Hq, Sk, Ev), wide)
        dm = np.zeros((B, Hq, Sq, Sk), wide)
        for j0, j1 in splits:
            s, slope, keep = part(j0, j1)
            w = np.where(keep, np.exp(s - anchor), 0)
            dl = np.where(keep, w * (np.matmul(go, value[:, head, j0:j1].swapaxes(-1, -2)) + lift[..., None]), 0)
            dm[..., j0:j1] = dl
            ds = np.where(keep, dl * slope, 0)
            dq += times(ds, keep, key[:, head, j0:j1])
            dk[:, :, j0:j1] = times(ds.swapaxes(-1, -2), keep.swapaxes(-1, -2), query)
            dv[:, :, j0:j1] = times(w.swapaxes(-1, -2), keep.swapaxes(-1, -2), go)
        dq, dk = dq * scale, dk * scale
    grad_key, grad_value = np.zeros(key.shape, wide), np.zeros(value.shape, wide)
    for h, g in enumerate(head):
        grad_key[:, g] += dk[:, h]
        grad_value[:, g] += dv[:, h]
    result = {"grad_query": dq, "grad_key": grad_key, "grad_value": grad_value, "delta": delta}
    if mask is not None and mask.dtype != bool:
        lead = dm.sum(tuple(range(4 - mask.ndim)))
        result["grad_mask"] = lead.sum(tuple(a for a in range(mask.ndim) if mask.shape[a] == 1), keepdims=True)
    if sinks is not None:
        with np.errstate(all="ignore"):
            share = np.where(seen, np.exp(sink - np.where(seen, total, 0)), 1)
            result["grad_sinks"] = np.where(rows, share * lift, 0).sum((0, 2))
    return {name: x.astype(kind) for name, x in result.items()}
