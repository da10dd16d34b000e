import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    if cos.shape[1] and cos.shape[0] > 1:
        # positions start alike: one table serves the whole batch
        if (cos[:, 0] == cos[:1, 0]).all() and (sin[:, 0] == sin[:1, 0]).all():
            cos, sin = cos[:1], sin[:1]
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
