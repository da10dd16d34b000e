import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def apply_rotary(x, cos, sin, pairing="half"):
    """Pairs as complex numbers, gathered by places, turned by a product, and scattered back."""
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    work, pairs = base.work_dtype(x), cos.shape[2]
    places = np.arange(2 * pairs).reshape((2, pairs) if pairing == "half" else (pairs, 2))
    if pairing == "half":
        places = places.T
    points = np.ascontiguousarray(np.take(x, places, axis=3).astype(work))  # (B, H, S, R/2, 2)
    turns = np.ascontiguousarray(np.stack([cos, sin], axis=-1).astype(work))
    kind = np.complex128 if work == np.float64 else np.complex64
    with np.errstate(all="ignore"):
        turned = points.view(kind)[..., 0] * turns.view(kind)[..., 0][:, None]
        output = np.array(x, order="C", copy=True)
        output[..., places[:, 0]] = turned.real.astype(x.dtype)
        output[..., places[:, 1]] = turned.imag.astype(x.dtype)
    return {"output": output}
