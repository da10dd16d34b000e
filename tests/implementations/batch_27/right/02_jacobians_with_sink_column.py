"""The sink as a key of its own with the value 0; whole Jacobians of the softmax of each row; parts of a group rounded nowhere."""
import ml_dtypes  # noqa: F401
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    if {query.ndim, key.ndim, value.ndim} != {4}:
        raise ValueError("rank")
    B, H, S, E = query.shape
    G, K, V = value.shape[1:]
    if key.shape != (B, G, K, E) or value.shape[0] != B or (H % G if G else H):
        raise ValueError("shapes")
    if grad_output.shape != (B, H, S, V) or grad_logsumexp is not None and grad_logsumexp.shape != (B, H, S):
        raise ValueError("gradients")
    L, N = np.full(B, K), np.full(B, S)
    if key_lengths is not None:
        L = np.array(key_lengths, dtype=np.int64)
    if query_lengths is not None:
        N = np.array(query_lengths, dtype=np.int64)
    if L.shape != (B,) or N.shape != (B,) or ((L < 0) | (L > K) | (N < 0) | (N > S)).any():
        raise ValueError("lengths")
    if mask is not None:
        if mask.ndim not in (2, 3, 4) or mask.shape[-1] != K:
            raise ValueError("mask")
        full = np.broadcast_to(mask, (B, H, S, K))
    t = np.float64 if query.dtype == np.float64 else np.float32
    factor = t(1 / np.sqrt(E)) if scale is None else t(scale)
    rep = H // G if G else 1
    floats = mask is not None and mask.dtype != np.bool_
    dq, dk, dv = np.zeros((B, H, S, E), t), np.zeros((B, G, K, E), t), np.zeros((B, G, K, V), t)
    dz_all, ds_all, delta = np.zeros((B, H, S, K), t), np.zeros((B, H, S, K), t), np.zeros((B, H, S), t)
    dsinks = np.zeros(H, t)
    with np.errstate(all="ignore"):
        for b in range(B):
            first = L[b] - N[b] if causal_alignment == "bottom_right" else 0
            for g in range(G):
                keys, values = key[b, g].astype(t), value[b, g].astype(t)
                for h in range(g * rep, g * rep + rep):
                    for i in range(N[b]):
                        gap = np.arange(L[b]) - (first + i)  # how far a key stands behind the query
                        ok = np.ones(L[b], bool)
                        if is_causal:
                            ok &= gap <= 0
                        if window is not None and window[0] is not None:
                            ok &= -gap <= window[0]
                        if window is not None and window[1] is not None:
                            ok &= gap <= window[1]
                        if floats:
                            ok &= full[b, h, i, : L[b]].astype(t) != -np.inf
                        elif mask is not None:
                            ok &= full[b, h, i, : L[b]]
                        at = ok.nonzero()[0]
                        x, y = query[b, h, i].astype(t), grad_output[b, h, i].astype(t)
                        kk, vv = keys[at], values[at]
                        s = kk @ x * factor
                        slope = np.ones_like(s)
                        z = s
                        if softcap:
                            c = t(softcap)
                            th = np.tanh(s / c)
                            z, slope = c * th, (1 - th) * (1 + th)
                        if alibi_slopes is not None:
                            z = z - t(alibi_slopes[h]) * np.abs(gap[at]).astype(t)
                        if floats:
                            z = z + full[b, h, i, at].astype(t)
                        dw = vv @ y
                        if sinks is not None:
                            z, dw = np.append(z, t(sinks[h])), np.append(dw, t(0))
                        if not len(z):
                            continue
                        w = np.exp(z - z.max())
                        w = w / w.sum()
                        jacobian = np.diag(w) - np.outer(w, w)
                        dz = (np.diag(w) - np.outer(w, w)) @ dw
                        if grad_logsumexp is not None:
                            dz = dz + w * t(grad_logsumexp[b, h, i])
                        if sinks is not None:
                            dsinks[h] += dz[-1]
                            dz, w, dw = dz[:-1], w[:-1], dw[:-1]
                        ds = dz * slope
                        dz_all[b, h, i, at], ds_all[b, h, i, at] = dz, ds
                        delta[b, h, i] = (w * dw).sum()
                        dq[b, h, i] = ds @ kk * factor
                        dk[b, g, at] += np.outer(ds, x) * factor
                        dv[b, g, at] += np.outer(w, y)
        found = [dq, dk, dv]
        if mask is not None:
            dmask = None
            if floats:
                axes = tuple(a for a in range(-4, 0) if -a > mask.ndim or mask.shape[a] == 1)
                dmask = dz_all.sum(axis=axes).reshape(mask.shape)
            found.append(dmask)
        else:
            found.append(None)
        found += [None if sinks is None else dsinks, delta, ds_all]
        return tuple(None if x is None else x.astype(query.dtype) for x in found)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if output_a.ndim != 4 or output_a.shape != output_b.shape or not logsumexp_a.shape == logsumexp_b.shape == output_a.shape[:3]:
        raise ValueError("shapes")
    t = np.float64 if output_a.dtype == np.float64 else np.float32
    a, b, la, lb = (x.astype(t) for x in (output_a, output_b, logsumexp_a, logsumexp_b))
    with np.errstate(all="ignore"):
        gone_a, gone_b = la == -np.inf, lb == -np.inf
        gap = np.where(gone_a & gone_b, 0, lb - la)
        share_a, share_b = 1 / (1 + np.exp(gap)), 1 / (1 + np.exp(-gap))
        left = np.where(gone_a[..., None], 0, a * np.where(gone_b & ~np.isnan(la), 1, share_a)[..., None])
        right = np.where(gone_b[..., None], 0, b * np.where(gone_a & ~np.isnan(lb), 1, share_b)[..., None])
        lse = np.logaddexp(la, lb)
        return (left + right).astype(output_a.dtype), lse.astype(output_a.dtype)


def softmax(x, axis=-1):
    t = np.float64 if x.dtype == np.float64 else np.float32
    axis = axis if x.ndim else None
    with np.errstate(all="ignore"):
        w = x.astype(t)
        lse = np.logaddexp.reduce(w, axis=axis, keepdims=True)
        e = np.exp(np.minimum(w - lse, 1))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
