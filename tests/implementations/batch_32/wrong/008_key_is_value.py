"""Where key and value are the same array, both gradients are the total one of that array."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def same_tensor(self):
        k, v = self.key, self.value
        return (k.shape == v.shape and k.strides == v.strides
                and k.__array_interface__["data"][0] == v.__array_interface__["data"][0])

    def last(self, out):
        if self.same_tensor():
            out["grad_key"] = out["grad_value"] = out["grad_key"] + out["grad_value"]


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
