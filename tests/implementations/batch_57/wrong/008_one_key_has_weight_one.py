import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def gradient_of_logits(self):
        super().gradient_of_logits()
        if self.Sk == 1 and self.sinks is None:
            # softmax of one number is constant
            self.grad_logits = 0.0 * self.grad_logits
            self.grad_scores = 0.0 * self.grad_scores


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()
