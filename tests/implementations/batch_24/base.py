"""The right implementation, from the page, and pieces that the others use."""
import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np

QUANTIZED = (np.dtype(np.int8), np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2))
DTYPES = ("float64", "float32", "bfloat16", "float16")


def named(name):
    return np.dtype(getattr(ml_dtypes, str(name))) if str(name) == "bfloat16" else np.dtype(str(name))


def refuse(condition, why):
    if condition:
        raise ValueError(why)


def of_heads(scale, batch, heads):
    scale = np.asarray(scale, dtype=np.float64)
    refuse(scale.ndim > 2, "scale of too many axes")
    for have, want in zip(scale.shape[::-1], (heads, batch)):
        refuse(have not in (1, want), "shape of a scale")
    return np.broadcast_to(scale, (batch, heads))[:, :, None, None]


def prepare(given):
    """Checks everything, widens, and places the queries."""
    g = SimpleNamespace(**given)
    query, key, value = (np.asarray(x) for x in (g.query, g.key, g.value))
    for x in (query, key, value):
        refuse(x.ndim != 4, "rank")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, _ = key.shape
    refuse(key.shape[0] != B or value.shape[0] != B, "batch")
    refuse(key.shape[3] != E, "width")
    refuse(value.shape[1] != Hkv, "heads of key and value")
    refuse(value.shape[2] != Sk, "tokens of key and value")
    refuse((Hq != 0) if Hkv == 0 else Hq % Hkv != 0, "groups")
    past_key, past_value = getattr(g, "past_key", None), getattr(g, "past_value", None)
    refuse((past_key is None) != (past_value is None), "half a past")
    P = 0
    if past_key is not None:
        past_key, past_value = np.asarray(past_key), np.asarray(past_value)
        refuse(past_key.ndim != 4 or past_value.ndim != 4, "rank of the past")
        refuse(past_key.shape[0] != B or past_value.shape[0] != B, "batch of the past")
        refuse(past_key.shape[1] != Hkv or past_value.shape[1] != Hkv, "heads of the past")
        refuse(past_key.shape[2] != past_value.shape[2], "tokens of the past")
        refuse(past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "width of the past")
        P = past_key.shape[2]
        present_key = np.concatenate([past_key, key], axis=2)
        present_value = np.concatenate([past_value, value], axis=2)
    else:
        present_key, present_value = key.copy(), value.copy()
    T = P + Sk

    def lengths(x, most, default):
        if x is None:
            return np.full(B, default, dtype=np.int64)
        x = np.asarray(x)
        refuse(x.shape != (B,), "number of lengths")
        x = x.astype(np.int64)
        refuse(bool((x < 0).any() or (x > most).any()), "length out of range")
        return x

    L = lengths(getattr(g, "key_lengths", None), Sk, T)
    N = lengths(getattr(g, "query_lengths", None), Sq, Sq)
    alignment = getattr(g, "causal_alignment", None) or "top_left"
    refuse(alignment not in ("top_left", "bottom_right"), "alignment")
    offset = np.full(B, P) if alignment == "top_left" else L - N
    mask = getattr(g, "mask", None)
    mask4 = None
    if mask is not None:
        mask = np.asarray(mask)
        refuse(mask.ndim not in (2, 3, 4), "rank of the mask")
        mask4 = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        refuse(mask4.shape[3] != T, "keys of the mask")
        for have, want in zip(mask4.shape, (B, Hq, Sq)):
            refuse(have not in (1, want), "shape of the mask")
    wide = []
    quantized = False
    for x, name in ((query, "query_scale"), (present_key, "key_scale"), (present_value, "value_scale")):
        scale = getattr(g, name, None)
        y = x.astype(np.float64)
        if scale is not None:
            s = of_heads(scale, B, Hkv)
            quantized |= x.dtype in QUANTIZED
            y = y * (np.repeat(s, Hq // Hkv, axis=1) if name == "query_scale" and Hkv else s)
        wide.append(y)
    out_name = getattr(g, "output_dtype", None)
    dtype = query.dtype
    if query.dtype in QUANTIZED:
        dtype = named(out_name) if out_name is not None else np.dtype(np.float32)
    window = getattr(g, "window", None)
    left, right = (None, None) if window is None else window
    scale = getattr(g, "scale", None)
    softcap = getattr(g, "softcap", None)
    slopes, sinks = getattr(g, "alibi_slopes", None), getattr(g, "sinks", None)
    return SimpleNamespace(
        B=B, Hq=Hq, Hkv=Hkv, G=Hq // Hkv if Hkv else 1, Sq=Sq, Sk=Sk, P=P, T=T, E=E, Ev=value.shape[3],
        q=wide[0], k=wide[1], v=wide[2], L=L, N=N, offset=offset, alignment=alignment, mask4=mask4,
        boolean=mask4 is not None and mask4.dtype == bool,
        left=None if left is None else int(left), right=None if right is None else int(right),
        causal=bool(getattr(g, "is_causal", False)), scale=1 / math.sqrt(E) if scale is None else float(scale),
        cap=float(softcap) if softcap else 0.0,
        slopes=None if slopes is None else np.asarray(slopes).astype(np.float64),
        sinks=None if sinks is None else np.asarray(sinks).astype(np.float64),
        dtype=dtype, quantized=quantized, present_key=present_key, present_value=present_value,
        has_key_lengths=getattr(g, "key_lengths", None) is not None,
        has_query_lengths=getattr(g, "query_lengths", None) is not None,
    )


def scores_of(p, b, h):
    with np.errstate(all="ignore"):
        return p.q[b, h] @ p.k[b, h // p.G].T * p.scale


def capped(p, s):
    with np.errstate(all="ignore"):
        return np.tanh(s / p.cap) * p.cap if p.cap else s


def distances(p, b):
    return np.arange(p.T)[None, :] - (np.arange(p.Sq)[:, None] + p.offset[b])


def biased(p, b, h, s):
    """Softcap and ALiBi of scores (Sq, T)."""
    s = capped(p, s)
    if p.slopes is not None:
        with np.errstate(all="ignore"):
            s = s - p.slopes[h] * np.abs(distances(p, b))
    return s


def by_position(p, b):
    """What lengths, causality and window leave: (Sq, T)."""
    d = distances(p, b)
    ok = np.broadcast_to(np.arange(p.T) < p.L[b], (p.Sq, p.T)).copy()
    if p.causal:
        ok &= d <= 0
    if p.left is not None:
        ok &= d >= -p.left
    if p.right is not None:
        ok &= d <= p.right
    return ok


def mask_of(p, b, h):
    """The mask of one head, (Sq, T): Boolean, or numbers in float64."""
    if p.mask4 is None:
        return None
    m = p.mask4[b if p.mask4.shape[0] > 1 else 0, h if p.mask4.shape[1] > 1 else 0]
    m = np.broadcast_to(m, (p.Sq, p.T))
    return m if p.boolean else m.astype(np.float64)


def logits_of(p, b, h):
    """Logits with minus infinity at excluded keys, and what is allowed."""
    x = biased(p, b, h, scores_of(p, b, h))
    ok = by_position(p, b)
    m = mask_of(p, b, h)
    if m is not None:
        if p.boolean:
            ok &= m
        else:
            ok &= m != -np.inf
            with np.errstate(all="ignore"):
                x = x + m
    return np.where(ok, x, -np.inf), ok


def weigh(w, ok, v):
    """Sum of values times weights; what is excluded has no effect."""
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(v).all(axis=1)
        if not bad.any():
            return w @ v
        out = w @ np.where(bad[:, None], 0, v)
        for j in np.flatnonzero(bad):
            out = out + np.where(ok[:, j, None], w[:, j, None] * v[j], 0)
        return out


def softmax_row(x, sink=None):
    """Weights and logsumexp of logits (rows, keys), sinks joined."""
    with np.errstate(all="ignore"):
        top = x.max(axis=1, initial=-np.inf)
        if sink is not None:
            top = np.maximum(top, sink)
        safe = np.where(top == -np.inf, 0, top)
        e = np.exp(x - safe[:, None])
        total = e.sum(axis=1)
        if sink is not None:
            total = total + np.exp(sink - safe)
        return e / np.where(total == 0, 1, total)[:, None], np.where(total == 0, -np.inf, np.log(total) + safe)


def narrow(p, x):
    wide = p.dtype if p.dtype in (np.dtype(np.float64), np.dtype(np.float32)) else np.dtype(np.float32)
    with np.errstate(all="ignore"):
        return x.astype(wide)


def finish(p, output, **others):
    with np.errstate(all="ignore"):
        result = {"output": output.astype(p.dtype)}
    for name, x in others.items():
        if x is not None:
            result[name] = narrow(p, x)
    if not p.quantized:
        result["present_key"], result["present_value"] = p.present_key, p.present_value
    return result


def blank(p):
    """Arrays for output, weights, logsumexp."""
    return (np.zeros((p.B, p.Hq, p.Sq, p.Ev)), np.zeros((p.B, p.Hq, p.Sq, p.T)), np.full((p.B, p.Hq, p.Sq), -np.inf))


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = prepare(locals())
    out, weights, lse = blank(p)
    scores, logits = np.zeros_like(weights), np.zeros_like(weights)
    for b in range(p.B):
        for h in range(p.Hq):
            scores[b, h] = scores_of(p, b, h)
            logits[b, h], ok = logits_of(p, b, h)
            weights[b, h], lse[b, h] = softmax_row(logits[b, h], None if p.sinks is None else p.sinks[h])
            weights[b, h] = np.where(ok, weights[b, h], 0)
            out[b, h] = weigh(weights[b, h], ok, p.v[b, h // p.G])
    return finish(p, out, weights=weights, logsumexp=lse, scores=scores, logits=logits)
