"""Per head with the stored output and logsumexp, where they are given, as a fused backward pass does."""
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


def times(a, x, ok):
    clean = np.isfinite(x).all() and np.isfinite(a).all()
    return a @ x if clean else np.where(ok[..., None], a[..., None] * x[None], 0).sum(1)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None,
                                          mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None,
                                          is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                          window=None):
    check(grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths)
    dtype = query.dtype
    acc = np.float64 if dtype == np.float64 else np.float32
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, Ev = value.shape
    ratio = Hq // Hkv
    sm_scale = acc(E ** -0.5 if scale is None else scale)
    causal_mask_value = -np.inf
    d_query = np.zeros((B, Hq, Sq, E), acc)
    d_key = np.zeros((B, Hkv, Sk, E), acc)
    d_value = np.zeros((B, Hkv, Sk, Ev), acc)
    d_bias = np.zeros((B, Hq, Sq, Sk), acc)
    d_sinks = np.zeros((B, Hq), acc)
    d_rows = np.zeros((B, Hq, Sq), acc)
    is_float_mask = mask is not None and mask.dtype != np.bool_
    full_mask = None if mask is None else np.broadcast_to(mask.astype(acc) if is_float_mask else mask, (B, Hq, Sq, Sk))
    with np.errstate(all="ignore"):
        for b in range(B):
            seqlen_k = Sk if key_lengths is None else int(key_lengths[b])
            seqlen_q = Sq if query_lengths is None else int(query_lengths[b])
            offset = seqlen_k - seqlen_q if causal_alignment == "bottom_right" else 0
            rows = np.arange(seqlen_q)[:, None] + offset
            cols = np.arange(seqlen_k)[None, :]
            visible = np.ones((seqlen_q, seqlen_k), bool)
            if is_causal:
                visible &= cols <= rows
            if window is not None:
                if window[0] is not None:
                    visible &= cols >= rows - window[0]
                if window[1] is not None:
                    visible &= cols <= rows + window[1]
            for h in range(Hq):
                hk = h // ratio
                q = query[b, h, :seqlen_q].astype(acc)
                k = key[b, hk, :seqlen_k].astype(acc)
                v = value[b, hk, :seqlen_k].astype(acc)
                do = grad_output[b, h, :seqlen_q].astype(acc)
                seen = visible
                s = (q @ k.T) * sm_scale
                z = s
                if softcap:
                    z = acc(softcap) * np.tanh(s / acc(softcap))
                if alibi_slopes is not None:
                    z = z - acc(alibi_slopes[h]) * np.abs(rows - cols).astype(acc)
                if full_mask is not None:
                    part = full_mask[b, h, :seqlen_q, :seqlen_k]
                    if is_float_mask:
                        z = z + part
                        seen = seen & (part != -np.inf)
                    else:
                        seen = seen & part
                z = np.where(seen, z, causal_mask_value)
                sink = None if sinks is None else acc(sinks[h])
                if logsumexp is not None:
                    lse = logsumexp[b, h, :seqlen_q].astype(acc)
                else:
                    peak = z.max(1, initial=-np.inf if sink is None else sink)
                    peak = np.where(peak == -np.inf, 0, peak).astype(acc)
                    t = np.exp(z - peak[:, None]).sum(1)
                    if sink is not None:
                        t = t + np.exp(sink - peak)
                    lse = peak + np.log(t)
                lse = np.where(seen.any(1), lse, acc(0) if sink is None else sink)
                p = np.where(seen, np.exp(z - lse[:, None]), 0)
                dp = np.where(seen, do @ v.T, 0)
                if output is not None:
                    drow = (do[:, :E] * output[b, h, :seqlen_q, :E].astype(acc)).sum(1)
                    drow = np.where(seen.any(1), drow, 0)
                else:
                    drow = (p * dp).sum(1)
                gain = -drow
                if grad_logsumexp is not None:
                    gain = gain + grad_logsumexp[b, h, :seqlen_q].astype(acc)
                dz = np.where(seen, p * (dp + gain[:, None]), 0)
                ds = dz
                if softcap:
                    ds = np.where(seen, dz * (1 - np.tanh(s / acc(softcap)) ** 2), 0)
                d_rows[b, h, :seqlen_q] = drow
                d_bias[b, h, :seqlen_q, :seqlen_k] = dz
                if sink is not None:
                    d_sinks[b, h] = (np.exp(sink - lse) * gain).sum()
                d_query[b, h, :seqlen_q] = times(ds, k, seen) * sm_scale
                d_key[b, hk, :seqlen_k] += times(ds.T, q, seen.T) * sm_scale
                d_value[b, hk, :seqlen_k] += times(p.T, do, seen.T)
    results = [d_query.astype(dtype), d_key.astype(dtype), d_value.astype(dtype)]
    if is_float_mask:
        lead = tuple(range(4 - mask.ndim))
        g = d_bias.sum(lead)
        g = g.sum(tuple(n for n, size in enumerate(mask.shape) if size == 1), keepdims=True)
        results.append(g.astype(dtype))
    if sinks is not None:
        results.append(d_sinks.sum(0).astype(dtype))
    return tuple(results)
