import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    output = base.rotate(x, cos[:, None], sin[:, None], pairing)
    at_start = (sin == 0).all(axis=-1)  # position 0 is not turned: keep its numbers bit for bit
    return {"output": np.where(at_start[:, None, :, None], x, output)}
