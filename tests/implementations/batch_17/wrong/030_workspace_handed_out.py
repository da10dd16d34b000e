"""Queries in chunks, all heads at once, keys and values repeated for the heads of a group."""
import numpy as np

CHUNK = 32
WORKSPACE = {}


def workspace(name, shape, dtype):
    """memory for a gradient, taken once for each shape"""
    key = name, shape, np.dtype(dtype)
    if key not in WORKSPACE:
        WORKSPACE[key] = np.empty(shape, dtype)
    WORKSPACE[key][...] = 0
    return WORKSPACE[key]

conventions = {"masked_nonfinite": "propagates"}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("rank")
    b, hq, sq, e = query.shape
    hk, sk = key.shape[1:3]
    if key.shape != (b, hk, sk, e) or value.shape[:3] != (b, hk, sk):
        raise ValueError("key or value")
    if hq and (hk == 0 or hq % hk):
        raise ValueError("heads")
    if grad_output.shape != (b, hq, sq, value.shape[3]):
        raise ValueError("grad_output")
    if grad_logsumexp is not None and grad_logsumexp.shape != (b, hq, sq):
        raise ValueError("grad_logsumexp")
    if mask is not None and (not 2 <= mask.ndim <= 4 or mask.shape[-1] != sk):
        raise ValueError("mask")
    for n, most in ((key_lengths, sk), (query_lengths, sq)):
        if n is not None and (np.shape(n) != (b,) or np.any(np.asarray(n) < 0) or np.any(np.asarray(n) > most)):
            raise ValueError("lengths")
    t = np.float64 if query.dtype == np.float64 else np.float32
    full = None if mask is None else np.broadcast_to(mask, (b, hq, sq, sk))
    bias = mask is not None and mask.dtype != bool
    reps = hq // hk if hk else 1
    sm = t(e ** -0.5 if scale is None else scale)
    k, v = (np.repeat(x.astype(t), reps, axis=1) for x in (key, value))
    L = np.full(b, sk) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(b, sq) if query_lengths is None else np.asarray(query_lengths)
    first = (L - N if causal_alignment == "bottom_right" else np.zeros(b, int))[:, None, None, None]
    cols = np.arange(sk)
    dq = workspace("query", (b, hq, sq, e), t)
    dk, dv = workspace("key", k.shape, t), workspace("value", v.shape, t)
    dm = np.zeros((b, hq, sq, sk), t) if bias else None
    dsink = np.zeros(hq, t)
    with np.errstate(all="ignore"):
        for c in range(0, sq, CHUNK):
            R = slice(c, min(c + CHUNK, sq))
            rows = np.arange(R.start, R.stop)[:, None]
            real = rows < N[:, None, None, None]
            q = np.where(real, query[:, :, R].astype(t), 0)
            do = np.where(real, grad_output[:, :, R].astype(t), 0)
            gap = rows + first - cols
            see = real & (cols < L[:, None, None, None])
            if is_causal:
                see = see & (gap >= 0)
            if window is not None:
                if window[0] is not None:
                    see = see & (gap <= window[0])
                if window[1] is not None:
                    see = see & (gap >= -window[1])
            s = sm * (q @ k.swapaxes(-1, -2))
            x = s if not softcap else np.tanh(s / t(softcap)) * t(softcap)
            if alibi_slopes is not None:
                x = x - alibi_slopes.astype(t)[:, None, None] * abs(gap).astype(t)
            if bias:
                x = x + full[:, :, R].astype(t)
                see = see & (full[:, :, R] > -np.inf)
            elif mask is not None:
                see = see & full[:, :, R]
            x = np.where(see, x, -np.inf)
            m = x.max(-1, keepdims=True, initial=-np.inf)
            if sinks is not None:
                sink = sinks.astype(t)[:, None, None]
                m = np.maximum(m, sink)
            m = np.where(np.isneginf(m), 0, m)
            p = np.exp(x - m)
            z = p.sum(-1, keepdims=True)
            if sinks is not None:
                z = z + np.exp(sink - m)
            p = np.where(see, p / np.where(z == 0, 1, z), 0)
            dp = np.where(see, do @ v.swapaxes(-1, -2), 0)
            extra = -(p * dp).sum(-1, keepdims=True)
            if grad_logsumexp is not None:
                extra = extra + grad_logsumexp[:, :, R, None].astype(t)
            extra = np.where(real, extra, 0)
            ds = np.where(see, p * (dp + extra), 0)
            if bias:
                dm[:, :, R] = ds
            if sinks is not None:
                dsink += (np.where(real, np.exp(sink - m) / z, 0) * extra).sum((0, 2, 3))
            if softcap:
                ds = np.where(see, ds * (1 - np.tanh(s / t(softcap)) ** 2), 0)
            dq[:, :, R] = sm * (ds @ k)
            dk += sm * (ds.swapaxes(-1, -2) @ q)
            dv += p.swapaxes(-1, -2) @ do
    join = lambda x: x.reshape(b, hk, reps, *x.shape[2:]).sum(2) if reps != 1 else x
    out = {"grad_query": dq, "grad_key": join(dk), "grad_value": join(dv)}
    if bias:
        keep = (1,) * (4 - mask.ndim) + mask.shape
        out["grad_mask"] = dm.sum(tuple(a for a in range(4) if keep[a] == 1), keepdims=True).reshape(mask.shape)
    if sinks is not None:
        out["grad_sinks"] = dsink
    return {name: g.astype(query.dtype, copy=False) for name, g in out.items()}
