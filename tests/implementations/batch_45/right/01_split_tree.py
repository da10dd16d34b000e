import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""Keys in splits of 5, each a base-2 softmax of its own, merged in a pairwise tree; the sink is one more leaf."""


LOG2E = 1.4426950408889634074


def leaf(logits, allowed, values, work):
    kept = np.where(allowed, logits * work.type(LOG2E), -np.inf).astype(work)
    m = kept.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.where(allowed, np.exp2(kept - base.safe(m)), 0).astype(work)
    return m, e.sum(axis=-1, keepdims=True), base.weigh(e, allowed, values)


def pair(one, other):
    m = np.maximum(one[0], other[0])
    a, b = np.exp2(one[0] - base.safe(m)), np.exp2(other[0] - base.safe(m))
    return m, one[1] * a + other[1] * b, one[2] * a + other[2] * b


class Kernel(base.Attention):
    def attend(self):
        ok = self.allowed()
        logits = self.bias(self.cap(self.dots() * self.scale)).astype(self.work)
        leaves = [leaf(logits[..., k : k + 5], ok[..., k : k + 5], self.v[:, :, k : k + 5], self.work)
                  for k in range(0, max(self.K, 1), 5)]
        if self.sinks is not None:
            like = leaves[0]
            sink = np.broadcast_to(self.sinks * self.work.type(LOG2E), like[0].shape)
            leaves.append((sink, np.ones_like(like[1]), np.zeros_like(like[2])))
        while len(leaves) > 1:
            leaves = [pair(*leaves[n : n + 2]) if n + 1 < len(leaves) else leaves[n] for n in range(0, len(leaves), 2)]
        m, total, acc = leaves[0]
        lse = np.where(total == 0, -np.inf, (np.log2(total) + base.safe(m)) * self.work.type(np.log(2)))
        return {"output": acc / np.where(total == 0, 1, total), "logsumexp": lse[..., 0].astype(self.work)}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
