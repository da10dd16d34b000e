"""The Jacobian of the softmax written out for each query, over gathered keys, in powers of two, sums in pairwise trees."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(terms):
    """Sum along the first axis, halves with halves."""
    if len(terms) == 0:
        return np.zeros(terms.shape[1:], terms.dtype)
    while len(terms) > 1:
        half = len(terms) // 2
        rest = terms[2 * half:]
        terms = np.concatenate([terms[:half] + terms[half:2 * half], rest])
    return terms[0]


class Jacobian(base.Backward):
    def work(self, dtype):
        return base.own_work(dtype)

    def _run(self, a):
        log2e = a.W(1.4426950408889634)
        gq = np.zeros(a.q.shape, a.W)
        for_key = [[[[] for _ in range(a.Sk)] for _ in range(a.Hkv)] for _ in range(a.B)]
        full, gscores = np.zeros((2, a.B, a.Hq, a.Sq, a.Sk), a.W)
        deltas, sink_terms = np.zeros((a.B, a.Hq, a.Sq), a.W), [[] for _ in range(a.Hq)]
        for b in reversed(range(a.B)):
            for i in reversed(range(a.N[b])):
                p = i + self.offset(a, b)
                for h in range(a.Hq):
                    g = h // a.group
                    idx = self.keys(a, b, h, i, p)
                    glse = a.W(0) if a.glse is None else a.glse[b, h, i]
                    if len(idx) == 0:
                        sink_terms[h].append(glse)
                        continue
                    k, v, q, go = a.k[b, g][idx], a.v[b, g][idx], a.q[b, h, i], a.go[b, h, i]
                    s = tree((k * q).T) * a.scale
                    logits = s if a.cap is None else a.cap * np.tanh(s / a.cap)
                    if a.slopes is not None:
                        logits = logits - a.slopes[h] * np.abs(p - idx).astype(a.W)
                    if a.float_mask is not None:
                        logits = logits + a.float_mask[b, h, i][idx]
                    row = logits if a.sinks is None else np.append(logits, a.sinks[h])
                    powers = np.exp2((row - row.max()) * log2e)
                    shares = powers / tree(powers)
                    w = shares[:len(idx)]
                    gw = tree((v * go).T)
                    jacobian = w[:, None] * (np.eye(len(w), dtype=a.W) - w[None, :])
                    gl = tree((jacobian * gw[None, :]).T) + w * glse
                    deltas[b, h, i] = delta = tree(w * gw)
                    if a.sinks is not None:
                        sink_terms[h].append(shares[-1] * (glse - delta))
                    gs = gl if a.cap is None else gl / np.cosh(s / a.cap) ** 2
                    full[b, h, i, idx], gscores[b, h, i, idx] = gl, gs
                    gq[b, h, i] = a.scale * tree(gs[:, None] * k)
                    for n, j in enumerate(idx):
                        for_key[b][g][j].append(np.concatenate([gs[n] * q * a.scale, w[n] * go]))
        both = np.zeros((a.B, a.Hkv, a.Sk, a.E + a.Ev), a.W)
        for b in range(a.B):
            for g in range(a.Hkv):
                for j in range(a.Sk):
                    if for_key[b][g][j]:
                        both[b, g, j] = tree(np.array(for_key[b][g][j]))
        result = {"grad_query": base.cast(gq, a.dtype), "grad_key": base.cast(both[..., :a.E], a.dtype),
                  "grad_value": base.cast(both[..., a.E:], a.dtype)}
        if a.float_mask is not None:
            result["grad_mask"] = base.cast(self.reduce_mask(a, full), a.dtype)
        if a.sinks is not None:
            result["grad_sinks"] = base.cast(np.array([tree(np.array(t, a.W)) for t in sink_terms], a.W).reshape(a.Hq), a.dtype)
        result["delta"], result["grad_scores"] = deltas, gscores
        return result


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Jacobian().run(**dict(locals()))
