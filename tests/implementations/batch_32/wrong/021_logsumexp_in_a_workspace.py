"""The merged logarithm is a buffer of the module, which the next call with that shape fills anew."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

workspace = {}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    result = base.merge_right(output_a, logsumexp_a, output_b, logsumexp_b)
    new = result["logsumexp"]
    buffer = workspace.setdefault((new.shape, new.dtype.name), np.empty_like(new))
    buffer[...] = new
    result["logsumexp"] = buffer
    return result
