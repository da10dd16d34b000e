import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def tree(parts):
    """Sum by halves, as threads do."""
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [parts[n] + parts[n + half] for n in range(half)]
    return parts[0]


class Mine(base.Backward):
    def group_sum(self, a):
        p = self.p
        if p.Hkv == 0:
            return super().group_sum(a)
        return tree([a[:, n :: p.G] for n in range(p.G)]) if p.G else np.zeros((p.B, p.Hkv) + a.shape[2:])


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()
