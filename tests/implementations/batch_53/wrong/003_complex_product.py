import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    a, b = base.pair_slices(cos.shape[2], pairing)
    with np.errstate(all="ignore"):
        points = base.wide(x[..., a]) + 1j * base.wide(x[..., b])
        turned = points * (base.wide(cos) + 1j * base.wide(sin))[:, None]
    output = np.array(x, order="C")
    output[..., a] = base.narrow(turned.real, x.dtype)
    output[..., b] = base.narrow(turned.imag, x.dtype)
    return {"output": output}
