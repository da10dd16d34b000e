import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    """Complex numbers, in tiles of three tokens and five pairs, gathered by index."""
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    wide = base.work(x.dtype)
    half, tokens = cos.shape[2], x.shape[2]
    pairs = np.arange(2 * half)
    pairs = pairs.reshape(2, half).T if pairing == "half" else pairs.reshape(half, 2)
    output = np.array(x, order="C")
    for start in range(0, tokens, 3):
        for left in range(0, half, 5):
            features = pairs[left : left + 5]
            points = np.ascontiguousarray(x[:, :, start : start + 3][..., features].astype(wide))
            table = np.stack([cos[:, start : start + 3, left : left + 5], sin[:, start : start + 3, left : left + 5]], -1)
            turns = np.ascontiguousarray(table.astype(wide))
            kind = np.complex128 if wide is np.float64 else np.complex64
            with np.errstate(all="ignore"):
                turned = points.view(kind)[..., 0] * turns.view(kind)[..., 0][:, None]
            part = output[:, :, start : start + 3]
            part[..., features[:, 0]] = base.rounded(turned.real, x.dtype)
            part[..., features[:, 1]] = base.rounded(turned.imag, x.dtype)
    return {"output": output}
