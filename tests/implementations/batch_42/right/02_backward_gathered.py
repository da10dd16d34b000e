import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""No masks: each query gathers the keys that it may attend to. All in float64, the sums from the last to the first."""


class Call(base.Backward):
    def results(self):
        wide = np.float64
        q, k, v, go = (array.astype(wide) for array in (self.query, self.key, self.value, self.grad_output))
        mask = np.broadcast_to(self.mask.astype(wide), self.full) if self.float_mask else None
        gq, gk, gv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
        scale = 1 / np.sqrt(wide(self.E)) if self.scale is None else wide(self.scale)
        delta, grad_scores, grad_logits = np.zeros(self.full[:3]), np.zeros(self.full), np.zeros(self.full)
        grad_sinks = np.zeros(self.H)
        for b in range(self.B):
            for h in reversed(range(self.H)):
                g = h // self.group
                for i in reversed(range(int(self.N[b]))):
                    gl = 0.0 if self.grad_logsumexp is None else wide(self.grad_logsumexp[b, h, i])
                    at = np.flatnonzero(self.pairs[b, h, i])[::-1]
                    logits = scores = scale * (k[b, g, at] * q[b, h, i]).sum(axis=-1)
                    slope = 1.0
                    if self.softcap:
                        t = np.tanh(scores / self.softcap)
                        logits, slope = self.softcap * t, 1 - t * t
                    if self.alibi_slopes is not None:
                        logits = logits - wide(self.alibi_slopes[h]) * np.abs(i + self.first[b] - at)
                    if mask is not None:
                        logits = logits + mask[b, h, i, at]
                    all_logits = logits if self.sinks is None else np.append(logits, wide(self.sinks[h]))
                    if not len(all_logits):
                        continue
                    top = all_logits.max()
                    powers = np.exp(all_logits - top)
                    shares = powers / powers.sum()
                    w = shares[: len(at)]
                    gw = (v[b, g, at] * go[b, h, i]).sum(axis=-1)
                    d = (w * gw).sum() if len(at) else 0.0
                    if self.sinks is not None:
                        grad_sinks[h] += shares[-1] * (gl - d)
                    if not len(at):
                        continue
                    gz = w * (gw - d + gl)
                    gs = gz * slope
                    gq[b, h, i] = scale * (gs[:, None] * k[b, g, at]).sum(axis=0)
                    gk[b, g, at] += scale * gs[:, None] * q[b, h, i]
                    gv[b, g, at] += w[:, None] * go[b, h, i]
                    delta[b, h, i], grad_scores[b, h, i, at], grad_logits[b, h, i, at] = d, gs, gz
        found = {"grad_query": gq.astype(self.dtype), "grad_key": gk.astype(self.dtype), "grad_value": gv.astype(self.dtype)}
        if self.float_mask:
            self.grad_logits = grad_logits
            found["grad_mask"] = self.mask_gradient().astype(self.kind)
        if self.sinks is not None:
            found["grad_sinks"] = grad_sinks.astype(self.kind)
        return found | {"delta": delta.astype(self.kind), "grad_scores": grad_scores.astype(self.kind)}


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()
