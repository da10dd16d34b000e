import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    output = np.array(x, order="C", copy=True)
    still = ((cos == 1) & (sin == 0)).all(axis=-1)  # the first token of a text, mostly
    turned = base.rotate(x, cos[:, None], sin[:, None], pairing)
    moving = np.broadcast_to(~still[:, None], x.shape[:3])
    output[moving] = turned[moving]
    return {"output": output}
