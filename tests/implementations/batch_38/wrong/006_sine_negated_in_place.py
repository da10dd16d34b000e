import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    one, two = base.pair_slices(2 * cos.shape[-1], pairing)
    work = np.float64 if np.float64 in (x.dtype, cos.dtype, sin.dtype) else np.float32
    first, second = x[..., one].astype(work), x[..., two].astype(work)
    output = np.array(x, copy=True, order="C")
    cosine, sine = cos.astype(work, copy=False), sin.astype(work, copy=False)
    if not sine.flags.writeable or 0 in sine.strides:
        sine = sine.copy()
    with np.errstate(all="ignore"):
        np.negative(sine, out=sine)
        output[..., one] = (cosine[:, None] * first + sine[:, None] * second).astype(x.dtype)
        np.negative(sine, out=sine)
        output[..., two] = (sine[:, None] * first + cosine[:, None] * second).astype(x.dtype)
    return {"output": output}
