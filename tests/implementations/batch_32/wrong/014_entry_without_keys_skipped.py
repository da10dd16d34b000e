"""A batch entry without keys is skipped, and what its queries give to the sinks with it."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def sink_gradient(self):
        total = np.zeros(self.Hq)
        for b in range(self.B):
            if self.L[b] == 0:
                continue
            n = self.N[b]
            total += (self.sink_share()[b, :, :n] * (self.glse - self.delta)[b, :, :n]).sum(axis=-1)
        return total


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
