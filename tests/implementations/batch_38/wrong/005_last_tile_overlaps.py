import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 32


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    output = np.array(x, copy=True, order="C")
    tokens = x.shape[2]
    for start in range(0, tokens, TILE):
        if start + TILE > tokens:
            start = max(tokens - TILE, 0)
        rows = slice(start, start + TILE)
        output[:, :, rows] = base.rotate(output[:, :, rows], cos[:, None, rows], sin[:, None, rows], pairing)
    return {"output": output}
