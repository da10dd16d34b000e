"""Key heads and their query heads as two axes; everything by einsum at once."""
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


def total_of(path, a, b, spec, ok):
    """einsum of a, which is 0 where not ok, and b, which may hold anything where not ok"""
    if np.isfinite(a).all() and np.isfinite(b).all():
        return np.einsum(path, a, b)
    if spec == "keys":
        return np.where(ok[..., None], a[..., None] * b[:, :, None, None], 0).sum(4)
    return np.where(ok[..., None], a[..., None] * b[:, :, :, :, None], 0).sum((2, 3))


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None,
                                          mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None,
                                          is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                          window=None):
    check(grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths)
    old = np.seterr(all="ignore")
    try:
        return compute(**locals_of(locals()))
    finally:
        np.seterr(**old)


def locals_of(d):
    return {k: v for k, v in d.items() if k != "old"}


def compute(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths, sinks,
            alibi_slopes, is_causal, causal_alignment, scale, softcap, window):
    dt = np.promote_types(query.dtype, np.float32) if query.dtype.itemsize >= 4 else np.dtype("float32")
    if query.dtype == np.float32:
        dt = np.dtype("float32")
    B, H, S, E = query.shape
    G, T = key.shape[1:3]
    R = H // G
    Ev = value.shape[3]
    q = query.astype(dt).reshape(B, G, R, S, E)
    do = grad_output.astype(dt).reshape(B, G, R, S, Ev)
    k, v = key.astype(dt), value.astype(dt)
    factor = dt.type(E ** -0.5) if scale is None else dt.type(scale)
    L = np.full(B, T) if key_lengths is None else np.array(key_lengths, dtype=int)
    N = np.full(B, S) if query_lengths is None else np.array(query_lengths, dtype=int)
    L5, N5 = L.reshape(B, 1, 1, 1, 1), N.reshape(B, 1, 1, 1, 1)
    qi = np.arange(S).reshape(S, 1)
    kj = np.arange(T)
    pos = qi + (L5 - N5) * (causal_alignment == "bottom_right")
    ok = (kj < L5) & (qi < N5)
    if is_causal:
        ok = ok & (kj <= pos)
    left, right = (None, None) if window is None else window
    if left is not None:
        ok = ok & (pos - kj <= left)
    if right is not None:
        ok = ok & (kj - pos <= right)
    bias = None
    if mask is not None:
        m5 = np.broadcast_to(mask, (B, H, S, T)).reshape(B, G, R, S, T)
        if mask.dtype == bool:
            ok = ok & m5
        else:
            bias = m5.astype(dt)
            ok = ok & (bias != -np.inf)
    ok = np.broadcast_to(ok, (B, G, R, S, T))
    scores = factor * np.einsum("bgrie,bgje->bgrij", q, k)
    logits = scores
    if softcap:
        t = np.tanh(scores / dt.type(softcap))
        logits = dt.type(softcap) * t
    if alibi_slopes is not None:
        logits = logits - alibi_slopes.astype(dt).reshape(G, R, 1, 1) * abs(pos - kj).astype(dt)
    if bias is not None:
        logits = logits + bias
    known = np.where(np.isnan(logits) & ~ok, -np.inf, logits)
    logits = np.where(ok, logits, -np.inf)
    top = known.max(axis=-1, keepdims=True, initial=-np.inf)
    top = np.where(np.isposinf(top), logits.max(axis=-1, keepdims=True, initial=-np.inf), top)
    if sinks is not None:
        sink = sinks.astype(dt).reshape(G, R, 1, 1)
        top = np.maximum(top, sink)
    top = np.where(np.isneginf(top), dt.type(0), top)
    up = np.where(ok, np.exp(logits - top), 0)
    below = up.sum(-1, keepdims=True)
    if sinks is not None:
        below = below + np.exp(sink - top)
    below = np.where(below == 0, dt.type(1), below)
    w = up / below
    gw = np.where(ok, np.einsum("bgrie,bgje->bgrij", do, v), 0)
    delta = np.einsum("bgrij,bgrij->bgri", w, gw)
    inner = gw - delta[..., None]
    if grad_logsumexp is not None:
        glse = grad_logsumexp.astype(dt).reshape(B, G, R, S)
        inner = inner + glse[..., None]
    gx = np.where(ok, w * inner, 0)
    gsc = gx
    if softcap:
        gsc = np.where(ok, gx * (1 - t ** 2), 0)
    gq = factor * total_of("bgrij,bgje->bgrie", gsc, k, "keys", ok)
    gk = factor * total_of("bgrij,bgrie->bgje", gsc, q, "queries", ok)
    gv = total_of("bgrij,bgrie->bgje", w, do, "queries", ok)
    home = query.dtype
    out = {"grad_query": gq.reshape(query.shape).astype(home), "grad_key": gk.astype(home), "grad_value": gv.astype(home)}
    if bias is not None:
        g = gx.reshape(B, H, S, T)
        while g.ndim > mask.ndim:
            g = g.sum(0)
        for ax in range(mask.ndim):
            if mask.shape[ax] == 1:
                g = g.sum(ax, keepdims=True)
        out["grad_mask"] = g.astype(dt)
    if sinks is not None:
        push = -delta if grad_logsumexp is None else glse - delta
        part = np.where((qi < N5)[..., 0], (np.exp(sink - top) / below)[..., 0] * push, 0)
        out["grad_sinks"] = part.sum((0, 3)).reshape(H)
    out["delta"] = delta.reshape(B, H, S)
    return out
