import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def excluded(mask):
    """Masks are filled with -inf, -1e9, -1e4, or the least number of the dtype."""
    wide = base.wide(mask)
    return np.where(wide <= -1e4, -np.inf, wide)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    given = dict(locals())
    base.check(**given)
    if mask is not None and mask.dtype != bool:
        given["mask"] = excluded(mask)
    return base.matrices(**given)
