import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gather(base.Backward):
    """Query by query, on gathered keys alone; float32 throughout where the dtype is not float64."""

    def steps(self):
        self.place()
        kind = np.float64 if self.dtype == np.float64 else np.float32
        q, k, v, do, glse = (x.astype(kind) for x in (self.q, self.k, self.v, self.do, self.glse))
        bias = np.broadcast_to(np.asarray(self.bias(), kind), self.allowed.shape)
        added = np.broadcast_to(np.asarray(self.mask).astype(kind), self.allowed.shape) if self.float_mask else None
        scale = kind(self.scale)
        dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        gl = np.zeros(self.allowed.shape, kind)
        gs = np.zeros(self.allowed.shape, kind)
        delta = np.zeros(glse.shape, kind)
        dsink = np.zeros(self.Hq, kind)
        for b in range(self.B):
            for h in range(self.Hq):
                for i in reversed(range(int(self.N[b]))):
                    js = np.flatnonzero(self.allowed[b, h, i])
                    if not len(js):
                        if self.sinks is not None:
                            dsink[h] += glse[b, h, i]
                        continue
                    s = (k[b, h, js] @ q[b, h, i]) * scale
                    t = np.tanh(s / kind(self.cap)) if self.cap else None
                    x = (kind(self.cap) * t if self.cap else s) + bias[b, h, i, js]
                    if added is not None:
                        x = x + added[b, h, i, js]
                    if self.sinks is not None:
                        x = np.append(x, self.sinks[h].astype(kind))
                    e = np.exp(x - x.max())
                    w = e / e.sum()
                    if self.sinks is not None:
                        w, lone = w[:-1], w[-1]
                    g = v[b, h, js] @ do[b, h, i]
                    d = (w * g).sum()
                    delta[b, h, i] = d
                    if self.sinks is not None:
                        dsink[h] += lone * (glse[b, h, i] - d)
                    y = w * (g - d + glse[b, h, i])
                    gl[b, h, i, js] = y
                    if self.cap:
                        y = y * (1 - t) * (1 + t)
                    gs[b, h, i, js] = y
                    dq[b, h, i] = (y @ k[b, h, js]) * scale
                    dk[b, h, js] += y[:, None] * q[b, h, i]
                    dv[b, h, js] += w[:, None] * do[b, h, i]
        answer = {"grad_query": dq, "grad_key": self.share_heads(dk * scale), "grad_value": self.share_heads(dv),
                  "delta": delta, "grad_scores": gs}
        if self.float_mask:
            answer["grad_mask"] = base.sum_to(gl, self.mask.shape)
        if self.sinks is not None:
            answer["grad_sinks"] = dsink
        return self.rounding(answer)


def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None):
    return Gather().run(**locals())
