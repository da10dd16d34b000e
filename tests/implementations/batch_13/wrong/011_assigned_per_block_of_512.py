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


BLOCK_Q, BLOCK_K = 16, 32
LOG2E = 1.4426950408889634


def product(a, keep, x):
    """a @ x over the pairs that are kept, so that what others hold is never read"""
    if np.isfinite(x).all():
        return a @ x
    return np.where(keep[:, :, None], a[:, :, None] * x[None], 0).sum(1, dtype=a.dtype)


class Head:
    """what the kernels read of one head of one batch entry"""

    def __init__(self, q, k, v, do, scale, softcap, slope, mask, causal, window, shift):
        self.q, self.k, self.v, self.do, self.scale, self.softcap, self.slope = q, k, v, do, scale, softcap, slope
        self.mask, self.causal, self.window, self.shift = mask, causal, window, shift

    def tile(self, i0, i1, j0, j1):
        """logits in units of log 2, factor of the cap, and which pairs are kept"""
        p = np.arange(i0, i1)[:, None] + self.shift
        j = np.arange(j0, j1)[None, :]
        keep = np.ones((i1 - i0, j1 - j0), bool)
        if self.causal:
            keep &= j <= p
        if self.window is not None:
            left, right = self.window
            if left is not None:
                keep &= j >= p - left
            if right is not None:
                keep &= j <= p + right
        s = (self.q[i0:i1] @ self.k[j0:j1].T) * self.scale
        slant = np.ones_like(s)
        if self.softcap:
            t = np.tanh(s / self.softcap)
            s = t * self.softcap
            slant = 1 - t * t
        if self.slope is not None:
            s = s - self.slope * np.abs(p - j).astype(s.dtype)
        if self.mask is not None:
            m = self.mask[i0:i1, j0:j1] if self.mask.shape[0] != 1 else self.mask[:, j0:j1]
            if m.dtype == bool:
                keep &= m
            else:
                keep &= m != -np.inf
                s = s + np.where(m == -np.inf, 0, m)
        return np.where(keep, s * s.dtype.type(LOG2E), -np.inf), slant, keep

    def key_range(self, i0, i1, L):
        """tiles of keys that a tile of queries may reach"""
        first, last = 0, L
        if self.causal:
            last = min(last, i1 - 1 + self.shift + 1)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                first = max(first, i0 + self.shift - left)
            if right is not None:
                last = min(last, i1 - 1 + self.shift + right + 1)
        first = first // BLOCK_K * BLOCK_K
        return range(first, max(first, last), BLOCK_K)

    def query_range(self, j0, j1, N):
        """tiles of queries that may reach a tile of keys"""
        first, last = 0, N
        if self.causal:
            first = max(first, j0 - self.shift)
        if self.window is not None:
            left, right = self.window
            if right is not None:
                first = max(first, j0 - right - self.shift)
            if left is not None:
                last = min(last, j1 - 1 + left - self.shift + 1)
        first = first // BLOCK_Q * BLOCK_Q
        return range(first, max(first, last), BLOCK_Q)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    wide = np.result_type(query.dtype, np.float32)
    scale = wide.type(1 / np.sqrt(E) if scale is None else scale)
    softcap = wide.type(softcap) if softcap else None
    query, key, value, grad_output = (x.astype(wide) for x in (query, key, value, grad_output))
    sinks = None if sinks is None else sinks.astype(wide)
    dq, dk, dv = (np.zeros(x.shape, wide) for x in (query, key, value))
    delta = np.zeros((B, Hq, Sq), wide)
    dsinks = np.zeros(Hq, wide)
    mask4 = dmask = None
    if mask is not None:
        mask4 = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        if mask.dtype != bool:
            dmask = np.zeros(mask4.shape, wide)
    with np.errstate(all="ignore"):
        for b in range(B):
            L = Sk if key_lengths is None else int(key_lengths[b])
            N = Sq if query_lengths is None else int(query_lengths[b])
            shift = L - N if causal_alignment == "bottom_right" else 0
            for h in range(Hq):
                g = h // (Hq // Hkv)
                m = None
                if mask4 is not None:
                    m = mask4[b if mask4.shape[0] > 1 else 0, h if mask4.shape[1] > 1 else 0][:, :L]
                    m = m if m.dtype == bool else m.astype(wide)
                slope = None if alibi_slopes is None else alibi_slopes[h].astype(wide)
                one = Head(query[b, h, :N], key[b, g, :L], value[b, g, :L], grad_output[b, h, :N], scale, softcap, slope,
                           m, is_causal, window, shift)
                extra = np.zeros(N, wide) if grad_logsumexp is None else grad_logsumexp[b, h, :N].astype(wide)
                sink = None if sinks is None else sinks[h]

                # the logarithm of the denominator, to the base 2, and delta
                lse = np.zeros(N, wide)
                seen = np.zeros(N, bool)
                for i0 in range(0, N, BLOCK_Q):
                    i1 = min(N, i0 + BLOCK_Q)
                    top = np.full(i1 - i0, -np.inf if sink is None else sink * LOG2E, wide)
                    total = np.zeros(i1 - i0, wide) if sink is None else np.ones(i1 - i0, wide)
                    met = np.zeros(i1 - i0, wide)
                    for j0 in one.key_range(i0, i1, L):
                        j1 = min(L, j0 + BLOCK_K)
                        s, slant, keep = one.tile(i0, i1, j0, j1)
                        seen[i0:i1] |= keep.any(1)
                        new = np.maximum(top, s.max(1))
                        base = np.where(np.isneginf(new), 0, new)
                        e = np.exp2(s - base[:, None])
                        shrink = np.exp2(top - base)
                        total = total * shrink + e.sum(1)
                        dp = np.where(keep, one.do[i0:i1] @ one.v[j0:j1].T, 0)
                        met = met * shrink + np.where(keep, e * dp, 0).sum(1)
                        top = new
                    some = total != 0
                    lse[i0:i1] = np.where(some, top + np.log2(np.where(some, total, 1)), 0)
                    delta[b, h, i0:i1] = np.where(some, met / np.where(some, total, 1), 0)
                if logsumexp is not None:
                    lse = np.where(seen, logsumexp[b, h, :N].astype(wide) * wide.type(LOG2E), lse)
                if output is not None:
                    dots = (grad_output[b, h, :N] * output[b, h, :N].astype(wide)).sum(1)
                    delta[b, h, :N] = np.where(seen, dots, 0)
                rest = extra - delta[b, h, :N]

                # keys and values
                for j0 in range(0, L, BLOCK_K):
                    j1 = min(L, j0 + BLOCK_K)
                    for i0 in (x for c in range(0, N, 512) for x in one.query_range(j0, j1, N) if c <= x < c + 512):
                        if i0 % 512 == 0:
                            dk[b, g, j0:j1] = 0 if h % (Hq // Hkv) == 0 else dk[b, g, j0:j1]
                        i1 = min(N, i0 + BLOCK_Q)
                        s, slant, keep = one.tile(i0, i1, j0, j1)
                        w = np.where(keep, np.exp2(s - lse[i0:i1, None]), 0)
                        dp = one.do[i0:i1] @ one.v[j0:j1].T
                        ds = np.where(keep, w * (dp + rest[i0:i1, None]) * slant, 0)
                        dv[b, g, j0:j1] += product(w.T, keep.T, one.do[i0:i1])
                        dk[b, g, j0:j1] += product(ds.T, keep.T, one.q[i0:i1]) * scale

                # queries, and the mask
                for i0 in range(0, N, BLOCK_Q):
                    i1 = min(N, i0 + BLOCK_Q)
                    for j0 in one.key_range(i0, i1, L):
                        j1 = min(L, j0 + BLOCK_K)
                        s, slant, keep = one.tile(i0, i1, j0, j1)
                        w = np.where(keep, np.exp2(s - lse[i0:i1, None]), 0)
                        dp = one.do[i0:i1] @ one.v[j0:j1].T
                        dl = np.where(keep, w * (dp + rest[i0:i1, None]), 0)
                        ds = np.where(keep, dl * slant, 0)
                        dq[b, h, i0:i1] += product(ds, keep, one.k[j0:j1]) * scale
                        if dmask is not None:
                            there = dmask[b if dmask.shape[0] > 1 else 0, h if dmask.shape[1] > 1 else 0]
                            if there.shape[0] > 1 or Sq == 1:
                                there[i0:i1, j0:j1] += dl
                            else:
                                there[0, j0:j1] += dl.sum(0)
                if sink is not None:
                    share = np.where(seen, np.exp2(sink * LOG2E - lse), 1)
                    dsinks[h] += (share * rest).sum()
    out = {"grad_query": dq, "grad_key": dk, "grad_value": dv}
    if dmask is not None:
        out["grad_mask"] = dmask.reshape(mask.shape)
    if sinks is not None:
        out["grad_sinks"] = dsinks
    out["delta"] = delta
    return out
