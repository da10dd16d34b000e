import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.as_array(x), base.as_array(cos), base.as_array(sin)
    if x.ndim == 4 and cos.ndim == sin.ndim == 3 and cos.shape == sin.shape:
        cos, sin = cos[:, : x.shape[2]], sin[:, : x.shape[2]]  # tables are made for the longest text
    return base.apply_rotary(x, cos, sin, pairing)
