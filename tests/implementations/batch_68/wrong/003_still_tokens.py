import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    output = np.array(x, order="C", copy=True)
    still = (cos == 1).all(axis=-1) & (sin == 0).all(axis=-1)  # position 0 turns nothing
    for b in range(x.shape[0]):
        tokens = np.flatnonzero(~still[b])
        if len(tokens):
            turned = base.turn(x[b : b + 1, :, tokens], cos[b : b + 1, None, tokens], sin[b : b + 1, None, tokens], pairing)
            output[b, :, tokens] = turned[0].swapaxes(0, 1)
    return {"output": output}
