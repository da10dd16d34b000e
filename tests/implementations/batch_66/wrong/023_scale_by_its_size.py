import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def spread(scale, batch, heads):
    """The scale as (B, Hkv)."""
    if scale.size == batch * heads:
        return scale.reshape(batch, heads)
    if scale.size == heads:
        return np.broadcast_to(scale.reshape(1, heads), (batch, heads))
    if scale.size == batch:
        return np.broadcast_to(scale.reshape(batch, 1), (batch, heads))
    return np.broadcast_to(scale.reshape(1, 1), (batch, heads))


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    arguments = dict(locals())
    base.check(base.DEFAULTS | arguments)
    for name in ("query_scale", "key_scale", "value_scale"):
        if arguments[name] is not None:
            arguments[name] = spread(np.asarray(arguments[name]), query.shape[0], key.shape[1])
    return base.finish(base.prepare(arguments))
