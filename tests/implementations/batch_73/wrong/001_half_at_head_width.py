import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    pairs = cos.shape[2]
    number = np.arange(pairs)
    if pairing == "half":
        halves = (number, number + x.shape[3] // 2)
    else:
        halves = (2 * number, 2 * number + 1)
    return {"output": base.turned(x, cos[:, None], sin[:, None], *halves)}
