import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim == 4 and cos.ndim == 3 and cos.shape[0] == 1 and sin.shape == cos.shape:
        cos, sin = (np.repeat(t, x.shape[0], axis=0) for t in (cos, sin))
    return base.apply_rotary(x, cos, sin, pairing)
