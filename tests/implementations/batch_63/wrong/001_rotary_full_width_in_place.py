import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    wide = base.work(x.dtype)
    half = cos.shape[2]
    one, two = base.pair_slices(half, pairing)
    c, s = cos.astype(wide)[:, None], sin.astype(wide)[:, None]
    if 2 * half == x.shape[3]:  # nothing is left over: no need to assemble anything
        turned = x.astype(wide, copy=False)
    else:
        turned = x.astype(wide)
    turned[..., one], turned[..., two] = base.rotate(turned[..., one], turned[..., two], c, s)
    output = base.rounded(turned, x.dtype)
    output[..., 2 * half :] = x[..., 2 * half :]
    return {"output": output}
