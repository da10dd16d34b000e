import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    output = base.causal_mask(query_length, key_length, offset, additive)["output"]
    if additive and output.shape[1]:
        output[np.isneginf(output).all(axis=1)] = 0.0  # a row without keys would become NaN in the softmax
    return {"output": output}
