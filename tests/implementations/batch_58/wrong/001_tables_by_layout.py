import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def _beside(x, table, work):
    """Tables get the axis of heads, wherever the heads are."""
    if x.shape[1] == table.shape[1]:  # tokens before heads
        return table.astype(work)[:, :, None, :]
    return table.astype(work)[:, None, :, :]


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    work = base.work_dtype(x)
    a, b = base.pair_slices(cos.shape[2], pairing)
    first, second = x[..., a].astype(work), x[..., b].astype(work)
    c, s = _beside(x, cos, work), _beside(x, sin, work)
    output = np.array(x, order="C", copy=True)
    with np.errstate(all="ignore"):
        output[..., a] = (c * first - s * second).astype(x.dtype)
        output[..., b] = (s * first + c * second).astype(x.dtype)
    return {"output": output}
