import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    wide = base.work(x.dtype)
    half = cos.shape[2]
    c, s = cos.astype(wide)[:, None], sin.astype(wide)[:, None]
    output = np.array(x, order="C")
    turned = x[..., : 2 * half]
    order = np.arange(2 * half)
    if pairing == "interleaved":  # even features first, then the odd ones: half from here on
        order = np.concatenate([order[0::2], order[1::2]])
    turned = turned[..., order].astype(wide)
    first, second = base.rotate(turned[..., :half], turned[..., half:], c, s)
    output[..., : 2 * half] = base.rounded(np.concatenate([first, second], axis=-1)[..., order], x.dtype)
    return {"output": output}
