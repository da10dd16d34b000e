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


def pack(x, lengths):
    """(B, H, S, D) to (tokens that count, H, D), and where each sequence begins"""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    parts = [x[b, :, :n].swapaxes(0, 1) for b, n in enumerate(lengths)]
    flat = np.concatenate(parts) if parts else np.zeros((0, x.shape[1], x.shape[3]), x.dtype)
    return flat, starts


def unpack(flat, lengths, shape):
    out = np.zeros(shape, flat.dtype)
    begin = 0
    for b, n in enumerate(lengths):
        out[b, :, :n] = flat[begin:begin + n].swapaxes(0, 1)
        begin += n
    return out


def dot(a, keep, x):
    if np.isfinite(x).all():
        return a @ x
    return np.where(keep[:, :, None], a[:, :, None] * x[None, :, :], 0).sum(axis=1, dtype=a.dtype)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    R = Hq // Hkv if Hkv else 0
    f = np.float32 if query.dtype.itemsize < 8 else np.float64
    N = [Sq] * B if query_lengths is None else [int(n) for n in query_lengths]
    L = [Sk] * B if key_lengths is None else [int(n) for n in key_lengths]
    scale = f(1 / np.sqrt(E) if scale is None else scale)
    Q, cuq = pack(query.astype(f), N)
    DO, _ = pack(grad_output.astype(f), N)
    K, cuk = pack(key.astype(f), L)
    V, _ = pack(value.astype(f), L)
    O = None if output is None else pack(output.astype(f), N)[0]
    DQ, DK, DV = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
    mask4 = None if mask is None else mask[(None,) * (4 - mask.ndim)]
    dmask = None if mask is None or mask.dtype == bool else np.zeros(mask4.shape, f)
    dsink = np.zeros(Hq, np.float32)
    for b in range(B):
        qs, ks = slice(cuq[b], cuq[b + 1]), slice(cuk[b], cuk[b + 1])
        n, l = N[b], L[b]
        off = l - n if causal_alignment == "bottom_right" else 0
        gap = np.arange(l)[None, :] - (np.arange(n) + off)[:, None]
        near = np.ones((n, l), bool)
        if is_causal:
            near &= gap <= 0
        if window is not None:
            if window[0] is not None:
                near &= gap >= -window[0]
            if window[1] is not None:
                near &= gap <= window[1]
        for g in range(Hkv):
            heads = range(g * R, (g + 1) * R)
            with np.errstate(all="ignore"):
                stack = lambda x: np.concatenate([x[qs, h] for h in heads])
                line = lambda x: np.concatenate([x[b, h, :n].astype(f) for h in heads])
                q, do, k, v = stack(Q), stack(DO), K[ks, g], V[ks, g]
                keep = np.tile(near, (R, 1))
                s = q @ k.T * scale
                c, turn = s, f(1)
                if softcap:
                    t = np.tanh(s / f(softcap))
                    c, turn = f(softcap) * t, 1 - t * t
                if alibi_slopes is not None:
                    c = c - np.concatenate([f(alibi_slopes[h]) * np.abs(gap).astype(f) for h in heads])
                if mask is not None:
                    pick = [np.broadcast_to(mask4[b % mask4.shape[0], h % mask4.shape[1]], (Sq, Sk))[:n, :l] for h in heads]
                    m = np.concatenate(pick)
                    if m.dtype == bool:
                        keep &= m
                    else:
                        keep &= m != -np.inf
                        c = c + m.astype(f)
                c = np.where(keep, c, f(-np.inf))
                any_key = keep.any(1)
                top = c.max(1, initial=-np.inf)
                if sinks is not None:
                    sink = np.repeat(sinks[g * R:(g + 1) * R].astype(f), n)
                    top = np.maximum(top, sink)
                top[np.isneginf(top)] = 0
                e = np.exp(c - top[:, None])
                z = e.sum(1)
                if sinks is not None:
                    z = z + np.exp(sink - top)
                w = np.where(keep, e / np.where(z == 0, 1, z)[:, None], 0)
                dw = np.where(keep, do @ v.T, 0)
                delta = (w * dw).sum(1) if O is None else np.where(any_key, (do * stack(O)).sum(1), 0)
                lift = -delta if grad_logsumexp is None else line(grad_logsumexp) - delta
                dc = np.where(keep, w * (dw + lift[:, None]), 0)
                ds = np.where(keep, dc * turn, 0) * scale
                DV[ks, g] = dot(w.T, keep.T, do)
                DK[ks, g] = dot(ds.T, keep.T, q)
                dq = dot(ds, keep, k)
                if sinks is not None:
                    dsink[g * R:(g + 1) * R] += (np.exp(sink - top) / z * lift).reshape(R, n).sum(1)
            for r, h in enumerate(heads):
                DQ[qs, h] = dq[r * n:(r + 1) * n]
                if dmask is not None:
                    own = dc[r * n:(r + 1) * n]
                    spot = dmask[b % mask4.shape[0], h % mask4.shape[1]]
                    if spot.shape[0] == 1:
                        spot[0, :l] += own.sum(0)
                    else:
                        spot[:n, :l] += own
    result = {"grad_query": unpack(DQ, N, query.shape), "grad_key": unpack(DK, L, key.shape),
              "grad_value": unpack(DV, L, value.shape)}
    if dmask is not None:
        result["grad_mask"] = dmask.reshape(mask.shape)
    if sinks is not None:
        result["grad_sinks"] = dsink
    return {name: x.astype(query.dtype) for name, x in result.items()}
