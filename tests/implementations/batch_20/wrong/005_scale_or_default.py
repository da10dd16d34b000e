import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Mine(base.Backward):
    @property
    def factor(self):
        given = self.p.given["scale"]
        return float(given or 1 / self.p.E**0.5)

    def grad_query(self):
        return self.factor * base.mm(self.ds, self.p.krep, self.p.allowed)

    def grad_key(self):
        return self.factor * base.mm(base.swap(self.ds), self.p.q, base.swap(self.p.allowed))


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()
