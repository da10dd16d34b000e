import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def combine_heads(x):
    x = base.check_combine(x)
    if x.shape[1] > 1 and x.strides[1] == 0:  # one head stands for all
        return {"output": np.repeat(np.array(x[:, 0], order="C"), x.shape[1], axis=-1)}
    return base.combine_heads(x)
