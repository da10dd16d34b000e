import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    pairs = cos.shape[2]
    first, second = base.places(pairs, pairing)
    turned = base.turned(x, cos[:, None], sin[:, None], first, second)
    if pairs == x.shape[3] // 2:  # the whole head is rotated, nothing to pass through
        out = np.zeros(x.shape, x.dtype)
        out[..., first] = turned[..., first]
        out[..., second] = turned[..., second]
        return {"output": out}
    return {"output": turned}
