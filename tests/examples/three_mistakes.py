"""Attention with three mistakes that have nothing to do with each other, in four dtypes, with every output.

The sign of ALiBi is wrong, results are wider than the query where there are sinks, and a softcap ends in an exception.
"""

import attnspec_reference

name = "three mistakes"
dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, sinks=None, alibi_slopes=None, softcap=None, is_causal=False):
    if softcap:
        query = query / softcap.reshape(1)
    slopes = None if alibi_slopes is None else -alibi_slopes
    found = attnspec_reference.scaled_dot_product_attention(
        query, key, value, sinks=sinks, alibi_slopes=slopes, is_causal=is_causal
    )
    outputs = found._asdict()
    if sinks is not None:
        outputs["output"] = outputs["output"].astype("float64")
    return outputs
