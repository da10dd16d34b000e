import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    # all sequences start at the same position: one table for the whole batch
    if x.shape[0] > 1 and np.all(cos[:, :1] == cos[:1, :1]) and np.all(sin[:, :1] == sin[:1, :1]):
        cos, sin = cos[:1], sin[:1]
    return {"output": base.turned(x, cos[:, None], sin[:, None], *base.places(cos.shape[2], pairing))}
