"""Position indices in the dtype of the tensors."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    if c.slopes is not None:
        j = np.arange(c.T).astype(c.dtype).astype(c.work)
        p = c.pos.astype(c.dtype).astype(c.work)
        distance = np.abs(p[:, None, :, None] - j)
        bias, c.slopes = -c.slopes[:, None, None] * distance, None
    else:
        bias = c.work.type(0)
    with np.errstate(all="ignore"):
        x = base.excluded(c, base.biased(c, base.capped(c, base.scores(c)) + bias))
    weights, lse = base.softmax(c, x)
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)))
