"""Right implementations from the pages, and helpers that several modules share."""
from types import SimpleNamespace

import ml_dtypes
import numpy as np

ALL = ("float64", "float32", "bfloat16", "float16")


def wide(dtype):
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


def refuse(condition, message):
    if condition:
        raise ValueError(message)


def check(p):
    q, k, v = p.query, p.key, p.value
    refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "rank")
    refuse(q.shape[3] != k.shape[3], "width")
    refuse(not q.shape[0] == k.shape[0] == v.shape[0], "batch")
    refuse(k.shape[1] != v.shape[1], "heads of key and value")
    hq, hkv = q.shape[1], k.shape[1]
    refuse(hq % hkv if hkv else hq, "groups")
    refuse(k.shape[2] != v.shape[2], "tokens")
    b, sq, sk = q.shape[0], q.shape[2], k.shape[2]
    for lengths, most in ((p.key_lengths, sk), (p.query_lengths, sq)):
        if lengths is not None:
            n = np.asarray(lengths)
            refuse(n.shape != (b,), "lengths for another batch")
            refuse(bool((n < 0).any() or (n > most).any()), "length out of range")
    if p.mask is not None:
        s = p.mask.shape
        refuse(not 2 <= len(s) <= 4, "rank of the mask")
        refuse(s[-1] != sk, "mask for another number of keys")
        full = (b, hq, sq, sk)
        refuse(any(n not in (1, f) for n, f in zip(s[::-1], full[::-1])), "shape of the mask")
    refuse(p.grad_output.shape != (b, hq, sq, v.shape[3]), "shape of grad_output")
    if p.grad_logsumexp is not None:
        refuse(p.grad_logsumexp.shape != (b, hq, sq), "shape of grad_logsumexp")


def place(p):
    """Lengths, positions (B, Sq), and what may be attended (B, Hq, Sq, Sk)."""
    p.B, p.Hq, p.Sq, p.E = p.query.shape
    p.Hkv, p.Sk, p.Ev = p.key.shape[1], p.key.shape[2], p.value.shape[3]
    p.rep = p.Hq // p.Hkv if p.Hkv else 1
    p.L = np.full(p.B, p.Sk) if p.key_lengths is None else np.asarray(p.key_lengths).astype(np.int64)
    p.N = np.full(p.B, p.Sq) if p.query_lengths is None else np.asarray(p.query_lengths).astype(np.int64)
    i, j = np.arange(p.Sq), np.arange(p.Sk)
    shift = p.L - p.N if p.causal_alignment == "bottom_right" else np.zeros(p.B, np.int64)
    p.shift = shift
    p.pos = i[None] + shift[:, None]
    ok = (j[None, None] < p.L[:, None, None]) & (i[None, :, None] < p.N[:, None, None])
    if p.is_causal:
        ok = ok & (j <= p.pos[..., None])
    if p.window is not None:
        left, right = p.window
        if left is not None:
            ok = ok & (j >= p.pos[..., None] - left)
        if right is not None:
            ok = ok & (j <= p.pos[..., None] + right)
    p.ok = ok  # (B, Sq, Sk)
    allow = np.broadcast_to(ok[:, None], (p.B, p.Hq, p.Sq, p.Sk))
    p.boolean = p.mask is not None and p.mask.dtype == np.bool_
    if p.mask is not None:
        m = p.mask if p.boolean else ~np.isneginf(p.mask.astype(np.float64))
        allow = allow & m
    p.allow = allow


def prepare(compute=None, **given):
    p = SimpleNamespace(**given)
    for name in ("grad_output", "query", "key", "value", "mask", "grad_logsumexp", "sinks", "alibi_slopes"):
        if getattr(p, name) is not None:
            setattr(p, name, np.asarray(getattr(p, name)))
    check(p)
    place(p)
    p.dtype = p.query.dtype
    p.T = t = compute or wide(p.dtype)
    p.q, p.k, p.v, p.go = (x.astype(t) for x in (p.query, p.key, p.value, p.grad_output))
    p.counts = np.arange(p.Sq)[None] < p.N[:, None]  # (B, Sq)
    gl = np.zeros((p.B, p.Hq, p.Sq), t) if p.grad_logsumexp is None else p.grad_logsumexp.astype(t)
    p.gl = np.where(p.counts[:, None], gl, t(0))
    p.factor = t(p.E ** -0.5 if p.scale is None else p.scale)
    p.cap = None if p.softcap is None or p.softcap == 0 else t(p.softcap)
    p.fmask = None if p.mask is None or p.boolean else p.mask.astype(t)
    p.slopes = None if p.alibi_slopes is None else p.alibi_slopes.astype(t)
    p.sink = None if p.sinks is None else p.sinks.astype(t)
    p.head = np.arange(p.Hq) // p.rep
    return p


def bias(p):
    """What is added to the capped scores; excluded places hold 0."""
    total = np.zeros((p.B, p.Hq, p.Sq, p.Sk), p.T)
    if p.slopes is not None:
        total = total - p.slopes[:, None, None] * np.abs(p.pos[:, None, :, None] - np.arange(p.Sk)).astype(p.T)
    if p.fmask is not None:
        total = total + np.where(np.isneginf(p.fmask), p.T(0), p.fmask)
    return total


def scores_of(p):
    with np.errstate(all="ignore"):
        return p.q @ p.k[:, p.head].swapaxes(-1, -2) * p.factor


def logits_of(p, scores):
    with np.errstate(all="ignore"):
        capped = scores if p.cap is None else p.cap * np.tanh(scores / p.cap)
        return np.where(p.allow, capped + bias(p), -np.inf).astype(p.T)


def softmax_parts(p, logits):
    """Weights, and the share of the sink (B, Hq, Sq), 0 in rows that do not count."""
    with np.errstate(all="ignore"):
        top = logits.max(axis=-1, initial=-np.inf)
        if p.sink is not None:
            top = np.maximum(top, p.sink[None, :, None])
        safe = np.where(np.isneginf(top), 0, top)
        e = np.where(p.allow, np.exp(logits - safe[..., None]), 0)
        total = e.sum(axis=-1)
        if p.sink is not None:
            s = np.exp(p.sink[None, :, None] - safe)
            total = total + s
        else:
            s = np.zeros_like(total)
        inv = np.where(total == 0, 1, total)
        weights = np.where(p.allow, e / inv[..., None], 0)
        share = np.where(p.counts[:, None], s / inv, 0)
        return weights.astype(p.T), share.astype(p.T), (safe + np.log(total)).astype(p.T)


def contract(w, x, allow):
    """Σ_j w_ij x_j over the allowed pairs alone: w (..., i, j), x (..., j, e)."""
    with np.errstate(all="ignore"):
        if np.isfinite(x).all():
            return np.where(allow, w, 0) @ x
        out = np.zeros(w.shape[:-1] + x.shape[-1:], w.dtype)
        for at in np.ndindex(*w.shape[:-2]):
            for i in range(w.shape[-2]):
                js = np.flatnonzero(allow[at][i])
                out[at][i] = (w[at][i, js, None] * x[at][js]).sum(axis=0)
        return out


def T(x):
    return x.swapaxes(-1, -2)


def group_sum(p, x):
    return x.reshape(p.B, p.Hkv, p.rep, *x.shape[2:]).sum(axis=2) if p.Hkv else x


def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    axes = tuple(a for a in range(g.ndim) if shape[a] == 1 and g.shape[a] != 1)
    return g.sum(axis=axes, keepdims=True) if axes else g


def result(p, dq, dk, dv, dmask=None, dsinks=None, delta=None, dscores=None):
    named = dict(grad_query=dq, grad_key=dk, grad_value=dv, grad_mask=dmask, grad_sinks=dsinks, delta=delta, grad_scores=dscores)
    with np.errstate(all="ignore"):
        return {n: np.asarray(x).astype(p.dtype) for n, x in named.items() if x is not None}


def dlogits_of(p, w, delta):
    """Weights times what lies above delta; also the gradients of the weights."""
    with np.errstate(all="ignore"):
        dp = np.where(p.allow, p.go @ T(p.v[:, p.head]), 0)
        if delta is None:
            delta = np.where(p.allow, w * dp, 0).sum(axis=-1)
        return np.where(p.allow, w * (dp - delta[..., None] + p.gl[..., None]), 0), delta


def uncap(p, dlogits, scores):
    if p.cap is None:
        return dlogits
    with np.errstate(all="ignore"):
        return np.where(p.allow, dlogits * (1 - np.tanh(scores / p.cap) ** 2), 0)


def finish(p, w, share, dlogits, dscores, delta):
    with np.errstate(all="ignore"):
        dq = contract(dscores, p.k[:, p.head], p.allow) * p.factor
        dk = group_sum(p, contract(T(dscores), p.q, T(p.allow)) * p.factor)
        dv = group_sum(p, contract(T(w), p.go, T(p.allow)))
        dmask = None if p.fmask is None else unbroadcast(dlogits, p.fmask.shape)
        dsinks = None
        if p.sink is not None:
            dsinks = np.where(p.counts[:, None], share * (p.gl - delta), 0).sum(axis=(0, 2))
        return result(p, dq, dk, dv, dmask, dsinks, delta, dscores)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    p = prepare(compute=np.float64, **locals())
    s = scores_of(p)
    w, share, _ = softmax_parts(p, logits_of(p, s))
    dl, delta = dlogits_of(p, w, None)
    return finish(p, w, share, dl, uncap(p, dl, s), delta)


def forward(query, key, value, compute=np.float64, **given):
    """output and logsumexp, for the witnesses."""
    names = "mask key_lengths query_lengths sinks alibi_slopes is_causal causal_alignment scale softcap window".split()
    args = {n: None for n in names} | {"is_causal": False, "causal_alignment": "top_left"} | given
    go = np.zeros((*query.shape[:3], value.shape[3]), query.dtype)
    p = prepare(compute=compute, grad_output=go, query=query, key=key, value=value, grad_logsumexp=None,
                output=None, logsumexp=None, **args)
    w, _, lse = softmax_parts(p, logits_of(p, scores_of(p)))
    return contract(w, p.v[:, p.head], p.allow), lse


def merge_check(output_a, logsumexp_a, output_b, logsumexp_b):
    refuse(output_a.ndim != 4 or output_b.ndim != 4 or logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3, "rank")
    refuse(output_a.shape != output_b.shape, "outputs")
    refuse(logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3], "logarithms")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    with np.errstate(all="ignore"):
        a, b, la, lb = (x.astype(np.float64) for x in (output_a, output_b, logsumexp_a, logsumexp_b))
        top = np.maximum(la, lb)
        safe = np.where(np.isneginf(top), 0, top)
        wa, wb = np.exp(la - safe), np.exp(lb - safe)
        total = wa + wb
        sa, sb = (np.where(total == 0, 0, w / total)[..., None] for w in (wa, wb))
        pa = np.where(np.isneginf(la)[..., None], 0, sa * a)
        pb = np.where(np.isneginf(lb)[..., None], 0, sb * b)
        return {"output": (pa + pb).astype(output_a.dtype), "logsumexp": (safe + np.log(total)).astype(output_a.dtype)}


def softmax(x, axis=-1):
    with np.errstate(all="ignore"):
        w = x.astype(np.float64)
        e = np.exp(w - w.max(axis=axis, keepdims=True, initial=-np.inf))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
