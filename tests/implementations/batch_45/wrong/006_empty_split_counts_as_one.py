import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    split = 32

    def attend(self):
        if self.K <= self.split:
            return super().attend()
        ok = self.allowed()
        logits = self.bias(self.cap(self.dots() * self.scale)).astype(self.work)
        outs, lses = [], []
        for k0 in range(0, self.K, self.split):
            k1 = min(k0 + self.split, self.K)
            m, total, acc = base.part(logits[..., k0:k1], ok[..., k0:k1], self.v[:, :, k0:k1])
            total = np.where(total == 0, 1, total)  # no division by zero
            outs.append(acc / total)
            lses.append(base.safe(m) + np.log(total))
        if self.sinks is not None:
            outs.append(np.zeros_like(outs[0]))
            lses.append(np.broadcast_to(self.sinks, lses[0].shape))
        highest = np.maximum.reduce(lses)
        shares = [np.exp(lse - highest) for lse in lses]
        total = sum(shares)
        output = sum(share * out for share, out in zip(shares, outs)) / total
        lse = (highest + np.log(total))[..., 0]
        dead = ~ok.any(axis=-1)
        alone = -np.inf if self.sinks is None else np.broadcast_to(self.sinks[..., 0], lse.shape)
        return {"output": np.where(dead[..., None], 0, output).astype(self.work),
                "logsumexp": np.where(dead, alone, lse).astype(self.work)}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
