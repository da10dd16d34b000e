import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    wide = base.work(x.dtype)
    b, h, s, e = x.shape
    one, two = base.pair_slices(cos.shape[2], pairing)
    rows = np.array(x, order="C").reshape(b * h, s, e)
    c, n = np.tile(cos.astype(wide), (h, 1, 1)), np.tile(sin.astype(wide), (h, 1, 1))  # a table for each (batch, head)
    first, second = base.rotate(rows[..., one].astype(wide), rows[..., two].astype(wide), c, n)
    rows[..., one], rows[..., two] = base.rounded(first, x.dtype), base.rounded(second, x.dtype)
    return {"output": rows.reshape(b, h, s, e)}
