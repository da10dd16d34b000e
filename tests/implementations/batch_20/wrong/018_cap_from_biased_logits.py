import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Mine(base.Backward):
    def grad_scores(self):  # the capped scores are at hand: they are the logits
        p = self.p
        if p.c is None:
            return self.dl
        capped = np.where(p.allowed, self.logits, 0.0) / p.c
        return np.where(p.allowed, self.dl * (1 - capped * capped), 0.0)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()
