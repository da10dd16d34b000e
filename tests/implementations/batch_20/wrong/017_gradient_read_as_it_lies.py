import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def contiguous(array):
    """The numbers in one piece."""
    return np.ravel(array, order="K").reshape(array.shape)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    given = dict(locals())
    base.check(**given)
    given["grad_output"] = contiguous(grad_output)
    return base.matrices(**given)
