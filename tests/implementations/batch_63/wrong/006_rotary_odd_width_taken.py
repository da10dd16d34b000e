import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    width = x.shape[-1] if x.ndim == 4 else 0
    if width % 2:  # features come in pairs: an odd one gets a zero beside it, which is dropped at the end
        x = np.concatenate([x, np.zeros_like(x[..., :1])], axis=-1)
    base.check_rotary(x, cos, sin, pairing)
    wide = base.work(x.dtype)
    one, two = base.pair_slices(cos.shape[2], pairing)
    c, s = cos.astype(wide)[:, None], sin.astype(wide)[:, None]
    first, second = base.rotate(x[..., one].astype(wide), x[..., two].astype(wide), c, s)
    output = np.array(x, order="C")
    output[..., one], output[..., two] = base.rounded(first, x.dtype), base.rounded(second, x.dtype)
    return {"output": np.ascontiguousarray(output[..., :width])}
