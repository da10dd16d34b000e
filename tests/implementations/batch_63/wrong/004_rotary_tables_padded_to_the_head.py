import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    wide = base.work(x.dtype)
    half, e = cos.shape[2], x.shape[3]
    rest = e // 2 - half  # pairs that are not turned: cosine 1, sine 0
    c = np.pad(cos.astype(wide), ((0, 0), (0, 0), (0, rest)), constant_values=1)[:, None]
    s = np.pad(sin.astype(wide), ((0, 0), (0, 0), (0, rest)))[:, None]
    one, two = (np.arange(2 * half)[part] for part in base.pair_slices(half, pairing))
    beyond = np.arange(2 * half, 2 * half + 2 * rest)
    one, two = np.concatenate([one, beyond[0::2]]), np.concatenate([two, beyond[1::2]])
    first, second = base.rotate(x[..., one].astype(wide), x[..., two].astype(wide), c, s)
    output = np.array(x, order="C")
    output[..., one], output[..., two] = base.rounded(first, x.dtype), base.rounded(second, x.dtype)
    return {"output": output}
