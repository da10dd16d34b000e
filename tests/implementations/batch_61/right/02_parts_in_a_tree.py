import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    """Parts of seven keys, each with maximum, sum and output of its own, merged in pairs."""

    def part(self, s, keys):
        x, allowed = s.logits[..., keys], s.allowed[..., keys]
        m = x.max(axis=-1, keepdims=True, initial=-np.inf)
        e = np.where(allowed, np.exp(x - np.where(m == -np.inf, s.work.type(0), m)), s.work.type(0))
        return m, e.sum(axis=-1, keepdims=True), base.average(e, s.vh[:, :, keys], allowed)

    def merge(self, s, one, other):
        m = np.maximum(one[0], other[0])
        shares = [np.where(part[0] == -np.inf, s.work.type(0), np.exp(part[0] - m)) for part in (one, other)]
        return m, one[1] * shares[0] + other[1] * shares[1], one[2] * shares[0] + other[2] * shares[1]

    def softmax(self, s):
        parts = [self.part(s, slice(j, j + 7)) for j in range(0, max(s.K, 1), 7)]
        if s.sinks is not None:
            sink = np.broadcast_to(self.sink_column(s), s.logits.shape[:-1] + (1,))
            parts.append((sink, np.ones_like(sink), np.zeros(s.logits.shape[:-1] + (s.Ev,), dtype=s.work)))
        while len(parts) > 1:
            pairs = [self.merge(s, *parts[i:i + 2]) for i in range(0, len(parts) - 1, 2)]
            parts = pairs + (parts[-1:] if len(parts) % 2 else [])
        m, total, sums = parts[0]
        s.output = np.where(total != 0, sums / total, s.work.type(0))
        s.logsumexp = np.where(total != 0, np.log(total) + m, s.work.type(-np.inf))[..., 0]

    def weigh(self, s):
        pass

    def give(self, s):
        present_key, present_value = self.present(s)
        return {"output": s.output.astype(s.out), "logsumexp": s.logsumexp,
                "present_key": present_key, "present_value": present_value}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())
