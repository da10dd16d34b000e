import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    work = base.work_dtype(x)
    a, b = base.pair_slices(cos.shape[2], pairing)
    output = np.array(x, order="C", copy=True)
    first = output[..., a].astype(work, copy=False)
    second = output[..., b].astype(work, copy=False)
    c, s = cos.astype(work)[:, None], sin.astype(work)[:, None]
    with np.errstate(all="ignore"):
        output[..., a] = (c * first - s * second).astype(x.dtype)
        output[..., b] = (s * first + c * second).astype(x.dtype)
    return {"output": output}
