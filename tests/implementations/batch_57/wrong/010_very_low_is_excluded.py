import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def attendable(self):
        super().attendable()
        if self.mask is not None and self.mask.dtype != bool:
            # models mask with -1e9 or the lowest number; such keys have no weight anyway, so that tiles can be skipped
            self.allowed = self.allowed & ~(base.wide(self.placed_mask()) <= -1e9)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()
