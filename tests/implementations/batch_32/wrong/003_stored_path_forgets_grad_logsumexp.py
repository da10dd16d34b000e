"""The path for output and logsumexp both stored was written before grad_logsumexp was."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def find_delta(self):
        if self.output is None or self.logsumexp is None:
            return super().find_delta()
        self.delta_from_output(self.output)
        self.glse = np.zeros_like(self.glse)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
