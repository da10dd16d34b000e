import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    wide = base.work(x.dtype)
    b, _, s, _ = x.shape
    half = cos.shape[2]
    width = 2 * half
    order = np.arange(width)
    one, two = (order[part] for part in base.pair_slices(half, pairing))
    matrix = np.zeros((b, s, width, width), dtype=wide)  # row vector times matrix
    matrix[:, :, one, one] = cos
    matrix[:, :, two, two] = cos
    matrix[:, :, two, one] = -sin.astype(wide)
    matrix[:, :, one, two] = sin
    with np.errstate(all="ignore"):
        turned = np.einsum("bhsi,bsij->bhsj", x[..., :width].astype(wide), matrix)
    output = np.array(x, order="C")
    output[..., :width] = base.rounded(turned, x.dtype)
    return {"output": output}
