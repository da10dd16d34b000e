import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged_heads_first"



class Engine(base.PagedHeadsFirst):
    def sequence(self, q, k, v, mask, a):
        """Flash decoding: the keys in four parts, each with its logarithm, then merged."""
        length, n = k.shape[1], q.shape[1]
        p = np.arange(n) + (length - n if a["causal_alignment"] == "bottom_right" else 0)
        j = np.arange(length)
        bounds = [0] + [min(t * -(-max(length, 1) // 4), length) for t in range(1, 5)]
        outs, logs = [], []
        for number, (x, y) in enumerate(zip(bounds[:-1], bounds[1:])):
            core = base.Attention()
            w = base.wide(q.dtype)
            with np.errstate(all="ignore"):
                s = core.cap(core.score(q[None], core.share(k[None, :, x:y], q.shape[0]),
                                        core.factor(a["scale"], q.shape[2], w)), a["softcap"])
                s = core.bias(s, a["alibi_slopes"], (p - x)[None], w)
                m = None if mask is None else np.asarray(mask)[..., x:y]
                ok = core.allowed(s.shape, (p - x)[None], np.array([y - x]), a["is_causal"], a["window"], m)
                s = np.where(ok, core.add_mask(s, m, w), -np.inf).astype(w)
                weights, log = core.softmax(s, ok, a["sinks"] if number == 0 else None, w)
                outs.append(core.weigh(weights, core.share(v[None, :, x:y], q.shape[0]), ok))
                logs.append(log)
        return self.merge(outs, logs, a, q)

    def merge(self, outs, logs, a, q):
        with np.errstate(all="ignore"):
            logs = np.stack(logs)
            top = logs.max(0)
            rows = np.isneginf(top)
            w = np.exp(logs - np.where(rows, 0, top))
            total = w.sum(0)
            # the mean over the splits, those without keys included: their weight is 0 and their output is 0
            out = (w[..., None] * np.stack(outs)).sum(0) / np.where(rows, 1, total)[..., None]
            mean = out
            late = np.stack([np.exp(l - logs[0]) for l in logs])        # relative to the first split
            total = late.sum(0)
            log = np.where(rows, -np.inf, logs[0] + np.log(total))
        return mean[0].astype(q.dtype), log[0].astype(q.dtype)


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Engine().run(**locals())
