"""No delta: w_j (a_j - sum w_k a_k) is w_j (sum w_k (a_j - a_k) + share of the sink times a_j). Keys in any order, merged by sigmoid."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x)) if x >= 0 else np.exp(x) / (1 + np.exp(x))


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError
    nb, nh, nq, ne = query.shape
    _, ng, nk, _ = key.shape
    nv = value.shape[-1]
    if key.shape != (nb, ng, nk, ne) or value.shape != (nb, ng, nk, nv) or grad_output.shape != (nb, nh, nq, nv):
        raise ValueError
    if (ng == 0 and nh) or (ng and nh % ng):
        raise ValueError
    if grad_logsumexp is not None and grad_logsumexp.shape != (nb, nh, nq):
        raise ValueError
    for lengths, limit in ((key_lengths, nk), (query_lengths, nq)):
        if lengths is not None and (np.shape(lengths) != (nb,) or any(x < 0 or x > limit for x in lengths)):
            raise ValueError
    if mask is not None:
        if mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != nk:
            raise ValueError
        whole = np.broadcast_to(mask, (nb, nh, nq, nk))
    soft = mask is not None and mask.dtype != bool
    real = np.float64 if query.dtype == np.float64 else np.float32
    c = real(1 / np.sqrt(real(ne)) if scale is None else scale)
    gq, gk, gv = np.zeros(query.shape, real), np.zeros(key.shape, real), np.zeros(value.shape, real)
    gs = np.zeros(nh, real)
    gm = np.zeros(mask.shape, real) if soft else None
    delta_out = np.zeros((nb, nh, nq), real)
    r = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        for b in range(nb):
            L = nk if key_lengths is None else int(key_lengths[b])
            N = nq if query_lengths is None else int(query_lengths[b])
            for h in range(nh):
                g = h // (nh // ng)
                for i in r.permutation(N):
                    p = i + (L - N if causal_alignment == "bottom_right" else 0)
                    lo, hi = 0, L
                    if is_causal:
                        hi = min(hi, p + 1)
                    if window is not None and window[0] is not None:
                        lo = max(lo, p - window[0])
                    if window is not None and window[1] is not None:
                        hi = min(hi, p + window[1] + 1)
                    js = [j for j in range(lo, hi) if mask is None or (whole[b, h, i, j] != -np.inf if soft else whole[b, h, i, j])]
                    js = r.permutation(np.array(js, int))
                    glse = real(0 if grad_logsumexp is None else grad_logsumexp[b, h, i])
                    if len(js) == 0:
                        gs[h] += glse
                        continue
                    q, do = query[b, h, i].astype(real), grad_output[b, h, i].astype(real)
                    k, v = key[b, g, js].astype(real), value[b, g, js].astype(real)
                    s = (k * c) @ q
                    x = s
                    if softcap:
                        x = np.tanh(s / real(softcap)) * real(softcap)
                    if alibi_slopes is not None:
                        x = x - real(alibi_slopes[h]) * np.abs(p - js).astype(real)
                    if soft:
                        x = x + whole[b, h, i, js].astype(real)
                    # weights: one key after another joins, each taking its share from those before
                    lse, w = x[0], np.ones(len(js), real)
                    for n in range(1, len(js)):
                        new = real(sigmoid(x[n] - lse))
                        w[:n] *= real(sigmoid(lse - x[n]))
                        w[n] = new
                        lse = np.logaddexp(lse, x[n])
                    rest = real(0)
                    if sinks is not None:
                        rest = real(sigmoid(real(sinks[h]) - lse))
                        w = w * real(sigmoid(lse - real(sinks[h])))
                    a = v @ do
                    above = ((a[:, None] - a[None]) * w).sum(1) + (rest * a if sinks is not None else 0)
                    dx = w * (above + glse)
                    ds = dx if not softcap else dx * (1 - np.tanh(s / real(softcap)) ** 2)
                    gq[b, h, i] = c * (ds @ k)
                    gk[b, g, js] += c * np.outer(ds, q)
                    gv[b, g, js] += np.outer(w, do)
                    if sinks is not None:
                        gs[h] += rest * (glse - w @ a)
                    delta_out[b, h, i] = w @ a
                    if soft:
                        for j, d in zip(js, dx):
                            gm[tuple(0 if size == 1 else at for at, size in zip((b, h, i, j)[4 - mask.ndim:], mask.shape))] += d
    out = {"grad_query": gq, "grad_key": gk, "grad_value": gv, "delta": delta_out}
    if soft:
        out["grad_mask"] = gm
    if sinks is not None:
        out["grad_sinks"] = gs
    return {name: x.astype(query.dtype) for name, x in out.items()}
