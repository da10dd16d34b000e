import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.as_array(x), base.as_array(cos), base.as_array(sin)
    base.check_rotary(x, cos, sin, pairing)
    one, two = base.pair_slices(cos.shape[2], pairing)
    w = base.wide(x.dtype)
    output = x.copy()
    c, n = cos.astype(w), sin.astype(w)
    turning = ~((c == 1).all(axis=-1) & (n == 0).all(axis=-1))
    for entry, token in zip(*np.nonzero(turning)):  # position 0 stays where it is
        row = x[entry, :, token]
        first, second = base.turn(row[:, one].astype(w), row[:, two].astype(w), c[entry, token], n[entry, token])
        output[entry, :, token, one] = base.rounded(first, x.dtype)
        output[entry, :, token, two] = base.rounded(second, x.dtype)
    return {"output": output}
