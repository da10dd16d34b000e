import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""No masks: for each query the keys that it may attend to are gathered, and sums run in float64 from the small terms up."""


class Kernel(base.Attention):
    def attend(self):
        ok = self.allowed()
        output = np.zeros((self.B, self.Hq, self.Sq, self.Ev))
        weights = np.zeros((self.B, self.Hq, self.Sq, self.K))
        lse = np.full((self.B, self.Hq, self.Sq), -np.inf)
        for b, h, i in np.ndindex(self.B, self.Hq, self.Sq):
            keys = np.flatnonzero(ok[b, h, i])
            logits = (self.k[b, h, keys].astype(np.float64) * self.q[b, h, i]).sum(axis=-1) * np.float64(self.scale)
            if self.a.softcap:
                logits = np.tanh(logits / self.a.softcap) * self.a.softcap
            if self.a.alibi_slopes is not None:
                logits = logits - np.float64(self.a.alibi_slopes[h]) * np.abs(keys - self.p[b, i])
            if self.mask is not None and self.mask.dtype != bool:
                full = np.broadcast_to(self.mask, (self.B, self.Hq, self.Sq, self.K))
                logits = logits + full[b, h, i, keys]
            joined = logits if self.sinks is None else np.append(logits, np.float64(self.sinks[0, h, 0, 0]))
            if not len(joined):
                continue
            m = base.safe(joined.max())
            e = np.exp(joined - m)
            total = np.sort(e).sum()
            lse[b, h, i] = m + np.log(total) if total != 0 else -np.inf
            shares = e[: len(keys)] / (total if total != 0 else 1)
            weights[b, h, i, keys] = shares
            rows = shares[:, None] * self.v[b, h, keys]
            output[b, h, i] = rows[np.argsort(shares)].sum(axis=0)
        return {"output": output, "weights": weights.astype(self.work), "logsumexp": lse.astype(self.work)}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
