import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def gradient_of_mask(self):
        gradient = super().gradient_of_mask()
        # an expanded mask has one place in memory for many entries: all of them add to it
        repeated = tuple(axis for axis, step in enumerate(self.mask.strides) if step == 0)
        if repeated:
            gradient = np.broadcast_to(gradient.sum(axis=repeated, keepdims=True), gradient.shape)
        return gradient


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()
