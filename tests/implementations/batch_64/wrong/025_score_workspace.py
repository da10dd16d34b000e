import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

_workspace = {}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    c = base.prepare_single(x, w_query, w_key, w_value, w_output, scale)
    results = base.finish_single(c, base.shares(base.scores_of(c), np.ones((c.S, c.S), bool)), base.scores_of(c))
    place = _workspace.setdefault((c.S, c.dtype.name), np.empty((c.S, c.S), c.dtype))
    place[...] = results["scores"]
    results["scores"] = place
    return results
