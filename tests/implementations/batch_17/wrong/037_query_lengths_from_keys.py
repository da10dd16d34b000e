"""Sequences are unpadded into rows of tokens, longest first, worked on one by one and padded again."""
import numpy as np


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    if {query.ndim, key.ndim, value.ndim} != {4}:
        raise ValueError("rank must be 4")
    B, H, Sq, E = query.shape
    _, G, Sk, Ev = value.shape
    if key.shape != (B, G, Sk, E) or value.shape[0] != B or grad_output.shape != (B, H, Sq, Ev):
        raise ValueError("shapes do not fit")
    if H != G and (G == 0 or H % G):
        raise ValueError("heads do not fit")
    if grad_logsumexp is not None and grad_logsumexp.shape != (B, H, Sq):
        raise ValueError("grad_logsumexp does not fit")
    if mask is not None:
        if mask.ndim not in (2, 3, 4) or mask.shape[-1] != Sk:
            raise ValueError("mask does not fit")
        mask4 = np.broadcast_to(mask, (B, H, Sq, Sk))
    klen = np.full(B, Sk, np.int64)
    qlen = np.full(B, Sq, np.int64)
    for given, into, most in ((key_lengths, klen, Sk), (query_lengths, qlen, Sq)):
        if given is not None:
            given = np.asarray(given)
            if given.shape != (B,) or np.any(given < 0) or np.any(given > most):
                raise ValueError("lengths do not fit")
            into[:] = given
    if query_lengths is None and key_lengths is not None and Sq == Sk:
        qlen = klen.copy()
    F = np.float64 if query.dtype == np.float64 else np.float32
    sm = F(1 / np.sqrt(E)) if scale is None else F(scale)
    bias = mask is not None and mask.dtype != bool

    order = np.argsort(-klen, kind="stable")
    pack = lambda x, n: np.concatenate([x[b, :, :n[b]].swapaxes(0, 1) for b in order] + [np.zeros((0,) + x.shape[1:2] + x.shape[3:], x.dtype)]).astype(F)
    q, do = pack(query, qlen), pack(grad_output, qlen)
    k, v = pack(key, klen), pack(value, klen)
    dl = None if grad_logsumexp is None else pack(grad_logsumexp, qlen)
    cu_q = np.concatenate([[0], np.cumsum(qlen[order])])
    cu_k = np.concatenate([[0], np.cumsum(klen[order])])
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    dm = [None] * B
    ds = np.zeros(H, F)
    with np.errstate(all="ignore"):
        for n, b in enumerate(order):
            Q, K = slice(cu_q[n], cu_q[n + 1]), slice(cu_k[n], cu_k[n + 1])
            N, L = int(qlen[b]), int(klen[b])
            far = np.arange(N)[:, None] + (L - N if causal_alignment == "bottom_right" else 0) - np.arange(L)
            see = np.ones((N, L), bool)
            if is_causal:
                see &= far >= 0
            if window is not None:
                l, r = window
                see &= (far <= l) if l is not None else True
                see &= (far >= -r) if r is not None else True
            part = np.zeros((H, N, L), F)
            for h in range(H):
                g = h * G // H
                a = see
                s = sm * (q[Q, h] @ k[K, g].T)
                x, cap = s, 1
                if softcap:
                    y = np.tanh(s / F(softcap))
                    x, cap = F(softcap) * y, 1 - y ** 2
                if alibi_slopes is not None:
                    x = x - F(alibi_slopes[h]) * np.abs(far)
                if bias:
                    x = x + mask4[b, h, :N, :L].astype(F)
                    a = a & (mask4[b, h, :N, :L] != -np.inf)
                elif mask is not None:
                    a = a & mask4[b, h, :N, :L]
                x = np.where(a, x, -np.inf)
                top = x.max(1, initial=-np.inf if sinks is None else F(sinks[h]))
                top = np.where(top == -np.inf, 0, top)[:, None]
                p = np.exp(x - top)
                z = p.sum(1, keepdims=True) + (0 if sinks is None else np.exp(F(sinks[h]) - top))
                p = np.where(a, p / np.where(z == 0, 1, z), 0)
                dp = np.where(a, do[Q, h] @ v[K, g].T, 0)
                up = -(p * dp).sum(1, keepdims=True)
                if dl is not None:
                    up = up + dl[Q, h][:, None]
                if sinks is not None:
                    ds[h] += (np.exp(F(sinks[h]) - top) / z * up).sum()
                e = np.where(a, p * (dp + up), 0)
                part[h] = e
                e = np.where(a, e * cap, 0) * sm
                for i in range(N):
                    t = np.flatnonzero(a[i])
                    if len(t):
                        at = cu_k[n] + t
                        dq[cu_q[n] + i, h] = e[i, t] @ k[at, g]
                        dk[at, g] += e[i, t][:, None] * q[cu_q[n] + i, h]
                        dv[at, g] += p[i, t][:, None] * do[cu_q[n] + i, h]
            dm[b] = np.pad(part, ((0, 0), (0, Sq - N), (0, Sk - L)))

    def unpack(x, cu, shape):
        out = np.zeros(shape, F)
        for n in range(B):
            out[n, :, :cu[n + 1] - cu[n]] = x[cu[n]:cu[n + 1]].swapaxes(0, 1)
        return out[np.argsort(order)].astype(query.dtype)

    out = {"grad_query": unpack(dq, cu_q, query.shape), "grad_key": unpack(dk, cu_k, key.shape),
           "grad_value": unpack(dv, cu_k, value.shape)}
    if bias:
        dm = np.array(dm, F).reshape(B, H, Sq, Sk)
        dm = dm.sum(tuple(range(4 - mask.ndim)))
        out["grad_mask"] = dm.sum(tuple(a for a in range(mask.ndim) if mask.shape[a] == 1), keepdims=True).astype(query.dtype)
    if sinks is not None:
        out["grad_sinks"] = ds.astype(query.dtype)
    return out
