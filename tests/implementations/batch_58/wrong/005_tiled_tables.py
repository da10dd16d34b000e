import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    work = base.work_dtype(x)
    batch, heads, tokens, width = x.shape
    a, b = base.pair_slices(cos.shape[2], pairing)
    # one axis for batch and heads, as the kernel wants it
    output = np.array(x, order="C", copy=True).reshape(batch * heads, tokens, width)
    first, second = output[..., a].astype(work), output[..., b].astype(work)
    c, s = np.tile(cos.astype(work), (heads, 1, 1)), np.tile(sin.astype(work), (heads, 1, 1))
    with np.errstate(all="ignore"):
        output[..., a] = (c * first - s * second).astype(x.dtype)
        output[..., b] = (s * first + c * second).astype(x.dtype)
    return {"output": output.reshape(x.shape)}
