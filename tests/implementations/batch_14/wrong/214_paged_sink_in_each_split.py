import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged"



class Engine(base.Paged):
    def sequence(self, q, k, v, mask, a):
        """Flash decoding: the keys in two parts, each with its logarithm, then merged."""
        length, n = k.shape[1], q.shape[1]
        p = np.arange(n) + (length - n if a["causal_alignment"] == "bottom_right" else 0)
        j = np.arange(length)
        bounds = [0, length // 2, length] if length > 1 else [0, length]
        outs, logs = [], []
        for number, (x, y) in enumerate(zip(bounds[:-1], bounds[1:])):
            core = base.Attention()
            w = base.wide(q.dtype)
            with np.errstate(all="ignore"):
                s = core.cap(core.score(q[None], core.share(k[None, :, x:y], q.shape[0]),
                                        core.factor(a.get("scale"), q.shape[2], w)), a["softcap"])
                s = core.bias(s, a["alibi_slopes"], (p - x)[None], w)
                m = None if mask is None else np.asarray(mask)[..., x:y]
                ok = core.allowed(s.shape, (p - x)[None], np.array([y - x]), a["is_causal"], a["window"], m)
                s = np.where(ok, core.add_mask(s, m, w), -np.inf).astype(w)
                weights, log = core.softmax(s, ok, a["sinks"], w)
                outs.append(core.weigh(weights, core.share(v[None, :, x:y], q.shape[0]), ok))
                logs.append(log)
        return self.merge(outs, logs, a, q)

    def merge(self, outs, logs, a, q):
        out, log = np.zeros_like(outs[0]) if outs else None, None
        for o, l in zip(outs, logs):
            if log is None:
                out, log = o, l
            else:
                r = base.merge_states(out, log, o, l)
                out, log = r["output"], r["logsumexp"]
        return out[0], log[0]


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Engine().run(**locals())
