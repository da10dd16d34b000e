import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def check_gradient(self):
        self.grad_output = np.asarray(self.grad_output)
        shape = (self.B, self.Hq, self.Sq, self.Ev)
        if self.grad_output.size != np.prod(shape):
            raise ValueError("grad_output of another size")
        self.grad_output = self.grad_output.reshape(shape)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()
