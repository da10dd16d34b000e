import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Call(base.Backward):
    def over_group(self, heads):
        split = heads.reshape(self.B, self.G, self.group, *heads.shape[2:]).astype(self.dtype)
        total = np.zeros((self.B, self.G, *heads.shape[2:]), self.dtype)
        for member in range(self.group):
            total = total + split[:, :, member]  # atomic add into the gradient itself
        return total


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()
