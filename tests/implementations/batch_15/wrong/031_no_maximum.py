"""One query at a time: gather the keys it may attend to, and scatter what it gives."""
import math
import numpy as np


def check(go, q, k, v, gl, mask, kl, ql):
    if not (q.ndim == k.ndim == v.ndim == 4):
        raise ValueError("query, key and value have four axes")
    B, H, S, E = q.shape
    G, T = k.shape[1], k.shape[2]
    if k.shape[3] != E:
        raise ValueError("query and key differ in width")
    if k.shape[0] != B or v.shape[0] != B:
        raise ValueError("batch sizes differ")
    if v.shape[1] != G or G == 0 or H % G != 0:
        raise ValueError("heads do not fit")
    if v.shape[2] != T:
        raise ValueError("key and value differ in length")
    for n, most in ((kl, T), (ql, S)):
        if n is not None and (np.shape(n) != (B,) or any(int(x) < 0 or int(x) > most for x in n)):
            raise ValueError("lengths do not fit")
    if mask is not None:
        if mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != T:
            raise ValueError("mask does not fit")
        if np.broadcast_shapes(mask.shape, (B, H, S, T)) != (B, H, S, T):
            raise ValueError("mask does not broadcast")
    if go.shape != (B, H, S, v.shape[3]):
        raise ValueError("grad_output has another shape than the output")
    if gl is not None and gl.shape != (B, H, S):
        raise ValueError("grad_logsumexp has another shape")


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None,
                                          mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None,
                                          is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                          window=None):
    check(grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths)
    home = query.dtype
    dt = np.dtype("float32") if home.itemsize < 4 else home
    B, H, S, E = query.shape
    G, T = key.shape[1:3]
    group = H // G
    q, k, v, do = (x.astype(dt) for x in (query, key, value, grad_output))
    s = dt.type(1 / math.sqrt(E) if scale is None else scale)
    gq = np.zeros(query.shape, dt)
    gk = np.zeros(key.shape, dt)
    gv = np.zeros(value.shape, dt)
    floating = mask is not None and mask.dtype != bool
    gm = np.zeros(mask.shape, dt) if floating else None
    full = np.broadcast_to(mask.astype(dt) if floating else mask, (B, H, S, T)) if mask is not None else None
    gm_full = np.zeros((B, H, S, T), dt) if floating else None
    gs = np.zeros(H, dt) if sinks is not None else None
    delta = np.zeros((B, H, S), dt)
    gscores = np.zeros((B, H, S, T), dt)
    for b in range(B):
        L = T if key_lengths is None else int(key_lengths[b])
        N = S if query_lengths is None else int(query_lengths[b])
        shift = L - N if causal_alignment == "bottom_right" else 0
        for h in range(H):
            g = h // group
            for i in range(N):
                p = i + shift
                low, high = 0, L
                if is_causal:
                    high = min(high, p + 1)
                if window is not None:
                    left, right = window
                    if left is not None:
                        low = max(low, p - left)
                    if right is not None:
                        high = min(high, p + right + 1)
                js = np.arange(low, max(low, high))
                if full is not None:
                    js = js[full[b, h, i, js] != -np.inf] if floating else js[full[b, h, i, js]]
                glse = dt.type(0) if grad_logsumexp is None else dt.type(grad_logsumexp[b, h, i])
                if len(js) == 0:
                    if sinks is not None:
                        gs[h] += glse
                    continue
                score = s * (k[b, g, js] @ q[b, h, i])
                x = score
                slope_of_cap = dt.type(1)
                if softcap:
                    t = np.tanh(score / dt.type(softcap))
                    x = dt.type(softcap) * t
                    slope_of_cap = 1 - t * t
                if alibi_slopes is not None:
                    x = x - dt.type(alibi_slopes[h]) * np.abs(p - js).astype(dt)
                if floating:
                    x = x + full[b, h, i, js]
                top = dt.type(0)
                e = np.exp(x - top)
                total = e.sum()
                if sinks is not None:
                    share = np.exp(dt.type(sinks[h]) - top)
                    total = total + share
                w = e / total
                gw = v[b, g, js] @ do[b, h, i]
                d = (w * gw).sum()
                gx = w * (gw - d + glse)
                gscore = gx * slope_of_cap
                delta[b, h, i] = d
                gscores[b, h, i, js] = gscore
                if floating:
                    gm_full[b, h, i, js] = gx
                if sinks is not None:
                    gs[h] += share / total * (glse - d)
                gq[b, h, i] = s * (gscore @ k[b, g, js])
                gk[b, g, js] += s * np.outer(gscore, q[b, h, i])
                gv[b, g, js] += np.outer(w, do[b, h, i])
    out = [gq.astype(home), gk.astype(home), gv.astype(home)]
    if floating:
        lead = gm_full.ndim - mask.ndim
        gm_full = gm_full.sum(tuple(range(lead)))
        gm = gm_full.sum(tuple(a for a in range(mask.ndim) if mask.shape[a] == 1), keepdims=True)
        out.append(gm)
    if sinks is not None:
        out.append(gs)
    return tuple(out + [delta, gscores])
