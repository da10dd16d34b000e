import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def like_key(value, key):
    if value.ndim != 4 or key.ndim != 4 or 0 in value.strides or 0 in key.strides:
        return value
    order = np.argsort([-abs(stride) for stride in key.strides], kind="stable")
    flat = value.ravel(order="K")
    return flat.reshape([value.shape[axis] for axis in order]).transpose(np.argsort(order))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    given = dict(locals())
    c = base.prepare(**given)
    if past_key is None:  # joined with a past both are laid out anew
        given["value"] = like_key(np.asarray(value), np.asarray(key))
        c.v = base.prepare(**given).v
    allowed = base.allowed_of(c)

    scores = base.scores_of(c)
    return base.finish(c, scores, base.biased(c, scores), allowed)
