import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def combine_heads(x):
    x = np.asarray(x)
    base.check_combine(x)
    batch, heads, tokens, features = x.shape
    dtype = base.wide(x.dtype)
    places = np.eye(heads * features, dtype=dtype)
    output = np.zeros((batch, tokens, heads * features), dtype=dtype)
    with np.errstate(all="ignore"):
        for head in range(heads):
            output += x[:, head].astype(dtype) @ places[head * features : (head + 1) * features]
    return {"output": base.narrow(output, x.dtype)}
