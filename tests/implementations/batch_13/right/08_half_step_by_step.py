"""A chain of calls that each store their result in the dtype of the inputs; sums inside a step are carried in float32."""
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


dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"half_precision_overflow": "open"}


def inner(a, keep, x):
    if np.isfinite(x).all():
        return a @ x
    return np.where(keep[..., None], a[..., None] * x[..., None, :, :], 0).sum(-2, dtype=a.dtype)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    kind = query.dtype
    wide = np.dtype(np.float32) if kind.itemsize == 2 else kind
    up = lambda x: np.asarray(x).astype(wide)
    store = lambda x: np.asarray(x).astype(kind).astype(wide)
    scale = wide.type(1 / np.sqrt(E) if scale is None else scale)
    N = np.full(B, Sq) if query_lengths is None else np.array([int(n) for n in query_lengths], int)
    L = np.full(B, Sk) if key_lengths is None else np.array([int(n) for n in key_lengths], int)
    begin = L - N if causal_alignment == "bottom_right" else np.zeros(B, int)
    gap = np.arange(Sk)[None, None, None] - np.arange(Sq)[None, None, :, None] - begin[:, None, None, None]
    rows = np.broadcast_to((np.arange(Sq) < N[:, None])[:, None], (B, Hq, Sq))
    keep = rows[..., None] & (np.arange(Sk) < L[:, None])[:, None, None]
    if is_causal:
        keep = keep & (gap <= 0)
    if window is not None:
        keep = keep & (True if window[0] is None else -gap <= window[0]) & (True if window[1] is None else gap <= window[1])
    bias = None
    if mask is not None:
        if mask.dtype == bool:
            keep = keep & mask
        else:
            bias = up(mask)
            keep = keep & (bias != -np.inf)
    live = keep.any(-1)
    group = Hq // Hkv if Hkv else 1
    q, k, v, go = up(query), np.repeat(up(key), group, 1), np.repeat(up(value), group, 1), up(grad_output)
    go = np.where(live[..., None], go, 0)
    swap = lambda x: np.swapaxes(x, -1, -2)
    with np.errstate(all="ignore"):
        scores = store(q @ swap(k) * scale)
        logits = scores
        if softcap:
            t = np.tanh(scores / wide.type(softcap))
            logits = store(wide.type(softcap) * t)
        if alibi_slopes is not None:
            logits = logits - up(alibi_slopes)[:, None, None] * np.abs(gap).astype(wide)
        if bias is not None:
            logits = logits + bias
        logits = np.where(keep, store(logits), -np.inf).astype(wide)
        top = logits.max(-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            sink = up(sinks)[:, None, None]
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0, top)
        e = np.exp(logits - top)
        total = e.sum(-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sink - top)
        w = store(np.where(keep, e / np.where(total == 0, 1, total), 0))
        gv = inner(swap(w), swap(keep), go)
        gw = np.where(keep, store(go @ swap(v)), 0)
        delta = (w * gw).sum(-1, keepdims=True)
        lift = -delta
        if grad_logsumexp is not None:
            lift = np.where(rows, up(grad_logsumexp), 0)[..., None] - delta
        gl = np.where(keep, w * (gw + lift), 0)
        gs = gl
        if softcap:
            gs = np.where(keep, gl * (1 - t * t), 0)
        gs = store(gs)
        gq = inner(gs, keep, k) * scale
        gk = inner(swap(gs), swap(keep), q) * scale
        join = lambda x: x.reshape(B, Hkv, group, *x.shape[2:]).sum(2)
        out = {"grad_query": gq, "grad_key": join(gk), "grad_value": join(gv)}
        if bias is not None:
            shape = (1,) * (4 - bias.ndim) + bias.shape
            axes = tuple(a for a in range(4) if shape[a] == 1)
            out["grad_mask"] = gl.sum(axes, keepdims=True).reshape(bias.shape)
        if sinks is not None:
            share = np.exp(sink - top) / total
            out["grad_sinks"] = np.where(rows, (share * lift)[..., 0], 0).sum((0, 2))
    return {name: x.astype(kind) for name, x in out.items()}
