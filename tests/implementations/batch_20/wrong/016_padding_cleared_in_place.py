import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    base.check(**locals())
    given = dict(locals())
    if query_lengths is not None:
        clean = np.asarray(grad_output, dtype=np.float64)  # a copy, it is hoped
        for b, n in enumerate(query_lengths):
            clean[b, :, int(n):] = 0
        given["grad_output"] = clean
    return base.matrices(**given)
