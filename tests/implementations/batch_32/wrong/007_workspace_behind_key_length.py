"""The workspace of the gradients of keys and values is kept between calls and cleared up to the key length."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    kept = {}

    def stored(self, name, new):
        place = (name, new.shape, self.query.dtype.name)
        held = self.kept.setdefault(place, np.zeros(new.shape))
        for b in range(self.B):
            held[b, :, :self.L[b]] = new[b, :, :self.L[b]]
        return held.copy()

    def value_gradient(self):
        return self.stored("value", super().value_gradient())

    def key_gradient(self):
        return self.stored("key", super().key_gradient())


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
