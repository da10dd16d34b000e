"""Two sweeps: an online softmax for the logsumexp, then tiles of keys outside and tiles of queries inside."""
import math
import numpy as np


TILE = 16


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


def product(a, x, ok):
    if np.isfinite(a).all() and np.isfinite(x).all():
        return a @ x
    return np.where(ok[:, :, None], a[:, :, None] * x[None], 0).sum(1).astype(a.dtype)


class Head:
    """what one head of one batch entry needs to make a tile of logits"""

    def __init__(self, q, k, s, cap, slope, bias, L, N, shift, causal, window):
        self.q, self.k, self.s, self.cap, self.slope, self.bias = q, k, s, cap, slope, bias
        self.L, self.N, self.shift, self.causal, self.window = L, N, shift, causal, window

    def tile(self, i0, i1, j0, j1):
        i = np.arange(i0, i1)[:, None]
        j = np.arange(j0, j1)[None, :]
        p = i + self.shift
        ok = (i < self.N) & (j < self.L)
        if self.causal:
            ok = ok & (j <= p)
        if self.window is not None:
            if self.window[0] is not None:
                ok = ok & (j >= p - self.window[0])
            if self.window[1] is not None:
                ok = ok & (j <= p + self.window[1])
        x = self.s * (self.q[i0:i1] @ self.k[j0:j1].T)
        slope = np.ones_like(x)
        if self.cap:
            t = np.tanh(x / self.cap)
            x = self.cap * t
            slope = 1 - t * t
        if self.slope is not None:
            x = x - self.slope * abs(p - j).astype(x.dtype)
        if self.bias is not None:
            piece = self.bias[i0:i1, j0:j1]
            if piece.dtype == bool:
                ok = ok & piece
            else:
                ok = ok & (piece != -np.inf)
                x = x + piece
        return np.where(ok, x, -np.inf), np.broadcast_to(ok, x.shape), slope


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None,
                                          mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None,
                                          is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                          window=None):
    check(grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths)
    home = query.dtype
    dt = np.dtype("float32") if home.itemsize < 4 else home
    B, H, S, E = query.shape
    G, T = key.shape[1:3]
    s = dt.type(1 / np.sqrt(E)) if scale is None else dt.type(scale)
    cap = dt.type(softcap) if softcap else None
    dq = np.zeros((B, H, S, E), dt)
    dk = np.zeros((B, G, T, E), dt)
    dv = np.zeros((B, G, T, value.shape[3]), dt)
    dbias = np.zeros((B, H, S, T), dt)
    dsink = np.zeros(H, dt)
    deltas = np.zeros((B, H, S), dt)
    floating = mask is not None and mask.dtype != bool
    if mask is not None:
        whole = np.broadcast_to(mask.astype(dt) if floating else mask, (B, H, S, T))
    with np.errstate(all="ignore"):
        for b in range(B):
            L = T if key_lengths is None else int(key_lengths[b])
            N = S if query_lengths is None else int(query_lengths[b])
            shift = L - N if causal_alignment == "bottom_right" else 0
            for h in range(H):
                g = h * G // H
                q, k, v = query[b, h].astype(dt), key[b, g].astype(dt), value[b, g].astype(dt)
                do = grad_output[b, h].astype(dt)
                gl = np.zeros(S, dt) if grad_logsumexp is None else grad_logsumexp[b, h].astype(dt)
                head = Head(q, k, s, cap, None if alibi_slopes is None else dt.type(alibi_slopes[h]),
                            None if mask is None else whole[b, h], L, N, shift, is_causal, window)
                sink = None if sinks is None else dt.type(sinks[h])
                for i0 in range(0, S, TILE):
                    i1 = min(i0 + TILE, S)
                    # sweep 1: running maximum, running sum, running sum of weight times gradient of weight
                    m = np.full(i1 - i0, -np.inf if sink is None else sink, dt)
                    l = np.full(i1 - i0, 0 if sink is None else 1, dt)
                    acc = np.zeros(i1 - i0, dt)
                    for j0 in range(0, T, TILE):
                        j1 = min(j0 + TILE, T)
                        x, ok, _ = head.tile(i0, i1, j0, j1)
                        new = np.maximum(m, x.max(1))
                        base = np.where(np.isneginf(new), dt.type(0), new)
                        e = np.where(ok, np.exp(x - base[:, None]), 0)
                        shrink = np.exp(m - base)
                        gw = np.where(ok, do[i0:i1] @ v[j0:j1].T, 0)
                        l = l * shrink + e.sum(1)
                        acc = acc * shrink + (e * gw).sum(1)
                        m = new
                    lse = np.where(l == 0, -np.inf, m + np.log(l))
                    dl = np.where(l == 0, 0, acc / np.where(l == 0, 1, l))
                    counts = np.arange(i0, i1) < N
                    deltas[b, h, i0:i1] = np.where(counts & (l != 0), dl - gl[i0:i1], 0)
                    if sink is not None:
                        dsink[h] += np.where(counts, np.exp(sink - lse) * (gl[i0:i1] - dl), 0).sum()
                    # sweep 2
                    for j0 in range(0, T, TILE):
                        j1 = min(j0 + TILE, T)
                        x, ok, slope = head.tile(i0, i1, j0, j1)
                        if not ok.any():
                            continue
                        w = np.where(ok, np.exp(x - lse[:, None]), 0)
                        gw = np.where(ok, do[i0:i1] @ v[j0:j1].T, 0)
                        gx = np.where(ok, w * (gw - (dl - gl[i0:i1])[:, None]), 0)
                        dbias[b, h, i0:i1, j0:j1] = gx
                        ds = np.where(ok, gx * slope, 0)
                        dv[b, g, j0:j1] += product(w.T, do[i0:i1], ok.T)
                        dk[b, g, j0:j1] += s * product(ds.T, q[i0:i1], ok.T)
                        dq[b, h, i0:i1] += s * product(ds, k[j0:j1], ok)
    out = {"grad_query": dq.astype(home), "grad_key": dk.astype(home), "grad_value": dv.astype(home)}
    if floating:
        shape = (1,) * (4 - mask.ndim) + mask.shape
        axes = tuple(a for a in range(4) if shape[a] == 1)
        out["grad_mask"] = dbias.sum(axes, keepdims=True).reshape(mask.shape)
    if sinks is not None:
        out["grad_sinks"] = dsink
    out["delta"] = deltas
    return out
