"""One query at a time, over the slice of keys from the first to the last that it may see."""
import math
import numpy as np


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError("rank 4 expected")
    nb, nh, nq, ne = query.shape
    _, ng, nk, _ = key.shape
    nv = value.shape[-1]
    if key.shape != (nb, ng, nk, ne) or value.shape != (nb, ng, nk, nv) or grad_output.shape != (nb, nh, nq, nv):
        raise ValueError("shapes")
    if (ng == 0 and nh) or (ng and nh % ng):
        raise ValueError("heads")
    if grad_logsumexp is not None and grad_logsumexp.shape != (nb, nh, nq):
        raise ValueError("gradient of the logsumexp")
    for lengths, limit in ((key_lengths, nk), (query_lengths, nq)):
        if lengths is not None and (np.shape(lengths) != (nb,) or any(x < 0 or x > limit for x in lengths)):
            raise ValueError("lengths")
    if mask is not None:
        if mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != nk:
            raise ValueError("mask")
        full_mask = np.broadcast_to(mask, (nb, nh, nq, nk))
    real = np.float64 if query.dtype == np.float64 else np.float32
    factor = real(1.0 / math.sqrt(ne) if scale is None else scale)
    gq = np.zeros((nb, nh, nq, ne), real)
    gk = np.zeros((nb, ng, nk, ne), real)
    gv = np.zeros((nb, ng, nk, nv), real)
    additive = mask is not None and mask.dtype != bool
    gm = np.zeros((nb, nh, nq, nk), real) if additive else None
    gs = np.zeros(nh, real)

    with np.errstate(all="ignore"):
        for b in range(nb):
            keys = nk if key_lengths is None else int(key_lengths[b])
            rows = nq if query_lengths is None else int(query_lengths[b])
            first = keys - rows if causal_alignment == "bottom_right" else 0
            for h in range(nh):
                g = h * ng // nh
                K, V = key[b, g].astype(real), value[b, g].astype(real)
                for i in range(rows):
                    at = first + i
                    lo, hi = 0, keys
                    if is_causal:
                        hi = min(hi, at + 1)
                    if window is not None:
                        if window[0] is not None:
                            lo = max(lo, at - window[0])
                        if window[1] is not None:
                            hi = min(hi, max(at + window[1] + 1, 0))
                    seen = np.arange(keys)[lo:hi]
                    if mask is not None:
                        row = full_mask[b, h, i, seen]
                        keep = row if not additive else row != -np.inf
                        seen, row = seen[keep], row[keep]
                    glse = real(0) if grad_logsumexp is None else real(grad_logsumexp[b, h, i])
                    if len(seen) == 0:
                        gs[h] += glse
                        continue
                    q, do = query[b, h, i].astype(real), grad_output[b, h, i].astype(real)
                    s = factor * (K[seen] @ q)
                    z, bend = s, real(1)
                    if softcap:
                        u = np.tanh(s / real(softcap))
                        z, bend = u * real(softcap), (1 - u) * (1 + u)
                    if alibi_slopes is not None:
                        z = z - real(alibi_slopes[h]) * abs(at - seen).astype(real)
                    if additive:
                        z = z + row.astype(real)
                    top = z.max()
                    if sinks is not None:
                        top = max(top, real(sinks[h])) if top == top else top
                    ex = np.exp(z - top)
                    total = ex.sum()
                    if sinks is not None:
                        rest = np.exp(real(sinks[h]) - top)
                        total = total + rest
                    w = ex / total
                    dw = V[seen] @ do
                    delta = w @ dw
                    dz = w * (dw - delta + glse)
                    dsc = dz * bend * factor
                    gv[b, g, seen] += w[:, None] * do
                    gq[b, h, i] = dsc @ K[seen]
                    gk[b, g, seen] += dsc[:, None] * q
                    if additive:
                        gm[b, h, i, seen] = dz
                    if sinks is not None:
                        gs[h] += rest / total * (glse - delta)
    out = {"grad_query": gq, "grad_key": gk, "grad_value": gv}
    if additive:
        while gm.ndim > mask.ndim:
            gm = gm.sum(axis=0)
        out["grad_mask"] = gm.sum(axis=tuple(a for a in range(mask.ndim) if mask.shape[a] == 1), keepdims=True)
    if sinks is not None:
        out["grad_sinks"] = gs
    return {name: x.astype(query.dtype) for name, x in out.items()}
