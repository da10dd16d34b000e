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


def segments(x, start, total):
    """sums of runs of x; a run without elements has the sum 0"""
    out = np.zeros(total, x.dtype)
    for n in range(total):
        out[n] = x[start[n]:start[n + 1]].sum()
    return out


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    wide = np.result_type(query.dtype, np.float32)
    cast = lambda x: np.ascontiguousarray(x, dtype=wide)
    scale = wide.type(scale if scale is not None else 1 / np.sqrt(E))
    group = Hq // max(Hkv, 1)
    n = np.repeat(Sq, B) if query_lengths is None else np.asarray(query_lengths).astype(int)
    l = np.repeat(Sk, B) if key_lengths is None else np.asarray(key_lengths).astype(int)

    # the pairs, rows in order
    b, h, i, j = np.indices((B, Hq, Sq, Sk), sparse=True)
    p = i + ((l - n)[b] if causal_alignment == "bottom_right" else 0)
    keep = np.ones((B, Hq, Sq, Sk), bool) & (i < n[b]) & (j < l[b])
    if is_causal:
        keep &= p >= j.astype(np.int16)
    if window is not None:
        before, after = window
        if before is not None:
            keep &= p - j <= before
        if after is not None:
            keep &= j - p <= after
    if mask is not None:
        keep &= mask if mask.dtype == bool else ~np.isneginf(mask)
    pb, ph, pi, pj = np.nonzero(keep)
    pg = ph // group
    row = (pb * Hq + ph) * Sq + pi
    count = B * Hq * Sq
    start = np.searchsorted(row, np.arange(count + 1))
    at = pi + ((l - n)[pb] if causal_alignment == "bottom_right" else 0)

    q, k, v, go = cast(query), cast(key), cast(value), cast(grad_output)
    with np.errstate(all="ignore"):
        s = (q[pb, ph, pi] * k[pb, pg, pj]).sum(-1) * scale
        a, bend = s, wide.type(1)
        if softcap:
            t = np.tanh(s / wide.type(softcap))
            a, bend = t * wide.type(softcap), 1 - t ** 2
        if alibi_slopes is not None:
            a = a - alibi_slopes.astype(wide)[ph] * np.abs(at - pj).astype(wide)
        if mask is not None and mask.dtype != bool:
            a = a + np.broadcast_to(mask, keep.shape)[pb, ph, pi, pj].astype(wide)
        top = np.full(count, -np.inf, wide)
        np.maximum.at(top, row, a)
        if sinks is not None:
            sink = np.broadcast_to(sinks.astype(wide)[:, None], (B, Hq, Sq)).reshape(count)
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0, top)
        total = segments(np.exp(a - top[row]), start, count)
        if sinks is not None:
            total = total + np.exp(sink - top)
        log = top + np.log(total)
        live = start[1:] > start[:-1]
        if logsumexp is not None:
            log = np.where(live, logsumexp.reshape(count), log)
        w = np.exp(a - log[row]).astype(wide)
        gw = (go[pb, ph, pi] * v[pb, pg, pj]).sum(-1)
        delta = segments(w * gw, start, count)
        if output is not None:
            delta = np.where(live, (go * cast(output)).sum(-1).reshape(count), 0)
        lift = -delta
        if grad_logsumexp is not None:
            lift = cast(grad_logsumexp).reshape(count) - delta
        ga = w * (gw + lift[row])
        gs = ga * bend
        gq, gk, gv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        np.add.at(gq, (pb, ph, pi), (gs * scale)[:, None] * k[pb, pg, pj])
        np.add.at(gk, (pb, pg, pj), (gs * scale)[:, None] * q[pb, ph, pi])
        np.add.at(gv, (pb, pg, pj), w[:, None] * go[pb, ph, pi])
        result = [gq, gk, gv]
        if mask is not None and mask.dtype != bool:
            gm = np.zeros((1,) * (4 - mask.ndim) + mask.shape, wide)
            where = tuple(x if size > 1 else 0 * x for x, size in zip((pb, ph, pi, pj), gm.shape))
            np.add.at(gm, where, ga)
            result.append(gm.reshape(mask.shape))
        if sinks is not None:
            share = np.exp(sink - log)
            rows = np.broadcast_to(np.arange(Sq) < n[:, None, None], (B, Hq, Sq)).reshape(count)
            gone = np.where(rows, np.where(live, share, 1) * lift, 0)
            result.append(gone.reshape(B, Hq, Sq).sum((0, 2)))
    return tuple(x.astype(query.dtype) for x in result)
