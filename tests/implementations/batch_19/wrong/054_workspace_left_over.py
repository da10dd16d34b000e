"""Results are written to a workspace that is kept between calls."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
WORKSPACES = {}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    shape = (c.B, c.H, c.Sq, c.Ev)
    if (shape, c.dtype.name) not in WORKSPACES:
        if len(WORKSPACES) > 8:
            WORKSPACES.clear()
        WORKSPACES[shape, c.dtype.name] = np.zeros(shape, c.work)
    workspace = WORKSPACES[shape, c.dtype.name]
    weights, lse = base.softmax(c, base.logits(c))
    result = base.weigh(weights, c.ok, base.shared(c, c.v))
    some = c.ok.any(axis=-1)
    workspace[some] = result[some]
    return base.finish(c, workspace.copy(), **base.wide(c, logsumexp=lse))
