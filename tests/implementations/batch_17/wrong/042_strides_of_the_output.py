"""In the manner of a kernel launcher: batch and heads as one grid axis, flat outputs that each program writes into."""
import numpy as np


def launch(x, heads):
    """(B, H, S, D) as (B * H, S, D)"""
    x = np.ascontiguousarray(x)
    return x.reshape((x.shape[0] * heads,) + x.shape[2:])


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    if not (query.ndim == 4 and key.ndim == 4 and value.ndim == 4):
        raise TypeError("expected four axes")
    nbatch, nheads, nq, width = query.shape
    nkv, nk = key.shape[1:3]
    vwidth = value.shape[-1]
    expect = {"key": (nbatch, nkv, nk, width), "value": (nbatch, nkv, nk, vwidth), "grad_output": (nbatch, nheads, nq, vwidth)}
    for name, x in (("key", key), ("value", value), ("grad_output", grad_output)):
        if x.shape != expect[name]:
            raise TypeError("wrong shape of " + name)
    if nheads and (nkv == 0 or nheads % nkv):
        raise TypeError("wrong number of heads")
    if grad_logsumexp is not None and grad_logsumexp.shape != (nbatch, nheads, nq):
        raise TypeError("wrong shape of grad_logsumexp")
    if mask is not None and (mask.ndim not in (2, 3, 4) or mask.shape[-1] != nk):
        raise TypeError("wrong shape of mask")
    for n, most in ((key_lengths, nk), (query_lengths, nq)):
        if n is not None:
            n = np.asarray(n)
            if n.shape != (nbatch,) or ((n < 0) | (n > most)).any():
                raise TypeError("wrong lengths")
    f = np.float64 if query.dtype == np.float64 else np.float32
    sm = f(width ** -0.5) if scale is None else f(scale)
    group = nheads // max(nkv, 1)
    fq, fk, fv, fdo = launch(query, nheads), launch(key, nkv), launch(value, nkv), launch(grad_output, nheads)
    fo = None if output is None else launch(output, nheads)
    fl = None if logsumexp is None else launch(logsumexp, nheads)
    fg = None if grad_logsumexp is None else launch(grad_logsumexp, nheads)
    fm = None if mask is None else launch(np.broadcast_to(mask, (nbatch, nheads, nq, nk)), nheads)
    floats = mask is not None and mask.dtype != bool
    gq = np.zeros((nbatch, nheads, nq, width), f)
    gk = np.zeros((nbatch, nkv, nk, width), f)
    gv = np.zeros((nbatch, nkv, nk, vwidth), f)
    gm = np.zeros((nbatch * nheads, nq, nk), f)
    gs = np.zeros((nbatch, nheads), f)
    flat_q, flat_k = gq.reshape(nbatch * nheads, nq, width), gk.reshape(nbatch * nkv, nk, width)
    flat_v = gv.reshape(nbatch * nkv, nk, vwidth)

    if output is not None:
        axes = sorted(range(4), key=lambda a: -abs(output.strides[a]))
        like = grad_output.ravel("K").reshape([output.shape[a] for a in axes]).transpose(np.argsort(axes))
        flat_do = launch(like, nheads)

    def program(pid):
        b, h = divmod(pid, nheads)
        kid = b * nkv + h // group
        n = nq if query_lengths is None else int(query_lengths[b])
        l = nk if key_lengths is None else int(key_lengths[b])
        shift = l - n if causal_alignment == "bottom_right" else 0
        q, k, v, do = fq[pid, :n].astype(f), fk[kid, :l].astype(f), fv[kid, :l].astype(f), fdo[pid, :n].astype(f)
        rows, cols = np.ogrid[:n, :l]
        gap = rows + shift - cols
        may = gap >= 0 if is_causal else np.ones((n, l), bool)
        for side, sign in zip(window if window is not None else (), (1, -1)):
            if side is not None:
                may = may & (sign * gap <= side)
        x = q @ k.T * sm
        bend = None
        if softcap:
            x = np.tanh(x / f(softcap))
            bend = 1 - x * x
            x = x * f(softcap)
        if alibi_slopes is not None:
            x = x - f(alibi_slopes[h]) * abs(gap).astype(f)
        if mask is not None:
            part = fm[pid, :n, :l]
            if floats:
                may = may & (part != -np.inf)
                x = x + part.astype(f)
            else:
                may = may & part
        x = np.where(may, x, -np.inf)
        if fl is not None:
            lse = fl[pid, :n].astype(f)
        else:
            cat = x if sinks is None else np.hstack([x, np.full((n, 1), f(sinks[h]))])
            top = cat.max(1, initial=-np.inf)
            top[np.isneginf(top)] = 0
            lse = np.log(np.exp(cat - top[:, None]).sum(1)) + top
        p = np.where(may, np.exp(x - lse[:, None]), 0)
        dp = np.where(may, do @ v.T, 0)
        if fo is not None:
            delta = (flat_do[pid, :n].astype(f) * fo[pid, :n].astype(f)).sum(1)
            delta = np.where(may.any(1), delta, 0)
        else:
            delta = np.einsum("ij,ij->i", p, dp)
        rest = -delta if fg is None else fg[pid, :n].astype(f) - delta
        if sinks is not None:
            gs[b, h] = (np.exp(f(sinks[h]) - lse) * rest).sum()
        ds = np.where(may, p * (dp + rest[:, None]), 0)
        gm[pid, :n, :l] = ds
        if bend is not None:
            ds = np.where(may, ds * bend, 0)
        ds = ds * sm
        for j in range(l):
            at = may[:, j]
            if at.any():
                flat_q[pid, :n][at] += ds[at, j][:, None] * k[j]
                flat_k[kid, j] += ds[at, j] @ q[at]
                flat_v[kid, j] += p[at, j] @ do[at]

    with np.errstate(all="ignore"):
        for pid in range(nbatch * nheads):
            program(pid)
    out = [gq, gk, gv]
    if floats:
        gm = gm.reshape(nbatch, nheads, nq, nk).sum(tuple(range(4 - mask.ndim)))
        out.append(gm.sum(tuple(a for a, w in enumerate(mask.shape) if w == 1), keepdims=True))
    if sinks is not None:
        out.append(gs.sum(0))
    return tuple(x.astype(query.dtype) for x in out)
