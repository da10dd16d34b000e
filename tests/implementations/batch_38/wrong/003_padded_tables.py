import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    missing = x.shape[-1] // 2 - cos.shape[-1]
    if pairing == "interleaved" and missing > 0:
        ends = ((0, 0), (0, 0), (0, missing))
        work = base.wide(cos.dtype)
        cos = np.pad(cos.astype(work), ends, constant_values=1).astype(cos.dtype)
        sin = np.pad(sin.astype(work), ends, constant_values=0).astype(sin.dtype)
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
