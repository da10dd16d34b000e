"""Backward by tiles in the manner of FlashAttention 2: key tiles outside, query tiles inside, everything to the base 2."""
import numpy as np

conventions = {}
BM = BN = 16
LOG2E = 1.4426950408889634


def dot(w, a, x):
    """w @ x; a row of x that holds no number counts only where a says so"""
    bad = ~np.isfinite(x).all(1)
    out = w @ np.where(bad[:, None], 0, x)
    for j in np.flatnonzero(bad):
        out[a[:, j]] += np.outer(w[a[:, j], j], x[j])
    return out


def refuse(do, q, k, v, glse, mask, kl, ql):
    ok = q.ndim == k.ndim == v.ndim == 4
    ok = ok and q.shape[3] == k.shape[3] and q.shape[0] == k.shape[0] == v.shape[0] and k.shape[1:3] == v.shape[1:3]
    ok = ok and (q.shape[1] % k.shape[1] == 0 if k.shape[1] else q.shape[1] == 0)
    ok = ok and do.shape == q.shape[:3] + v.shape[3:] and (glse is None or glse.shape == q.shape[:3])
    if ok and mask is not None:
        full = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        ok = 2 <= mask.ndim <= 4 and mask.shape[-1] == full[3]
        ok = ok and all(m in (1, n) for m, n in zip(mask.shape[::-1], full[::-1]))
    for x, most in ((kl, k.shape[-2]), (ql, q.shape[-2])):
        ok = ok and (x is None or (np.shape(x) == q.shape[:1] and all(0 <= int(n) <= most for n in x)))
    if not ok:
        raise ValueError("inputs do not fit together")


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    refuse(grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    T = np.float64 if query.dtype == np.float64 else np.float32
    q, k, v, do = (np.asarray(x).astype(T) for x in (query, key, value, grad_output))
    scale = T(1 / np.sqrt(E) if scale is None else scale)
    left, right = (None, None) if window is None else window
    bias = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, Sk))
    floats = mask is not None and mask.dtype != bool
    dq, dk, dv = np.zeros(q.shape, T), np.zeros(k.shape, T), np.zeros(v.shape, T)
    dmask = np.zeros((B, Hq, Sq, Sk), T) if floats else None
    dsink = np.zeros(Hq, T)

    with np.errstate(all="ignore"):
        for b in range(B):
            L = Sk if key_lengths is None else int(key_lengths[b])
            N = Sq if query_lengths is None else int(query_lengths[b])
            off = L - N if causal_alignment == "bottom_right" else 0
            for h in range(Hq):
                g = h // (Hq // Hkv)

                def tile(m0, n0):
                    m1, n1 = min(m0 + BM, N), min(n0 + BN, L)
                    x = scale * (q[b, h, m0:m1] @ k[b, g, n0:n1].T)
                    slope = 1
                    if softcap:
                        t = np.tanh(x / T(softcap))
                        x, slope = T(softcap) * t, 1 - t * t
                    far = np.arange(m0, m1)[:, None] + off - np.arange(n0, n1)
                    a = np.ones(x.shape, bool)
                    full = is_causal and m0 + off >= n1 - 1
                    if not full:
                        if is_causal:
                            a &= far >= 0
                        if left is not None:
                            a &= far <= left
                        if right is not None:
                            a &= -far <= right
                    if alibi_slopes is not None:
                        x = x - T(alibi_slopes[h]) * abs(far).astype(T)
                    if bias is not None:
                        y = bias[b, h, m0:m1, n0:n1]
                        if floats:
                            x = x + y.astype(T)
                            a &= ~np.isneginf(y.astype(T))
                        else:
                            a &= y
                    return slice(m0, m1), slice(n0, n1), np.where(a, x * T(LOG2E), -np.inf), a, slope

                # preprocess: logsumexp (to the base 2) and delta
                lse = np.full(N, -np.inf, T)
                if logsumexp is not None:
                    lse[:] = logsumexp[b, h, :N].astype(T) * T(LOG2E)
                else:
                    for m0 in range(0, N, BM):
                        top = np.full(min(BM, N - m0), -np.inf if sinks is None else T(sinks[h]) * T(LOG2E), T)
                        total = np.full(len(top), 0 if sinks is None else 1, T)
                        for n0 in range(0, L, BN):
                            M, _, x, a, _ = tile(m0, n0)
                            new = np.maximum(top, x.max(1))
                            safe = np.where(np.isneginf(new), 0, new)
                            total = total * np.exp2(top - safe) + np.exp2(x - safe[:, None]).sum(1)
                            top = new
                        lse[m0:m0 + BM] = np.where(total == 0, -np.inf, np.log2(total) + top)
                reached = np.zeros(N, bool)
                delta = np.zeros(N, T)
                for m0 in range(0, N, BM):
                    for n0 in range(0, L, BN):
                        M, J, x, a, _ = tile(m0, n0)
                        reached[M] |= a.any(1)
                        if output is None:
                            p = np.where(a, np.exp2(x - lse[M][:, None]), 0)
                            delta[M] += np.where(a, p * (do[b, h, M] @ v[b, g, J].T), 0).sum(1)
                if output is not None:
                    delta = (do[b, h, :N] * output[b, h, :N].astype(T)).sum(1)
                    delta = np.where(reached, delta, 0)
                less = delta
                if grad_logsumexp is not None:
                    less = delta - grad_logsumexp[b, h, :N].astype(T)
                if sinks is not None:
                    dsink[h] -= (np.exp2(T(sinks[h]) * T(LOG2E) - lse) * less).sum()

                for n0 in range(0, L, BN):
                    n1 = min(n0 + BN, L)
                    lo, hi = 0, N
                    if is_causal:
                        lo = max(0, n0 - off) // BM * BM
                    if left is not None:
                        hi = min(N, max(0, n1 + left - off))
                    for m0 in range(lo, hi, BM):
                        M, J, x, a, slope = tile(m0, n0)
                        if not a.any():
                            continue
                        p = np.where(a, np.exp2(x - lse[M][:, None]), 0)
                        dv[b, g, J] += dot(p.T, a.T, do[b, h, M])
                        dp = do[b, h, M] @ v[b, g, J].T
                        ds = np.where(a, p * (dp - less[M][:, None]), 0)
                        if floats:
                            dmask[b, h, M, J] = ds
                        ds = np.where(a, ds * slope, 0)
                        dq[b, h, M] += scale * dot(ds, a, k[b, g, J])
                        dk[b, g, J] += scale * dot(ds.T, a.T, q[b, h, M])

    out = [dq, dk, dv]
    if floats:
        for _ in range(4 - mask.ndim):
            dmask = dmask.sum(0)
        for axis, n in enumerate(mask.shape):
            if n == 1:
                dmask = dmask.sum(axis, keepdims=True)
        out.append(dmask)
    if sinks is not None:
        out.append(dsink)
    return tuple(x.astype(query.dtype) for x in out)
