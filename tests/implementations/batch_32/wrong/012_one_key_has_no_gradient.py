"""With a single key and no sink the weight is 1, and the gradient of its logit is set to 0 at once."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def logit_gradients(self):
        if self.Sk == 1 and self.sinks is None and np.isfinite(self.dp).all() and np.isfinite(self.w).all():
            self.dl = np.zeros_like(self.w)  # the softmax of one number is constant
        else:
            super().logit_gradients()


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
