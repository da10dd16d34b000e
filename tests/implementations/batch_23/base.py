"""Right implementations from the pages, and parts that engines share."""
import types

import ml_dtypes
import numpy as np

QUANTIZED = tuple(np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
NAMES = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


def dtype_of(name):
    return NAMES.get(name) or np.dtype(name)


def acc_of(dtype):
    return np.dtype(np.float64) if dtype == np.float64 else np.dtype(np.float32)


def need(condition, what):
    if not condition:
        raise ValueError(what)


def scale_array(scale, B, Hkv, acc):
    a = np.asarray(scale)
    need(a.ndim <= 2, "scale rank")
    full = (1,) * (2 - a.ndim) + a.shape
    need(full[0] in (1, B) and full[1] in (1, Hkv), "scale shape")
    return np.broadcast_to(a.reshape(full), (B, Hkv)).astype(acc)


def setup(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
          sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
          causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None, expand_scale=None):
    p = types.SimpleNamespace()
    need(query.ndim == 4 and key.ndim == 4 and value.ndim == 4, "rank")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sn, _ = key.shape
    Ev = value.shape[3]
    need(key.shape[3] == E, "width")
    need(key.shape[0] == B and value.shape[0] == B, "batch")
    need(value.shape[1] == Hkv, "heads")
    need(Hq == 0 if Hkv == 0 else Hq % Hkv == 0, "grouped")
    need(value.shape[2] == Sn, "length")
    need((past_key is None) == (past_value is None), "past")
    P = 0
    if past_key is not None:
        need(past_key.ndim == 4 and past_value.ndim == 4, "rank")
        need(past_key.shape[0] == B and past_value.shape[0] == B, "batch")
        need(past_key.shape[1] == Hkv and past_value.shape[1] == Hkv, "heads")
        need(past_key.shape[3] == E and past_value.shape[3] == Ev, "width")
        P = past_key.shape[2]
        need(past_value.shape[2] == P, "length")
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    Sk = P + Sn
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            a = np.asarray(lengths)
            need(a.shape == (B,), "batch")
            need((a >= 0).all() and (a <= most).all(), "length")
    if sinks is not None:
        need(np.shape(sinks) == (Hq,), "sinks")
    if alibi_slopes is not None:
        need(np.shape(alibi_slopes) == (Hq,), "slopes")
    if mask is not None:
        need(2 <= mask.ndim <= 4, "mask rank")
        full = (1,) * (4 - mask.ndim) + mask.shape
        need(all(a in (1, b) for a, b in zip(full[:3], (B, Hq, Sq))) and full[3] == Sk, "mask shape")
    p.dtype = dtype_of(output_dtype) if query.dtype in QUANTIZED else query.dtype
    acc = p.acc = acc_of(p.dtype)
    p.present_key, p.present_value = np.array(key), np.array(value)
    q, k, v = (a.astype(acc) for a in (query, key, value))
    group = p.group = Hq // Hkv if Hkv else 1
    expand = expand_scale or scale_array
    if query_scale is not None:
        q = q * np.repeat(expand(query_scale, B, Hkv, acc), group, axis=1)[:, :, None, None]
    if key_scale is not None:
        k = k * expand(key_scale, B, Hkv, acc)[:, :, None, None]
    if value_scale is not None:
        v = v * expand(value_scale, B, Hkv, acc)[:, :, None, None]
    p.q, p.k, p.v = q, k, v
    p.B, p.Hq, p.Hkv, p.Sq, p.Sk, p.E, p.Ev, p.P = B, Hq, Hkv, Sq, Sk, E, Ev, P
    p.L = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    p.N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    p.offset = np.full(B, P) if causal_alignment == "top_left" else p.L - p.N
    p.causal, p.alignment = bool(is_causal), causal_alignment
    p.window = (None, None) if window is None else tuple(window)
    p.pos = np.arange(Sq)[None, :] + p.offset[:, None]
    p.scale = 1.0 / np.sqrt(E) if scale is None else float(scale)
    p.scale = float(p.scale)
    p.softcap = float(softcap) if softcap else 0.0
    p.sinks = None if sinks is None else np.asarray(sinks).astype(acc)
    p.slopes = None if alibi_slopes is None else np.asarray(alibi_slopes).astype(acc)
    p.mask = mask
    p.bias = None
    j = np.arange(Sk)
    pp = p.pos[:, None, :, None]
    ok = np.broadcast_to(j[None, None, None, :] < p.L[:, None, None, None], (B, Hq, Sq, Sk)).copy()
    if p.causal:
        ok &= j <= pp
    if p.window[0] is not None:
        ok &= j >= pp - int(p.window[0])
    if p.window[1] is not None:
        ok &= j <= pp + int(p.window[1])
    if mask is not None:
        if mask.dtype == bool:
            ok &= mask
        else:
            wide = mask.astype(acc)
            ok &= ~np.isneginf(wide)
            p.bias = np.broadcast_to(wide, (B, Hq, Sq, Sk))
    p.ok = ok
    return p


def repeat(a, group):
    return a if group == 1 else np.repeat(a, group, axis=1)


def logits_of(p, scores, b, h, rows=slice(None), cols=slice(None)):
    """Softcap, ALiBi, float mask and exclusion for one head; scores are (rows, cols)."""
    x = scores
    if p.softcap:
        x = np.asarray(p.softcap * np.tanh(x / p.softcap))
    if p.slopes is not None:
        d = np.abs(p.pos[b][rows][:, None] - np.arange(p.Sk)[cols][None, :]).astype(p.acc)
        x = x - p.slopes[h] * d
    if p.bias is not None:
        x = x + p.bias[b, h][rows, cols]
    return np.where(p.ok[b, h][rows, cols], x, -np.inf).astype(p.acc)


def weigh(w, x, ok):
    """Sum over j of w_ij x_j where ok_ij; nothing that is excluded has an effect."""
    bad = ~np.isfinite(x)
    w = np.where(ok, w, 0)
    if not bad.any():
        return w @ x
    out = w @ np.where(bad, 0, x)
    odd = np.where(bad, x, 0)
    for j in range(x.shape[-2]):
        if bad[..., j, :].any():
            term = np.where(bad[..., None, j, :], w[..., :, j, None] * odd[..., None, j, :], 0)
            out = out + np.where(ok[..., :, j, None], term, 0)
    return out


def dense(p):
    with np.errstate(all="ignore"):
        k, v = repeat(p.k, p.group), repeat(p.v, p.group)
        scores = (p.q @ k.swapaxes(-1, -2)) * p.scale
        x = scores
        if p.softcap:
            x = p.softcap * np.tanh(x / p.softcap)
        if p.slopes is not None:
            d = np.abs(p.pos[:, None, :, None] - np.arange(p.Sk)).astype(p.acc)
            x = x - p.slopes[None, :, None, None] * d
        if p.bias is not None:
            x = x + p.bias
        x = np.where(p.ok, x, -np.inf).astype(p.acc)
        m = x.max(axis=-1, initial=-np.inf)
        if p.sinks is not None:
            s = np.broadcast_to(p.sinks[None, :, None], m.shape)
            m = np.maximum(m, s)
        m = np.where(np.isneginf(m), 0, m).astype(p.acc)
        e = np.where(p.ok, np.exp(x - m[..., None]), 0)
        total = e.sum(axis=-1)
        if p.sinks is not None:
            total = total + np.exp(s - m)
        lse = np.log(total) + m
        w = e / np.where(total == 0, 1, total)[..., None]
        out = weigh(w, v, p.ok)
    return {"output": out, "weights": w, "logsumexp": lse.astype(p.acc), "scores": scores, "logits": x}


def finish(p, r):
    r = dict(r)
    with np.errstate(all="ignore"):
        r["output"] = np.asarray(r["output"]).astype(p.dtype)
    r.setdefault("present_key", p.present_key)
    r.setdefault("present_value", p.present_value)
    return r


def make(engine, prepare=setup):
    def scaled_dot_product_attention(
        query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
        alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):
        p = prepare(
            query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
            query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype)
        with np.errstate(all="ignore"):
            return finish(p, engine(p))

    return scaled_dot_product_attention


scaled_dot_product_attention = make(dense)


def online(p, tile_q=8, tile_k=8, first=None, last=None):
    """A right flash loop, for one who wants to compare."""
    raise NotImplementedError


def sequences(engine, items, common, columns=None):
    """Runs an engine on each sequence: items are (q (1,H,S,E), k, v)."""
    results = []
    for q, k, v in items:
        c = dict(common)
        if c.get("mask") is not None:
            c["mask"] = c["mask"][..., : k.shape[2]]
        p = setup(q, k, v, **c)
        with np.errstate(all="ignore"):
            results.append(finish(p, engine(p)))
    return results


# ---------------------------------------------------------------- backward

GRAD_ARGS = ("mask", "key_lengths", "query_lengths", "sinks", "alibi_slopes", "is_causal", "causal_alignment", "scale",
             "softcap", "window")


def prepare_backward(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
                     key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                     causal_alignment="top_left", scale=None, softcap=None, window=None):
    p = setup(query, key, value, mask, None, None, key_lengths, query_lengths, sinks, alibi_slopes, None, None, None,
              is_causal, causal_alignment, scale, softcap, window)
    need(grad_output.shape == (p.B, p.Hq, p.Sq, p.Ev), "gradient shape")
    if grad_logsumexp is not None:
        need(grad_logsumexp.shape == (p.B, p.Hq, p.Sq), "gradient shape")
    p.counts = np.arange(p.Sq)[None, :] < p.N[:, None]
    p.ok &= p.counts[:, None, :, None]
    p.live = p.ok.any(axis=-1)
    c = np.broadcast_to(p.counts[:, None, :], p.live.shape)
    p.go = np.where(p.live[..., None], grad_output.astype(p.acc), 0)
    p.raw_go = grad_output.astype(p.acc)
    p.raw_q = p.q
    p.q = np.where(p.live[..., None], p.q, 0)
    g = np.zeros(p.live.shape, p.acc) if grad_logsumexp is None else grad_logsumexp.astype(p.acc)
    p.raw_glse = g
    p.glse = np.where(c, g, 0)
    p.given_output, p.given_lse = output, logsumexp
    return p


def unbroadcast(g, shape):
    full = (1,) * (4 - len(shape)) + tuple(shape)
    axes = tuple(a for a in range(4) if full[a] == 1 and g.shape[a] != 1)
    if axes:
        g = g.sum(axis=axes, keepdims=True)
    return g.reshape(shape)


def over_group(p, g):
    """(B, Hq, S, D) -> (B, Hkv, S, D), summed over the heads of a group."""
    return g.reshape(p.B, p.Hkv, p.group, *g.shape[2:]).sum(axis=2)


def dense_backward(p):
    f = dense(p)
    w, ok = f["weights"], p.ok
    k, v = repeat(p.k, p.group), repeat(p.v, p.group)
    gw = np.where(ok, p.go @ v.swapaxes(-1, -2), 0)
    delta = np.where(ok, w * gw, 0).sum(axis=-1)
    gl = np.where(ok, w * (gw - delta[..., None] + p.glse[..., None]), 0)
    gs = gl
    if p.softcap:
        gs = np.where(ok, gl * (1 - np.tanh(f["scores"] / p.softcap) ** 2), 0)
    r = {}
    r["grad_query"] = p.scale * weigh(gs, k, ok)
    okT = ok.swapaxes(-1, -2)
    r["grad_key"] = over_group(p, p.scale * weigh(gs.swapaxes(-1, -2), p.q, okT))
    r["grad_value"] = over_group(p, weigh(w.swapaxes(-1, -2), p.go, okT))
    if p.bias is not None:
        r["grad_mask"] = unbroadcast(gl, p.mask.shape)
    if p.sinks is not None:
        share = np.where(p.counts[:, None, :], np.exp(p.sinks[None, :, None] - f["logsumexp"]), 0)
        r["grad_sinks"] = np.where(share == 0, 0, share * (p.glse - delta)).sum(axis=(0, 2))
    r["delta"], r["grad_scores"] = delta, gs
    return r


def finish_backward(p, r):
    r = {n: np.asarray(a) for n, a in r.items() if a is not None}
    with np.errstate(all="ignore"):
        for n in ("grad_query", "grad_key", "grad_value"):
            r[n] = r[n].astype(p.dtype)
    return r


def make_backward(engine, prepare=prepare_backward):
    def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None,
    ):
        with np.errstate(all="ignore"):
            p = prepare(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths,
                        query_lengths, sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window)
            return finish_backward(p, engine(p))

    return scaled_dot_product_attention_backward


scaled_dot_product_attention_backward = make_backward(dense_backward)


# ---------------------------------------------------------------- softmax, merge

def softmax(x, axis=-1):
    with np.errstate(all="ignore"):
        a = x.astype(acc_of(x.dtype))
        if a.size == 0:
            return a.astype(x.dtype)
        e = np.exp(a - a.max(axis=axis, keepdims=True))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def check_merge(output_a, logsumexp_a, output_b, logsumexp_b):
    need(output_a.ndim == 4 and output_b.ndim == 4, "rank")
    need(logsumexp_a.ndim == 3 and logsumexp_b.ndim == 3, "rank")
    need(output_a.shape == output_b.shape, "outputs")
    need(logsumexp_a.shape == output_a.shape[:3] and logsumexp_b.shape == output_a.shape[:3], "logsumexp")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    acc = acc_of(output_a.dtype)
    with np.errstate(all="ignore"):
        a, la, b, lb = (x.astype(acc) for x in (output_a, logsumexp_a, output_b, logsumexp_b))
        m = np.maximum(la, lb)
        m = np.where(np.isneginf(m), 0, m)
        wa, wb = np.exp(la - m), np.exp(lb - m)
        total = wa + wb
        ea, eb = np.isneginf(la), np.isneginf(lb)
        safe = np.where(ea & eb, 1, total)
        sa, sb = wa / safe, wb / safe
        out = np.where(ea[..., None], 0, sa[..., None] * a) + np.where(eb[..., None], 0, sb[..., None] * b)
        return {"output": out.astype(output_a.dtype), "logsumexp": (np.log(total) + m).astype(acc)}
