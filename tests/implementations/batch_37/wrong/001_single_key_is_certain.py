import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Wrong(base.Backward):
    def find_grad_logits(self):
        if self.Sk == 1 and self.sink is None:  # one key has all the weight, whatever its score
            self.dlogits = np.zeros_like(self.weights)
        else:
            super().find_grad_logits()


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Wrong(locals()).run()
