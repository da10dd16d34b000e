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


def contract(letters, a, x, keep):
    """einsum of a masked factor and another, in which excluded pairs count as nothing whatever they hold"""
    if np.isfinite(x).all() and np.isfinite(a).all():
        return np.einsum(letters, a, x, optimize=True)
    left, out = letters.split("->")
    one, two = left.split(",")
    every = "bhgqk" + two[-1]
    wide = np.where(keep[..., None], a[..., None] * np.moveaxis(spread(x, two, every), 0, 0), 0)
    return np.einsum(every + "->" + out, wide)


def spread(x, letters, every):
    shape = [x.shape[letters.index(c)] if c in letters else 1 for c in every]
    return x.reshape(shape)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    G = Hq // Hkv if Hkv else 1
    dt = query.dtype
    wt = np.dtype("f4") if dt.itemsize < 4 else dt
    alpha = wt.type(1.0 / np.sqrt(E)) if scale is None else wt.type(scale)

    def by_group(x):
        return None if x is None else x.astype(wt).reshape(B, Hkv, G, *x.shape[2:])

    q, go, out, lse, glse = (by_group(x) for x in (query, grad_output, output, logsumexp, grad_logsumexp))
    k, v = key.astype(wt), value.astype(wt)

    # which pairs there are
    n = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths, dtype=int)
    l = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths, dtype=int)
    at = np.arange(Sq)[None] + ((l - n)[:, None] if causal_alignment == "bottom_right" else np.zeros((B, 1), int))
    gap = np.arange(Sk)[None, None] - at[:, :, None]
    keep = (np.arange(Sq)[None, :, None] < n[:, None, None]) & (np.arange(Sk)[None, None] < l[:, None, None])
    left, right = window if window is not None else (None, None)
    if right is None and is_causal:
        right = 0
    if left is not None:
        keep = keep & (gap >= -left)
    if right is not None:
        keep = keep & (gap <= right)
    keep = np.broadcast_to(keep[:, None, None], (B, Hkv, G, Sq, Sk))
    bias = None
    if mask is not None:
        m = np.broadcast_to(mask, (B, Hq, Sq, Sk)).reshape(B, Hkv, G, Sq, Sk)
        if mask.dtype == bool:
            keep = keep & m
        else:
            keep = keep & ~(m == -np.inf)
            bias = m.astype(wt)
    seen = keep.any(-1)
    counted = np.broadcast_to((np.arange(Sq)[None] < n[:, None])[:, None, None], seen.shape)

    with np.errstate(all="ignore"):
        s = np.einsum("bhgqe,bhke->bhgqk", q, k, optimize=True) * alpha
        a = s
        if softcap:
            c = wt.type(softcap)
            a = c * np.tanh(s / c)
        tilt = None if not softcap else 1 - np.square(a / c)
        if alibi_slopes is not None:
            slope = alibi_slopes.astype(wt).reshape(Hkv, G)[None, :, :, None, None]
            a = a - slope * np.abs(gap).astype(wt)[:, None, None]
        if bias is not None:
            a = a + bias
        a = np.where(keep, a, wt.type(-np.inf))
        if lse is None:
            peak = np.max(a, axis=-1, initial=-np.inf)
            if sinks is not None:
                peak = np.maximum(peak, sinks.astype(wt).reshape(Hkv, G)[None, :, :, None])
            peak = np.where(peak == -np.inf, 0, peak)
            z = np.exp(a - peak[..., None]).sum(-1)
            if sinks is not None:
                z = z + np.exp(sinks.astype(wt).reshape(Hkv, G)[None, :, :, None] - peak)
            lse = peak + np.log(z)
        w = np.where(keep, np.exp(a - np.where(seen, lse, 0)[..., None]), wt.type(0))
        go = np.where(seen[..., None], go, 0)
        gv = contract("bhgqk,bhgqe->bhke", w, go, keep)
        gw = np.where(keep, np.einsum("bhgqe,bhke->bhgqk", go, v, optimize=True), 0)
        if out is None:
            delta = np.einsum("bhgqk,bhgqk->bhgq", w, gw)
        else:
            delta = np.einsum("bhgqe,bhgqe->bhgq", go, np.where(seen[..., None], out, 0))
        lift = -delta
        if glse is not None:
            lift = np.where(counted, glse, 0) - delta
        ga = np.where(keep, w * (gw + lift[..., None]), 0)
        gs = ga if tilt is None else np.where(keep, ga * tilt, 0)
        gq = contract("bhgqk,bhke->bhgqe", gs, k, keep) * alpha
        gk = contract("bhgqk,bhgqe->bhke", gs, q, keep) * alpha
        result = {"grad_query": gq.reshape(query.shape), "grad_key": gk, "grad_value": gv}
        if bias is not None:
            full = ga.reshape(B, Hq, Sq, Sk)
            shape = (1,) * (4 - mask.ndim) + mask.shape
            axes = tuple(x for x in range(4) if shape[x] == 1)
            result["grad_mask"] = full.sum(axes, keepdims=True).reshape(mask.shape)
        if sinks is not None:
            share = np.where(seen, np.exp(sinks.astype(wt).reshape(Hkv, G)[None, :, :, None] - lse), 1)
            result["grad_sinks"] = np.where(counted, share * lift, 0).sum((0, 3)).reshape(Hq)
    result["delta"] = delta.reshape(B, Hq, Sq)
    result["grad_scores"] = gs.reshape(B, Hq, Sq, Sk)
    return {name: x.astype(dt) for name, x in result.items()}
