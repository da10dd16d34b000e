"""Gradients in tiles of 4 queries and 8 keys, in float32 (float64 for float64), from what the forward pass stored where
it is given, else from an online softmax. Excluded pairs are left out by where, tile by tile."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
ROWS, COLUMNS = 4, 8


def masked_product(p, x, seen):
    """(r, c) times (c, d) over seen pairs."""
    return np.where(seen[..., None], p[..., None] * x[None], 0).sum(axis=1, dtype=p.dtype)


class Gradients(base.Backward):
    def widen(self):
        super().widen()
        self.work = base.work_dtype(self.query)
        for name in ("q", "k", "v", "go", "glse"):
            setattr(self, name, getattr(self, name).astype(self.work))

    def run(self):
        self.check()
        with np.errstate(all="ignore"):
            self.widen()
            self.places()
            self.exclude()
            work = self.work
            shape = (self.B, self.Hq, self.Sq)
            mask = None
            if self.mask is not None and self.mask.dtype != bool:
                mask = np.broadcast_to(self.mask4().astype(work), shape + (self.Sk,))
            gq = np.zeros(self.q.shape, work)
            gk, gv = np.zeros(self.k.shape, work), np.zeros(self.v.shape, work)
            self.dl, self.ds = np.zeros(shape + (self.Sk,), work), np.zeros(shape + (self.Sk,), work)
            self.delta, share = np.zeros(shape, work), np.zeros(shape, work)
            factor = work(self.factor)
            cap = work(self.softcap) if self.softcap else None
            for b in range(self.B):
                for h in range(self.Hq):
                    q, k, v, go = self.q[b, h], self.k[b, h], self.v[b, h], self.go[b, h]
                    sink = None if self.sinks is None else self.sinks[h].astype(work)
                    for r in range(0, int(self.N[b]), ROWS):
                        i = np.arange(r, min(r + ROWS, int(self.N[b])))
                        tiles = []
                        m = np.full(len(i), -np.inf if sink is None else sink, work)
                        total = np.full(len(i), 0 if sink is None else 1, work)
                        for c in range(0, self.Sk, COLUMNS):
                            j = np.arange(c, min(c + COLUMNS, self.Sk))
                            seen = self.attend[b, h][i[:, None], j]
                            if not seen.any():
                                continue
                            t = (q[i] @ k[j].T) * factor
                            slope = np.ones_like(t)
                            if cap is not None:
                                y = np.tanh(t / cap)
                                t, slope = cap * y, (1 - y) * (1 + y)
                            if self.alibi_slopes is not None:
                                distance = np.abs(self.p[b, i][:, None] - j).astype(work)
                                t = t - self.alibi_slopes[h].astype(work) * distance
                            if mask is not None:
                                t = t + mask[b, h][i[:, None], j]
                            t = np.where(seen, t, -np.inf)
                            larger = np.maximum(m, t.max(axis=1))
                            safe = np.where(np.isneginf(larger), 0, larger)
                            total = total * np.exp(m - safe) + np.where(seen, np.exp(t - safe[:, None]), 0).sum(axis=1)
                            m = larger
                            tiles.append((j, seen, t, slope))
                        some = self.attend[b, h][i].any(axis=1)
                        lse = m + np.log(total)
                        if self.logsumexp is not None:
                            lse = np.where(np.isnan(lse), lse, self.logsumexp[b, h, i].astype(work))
                        share[b, h, i] = 0 if sink is None or np.isneginf(sink) else np.exp(sink - lse)
                        parts = []
                        delta = np.zeros(len(i), work)
                        for j, seen, t, slope in tiles:
                            w = np.where(seen, np.exp(t - lse[:, None]), 0)
                            dp = np.where(seen, go[i] @ v[j].T, 0)
                            delta += np.where(seen, w * dp, 0).sum(axis=1)
                            parts.append((j, seen, slope, w, dp))
                        if self.output is not None:
                            delta = (go[i] * self.output[b, h, i].astype(work)).sum(axis=1, dtype=work)
                        delta = np.where(some, delta, 0)
                        self.delta[b, h, i] = delta
                        for j, seen, slope, w, dp in reversed(parts):
                            dl = np.where(seen, w * ((dp + self.glse[b, h, i][:, None]) - delta[:, None]), 0)
                            ds = np.where(seen, dl * slope, 0)
                            self.dl[b, h][i[:, None], j] = dl
                            self.ds[b, h][i[:, None], j] = ds
                            gq[b, h, i] += masked_product(ds, k[j], seen)
                            gk[b, h, j] += masked_product(ds.T, q[i], seen.T)
                            gv[b, h, j] += masked_product(w.T, go[i], seen.T)
            out = {"grad_query": gq * factor, "grad_key": self.over_group(gk) * factor, "grad_value": self.over_group(gv)}
            if mask is not None:
                out["grad_mask"] = base.unbroadcast(self.dl, self.mask.shape)
            if self.sinks is not None:
                each = np.where(self.counts[:, None], share * (self.glse - self.delta), 0)
                out["grad_sinks"] = each.sum(axis=(0, 2), dtype=work)
            out["delta"], out["grad_scores"] = self.delta, self.ds
            return {name: array.astype(self.query.dtype) for name, array in out.items()}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
