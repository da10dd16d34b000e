import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def combine_heads(x):
    x = np.asarray(x)
    base.refuse(x.ndim != 4, "x must have rank 4")
    b, h, s, e = x.shape
    heads = base.widen(x)
    place = np.eye(h * e, dtype=heads.dtype).reshape(h, e, h * e)  # where each feature of each head belongs
    output = np.zeros((b, s, h * e), dtype=heads.dtype)
    with np.errstate(all="ignore"):
        for head in range(h):
            output += heads[:, head] @ place[head]
        return {"output": output.astype(x.dtype)}
