"""Keys in splits, each with a softmax of its own; the states are merged, and every split goes back by itself. Fused."""
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"half_precision_grade": "fused"}


def times(w, see, x):
    odd = ~np.isfinite(x).all(1)
    y = w @ np.where(odd[:, None], 0, x)
    for r in np.flatnonzero(odd):
        y[see[:, r]] += w[see[:, r], r][:, None] * x[r]
    return y


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    for x in (query, key, value):
        if len(x.shape) != 4:
            raise ValueError("four axes")
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    wrong = key.shape != (B, Hkv, Sk, E) or value.shape != (B, Hkv, Sk, Ev) or grad_output.shape != (B, Hq, Sq, Ev)
    wrong = wrong or (Hq % Hkv != 0 if Hkv else Hq != 0)
    wrong = wrong or (grad_logsumexp is not None and grad_logsumexp.shape != (B, Hq, Sq))
    wrong = wrong or (mask is not None and (mask.ndim < 2 or mask.shape[-1] != Sk))
    for n, most in ((key_lengths, Sk), (query_lengths, Sq)):
        wrong = wrong or (n is not None and (n.shape != (B,) or bool(((n < 0) | (n > most)).any())))
    if wrong:
        raise ValueError("shapes or lengths")
    own = query.dtype
    acc = np.dtype(np.float64 if own == np.float64 else np.float32).type
    up = lambda x: np.asarray(x).astype(acc)
    c = acc(scale if scale is not None else 1 / np.sqrt(E))
    m4 = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, Sk))
    soft = mask is not None and mask.dtype != bool
    dq, dk, dv = np.zeros((B, Hq, Sq, E), acc), np.zeros((B, Hkv, Sk, E), acc), np.zeros((B, Hkv, Sk, Ev), acc)
    dmask = np.zeros((B, Hq, Sq, Sk), acc)
    dsink = np.zeros(Hq, acc)
    width = 4
    splits = [(a, min(a + width, Sk)) for a in range(0, Sk, width)]

    with np.errstate(all="ignore"):
        for b in range(B):
            L = Sk if key_lengths is None else int(key_lengths[b])
            N = Sq if query_lengths is None else int(query_lengths[b])
            pos = np.arange(N) + (L - N if causal_alignment == "bottom_right" else 0)
            for h in range(Hq):
                g = h // (Hq // Hkv)
                Q, dO = up(query[b, h, :N]), up(grad_output[b, h, :N])

                def work(lo, hi):
                    K = up(key[b, g, lo:hi])
                    s = c * (Q @ K.T)
                    x, bend = s, acc(1)
                    if softcap:
                        th = np.tanh(s / acc(softcap))
                        x, bend = acc(softcap) * th, 1 - th * th
                    gap = pos[:, None] - np.arange(lo, hi)
                    see = np.broadcast_to(np.arange(lo, hi) < L, gap.shape).copy()
                    if is_causal:
                        see &= gap >= 0
                    if window is not None:
                        if window[0] is not None:
                            see &= gap <= window[0]
                        if window[1] is not None:
                            see &= gap >= -window[1]
                    if alibi_slopes is not None:
                        x = x - acc(alibi_slopes[h]) * abs(gap).astype(acc)
                    if soft:
                        y = up(m4[b, h, :N, lo:hi])
                        see &= ~np.isneginf(y)
                        x = x + y
                    elif mask is not None:
                        see &= m4[b, h, :N, lo:hi]
                    return K, np.where(see, x, -np.inf), see, bend

                # forward: states of the splits, merged
                lse = np.full(N, -np.inf, acc) if sinks is None else np.full(N, acc(sinks[h]))
                delta = np.zeros(N, acc)
                for lo, hi in splits:
                    K, x, see, _ = work(lo, hi)
                    top = x.max(1, initial=-np.inf)
                    safe = np.where(np.isneginf(top), 0, top)
                    p = np.exp(x - safe[:, None])
                    total = p.sum(1)
                    here = np.log(total) + safe
                    p = np.where(see, p / np.where(total == 0, 1, total)[:, None], 0)
                    d = np.where(see, p * (dO @ up(value[b, g, lo:hi]).T), 0).sum(1)
                    both = np.logaddexp(lse, here)
                    old = np.where(np.isneginf(lse), 0, np.exp(lse - both))
                    new = np.where(np.isneginf(here), 0, np.exp(here - both))
                    delta = np.where(new == 0, delta * old, delta * old + d * new)
                    lse = both
                up_by = -delta
                if grad_logsumexp is not None:
                    up_by = up_by + up(grad_logsumexp[b, h, :N])
                if sinks is not None:
                    dsink[h] += (np.exp(acc(sinks[h]) - lse) * up_by).sum()
                for lo, hi in splits:
                    K, x, see, bend = work(lo, hi)
                    p = np.where(see, np.exp(x - lse[:, None]), 0)
                    dp = dO @ up(value[b, g, lo:hi]).T
                    ds = np.where(see, p * (dp + up_by[:, None]), 0)
                    dmask[b, h, :N, lo:hi] = ds
                    ds = np.where(see, ds * bend, 0)
                    dv[b, g, lo:hi] += times(p.T, see.T, dO)
                    dk[b, g, lo:hi] += c * times(ds.T, see.T, Q)
                    dq[b, h, :N] = (dq[b, h, :N] + c * times(ds, see, K)).astype(own)
    out = {"grad_query": dq, "grad_key": dk, "grad_value": dv}
    if soft:
        x = dmask
        for axis in range(4):
            at = axis - (4 - mask.ndim)
            if at < 0 or mask.shape[at] == 1:
                x = x.sum(axis, keepdims=True)
        out["grad_mask"] = x.reshape(mask.shape)
    if sinks is not None:
        out["grad_sinks"] = dsink
    return {k: x.astype(own) for k, x in out.items()}
