"""Tiles of 3 queries and 5 keys with an online softmax, stored output and logsumexp where given, float32 throughout."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
BM, BN = 3, 5


class Tiled(base.Backward):
    def work(self, dtype):
        return base.own_work(dtype)

    def tile(self, a, b, h, m, n):
        g, i, j = h // a.group, np.arange(a.N[b])[m][:, None], np.arange(a.L[b])[n][None, :]
        p = i + self.offset(a, b)
        may = np.ones((i.size, j.size), bool)
        if a.causal:
            may &= j <= p
        if a.left is not None:
            may &= p - j <= a.left
        if a.right is not None:
            may &= j - p <= a.right
        s = np.einsum("ie,je->ij", a.q[b, h, m][:i.size], a.k[b, g, n][:j.size]) * a.scale
        t = s if a.cap is None else np.tanh(s / a.cap)
        logits = s if a.cap is None else t * a.cap
        if a.slopes is not None:
            logits = logits - np.abs(p - j).astype(a.W) * a.slopes[h]
        if a.bool_mask is not None:
            may &= a.bool_mask[b, h, m, n][:i.size, :j.size]
        if a.float_mask is not None:
            bias = a.float_mask[b, h, m, n][:i.size, :j.size]
            may &= bias != -np.inf
            logits = logits + bias
        slope = np.ones_like(s) if a.cap is None else (1 - t) * (1 + t)
        return may, np.where(may, logits, -np.inf), slope

    def _run(self, a):
        gq, gk, gv = np.zeros(a.q.shape, a.W), np.zeros(a.k.shape, a.W), np.zeros(a.v.shape, a.W)
        full = np.zeros((a.B, a.Hq, a.Sq, a.Sk), a.W)
        grad_sinks, deltas = np.zeros(a.Hq, a.W), np.zeros((a.B, a.Hq, a.Sq), a.W)
        for b in range(a.B):
            rows = [slice(x, min(x + BM, a.N[b])) for x in range(0, a.N[b], BM)]
            cols = [slice(x, min(x + BN, a.L[b])) for x in range(0, a.L[b], BN)]
            for h in range(a.Hq):
                g = h // a.group
                for m in rows:
                    size = m.stop - m.start
                    go = a.go[b, h, m]
                    top, total = np.full(size, -np.inf, a.W), np.zeros(size, a.W)
                    mean, any_key = np.zeros(size, a.W), np.zeros(size, bool)
                    if a.sinks is not None:
                        top, total = np.full(size, a.sinks[h], a.W), np.ones(size, a.W)
                    for n in cols:
                        may, logits, _ = self.tile(a, b, h, m, n)
                        any_key |= may.any(axis=1)
                        new = np.maximum(top, logits.max(axis=1))
                        shrink = np.where(top == -np.inf, 0, np.exp(top - new)).astype(a.W)
                        powers = np.where(may, np.exp(logits - new[:, None]), 0).astype(a.W)
                        gw = np.einsum("ie,je->ij", go, a.v[b, g, n])
                        total = total * shrink + powers.sum(axis=1)
                        mean = mean * shrink + np.where(may, powers * gw, 0).sum(axis=1)
                        top = new
                    lse = top + np.log(total) if a.lse is None else a.lse[b, h, m]
                    if a.lse is None:
                        delta = mean / np.where(total == 0, 1, total)
                    if a.out is not None:
                        delta = (go * a.out[b, h, m]).sum(axis=1)
                    elif a.lse is not None:
                        delta = mean / np.where(total == 0, 1, total)
                    delta = np.where(any_key, delta, 0).astype(a.W)
                    glse = np.zeros(size, a.W) if a.glse is None else a.glse[b, h, m]
                    deltas[b, h, m] = delta
                    if a.sinks is not None:
                        share = np.where(any_key, np.exp(a.sinks[h] - lse), 1)
                        grad_sinks[h] += (share * (glse - delta)).sum()
                    for n in reversed(cols):
                        may, logits, slope = self.tile(a, b, h, m, n)
                        w = np.where(may, np.exp(logits - lse[:, None]), 0).astype(a.W)
                        gw = np.einsum("ie,je->ij", go, a.v[b, g, n])
                        gl = np.where(may, w * (gw - delta[:, None] + glse[:, None]), 0)
                        gs = np.where(may, gl * slope, 0)
                        full[b, h, m, n] = gl
                        see = may[:, :, None]
                        gv[b, g, n] += np.where(see, w[:, :, None] * go[:, None], 0).sum(axis=0)
                        gq[b, h, m] += np.where(see, gs[:, :, None] * a.k[b, g, n][None], 0).sum(axis=1) * a.scale
                        gk[b, g, n] += np.where(see, gs[:, :, None] * a.q[b, h, m][:, None], 0).sum(axis=0) * a.scale
        result = {"grad_query": base.cast(gq, a.dtype), "grad_key": base.cast(gk, a.dtype), "grad_value": base.cast(gv, a.dtype)}
        if a.float_mask is not None:
            result["grad_mask"] = base.cast(self.reduce_mask(a, full), a.dtype)
        if a.sinks is not None:
            result["grad_sinks"] = base.cast(grad_sinks, a.dtype)
        result["delta"] = base.cast(deltas, a.dtype)
        return result


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Tiled().run(**dict(locals()))
