import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def own(array, work):
    """The array in the working dtype, without a copy where it has that dtype."""
    spread = any(stride == 0 and extent > 1 for stride, extent in zip(array.strides, array.shape))
    return array.astype(work) if spread or not array.flags.writeable else array.astype(work, copy=False)


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    work = base.carrier(x.dtype)
    cosine, sine = own(cos, work), own(sin, work)
    first, second = base.places(cos.shape[2], pairing)
    out = np.array(x, order="C")
    one, other = x[..., first].astype(work), x[..., second].astype(work)
    with np.errstate(all="ignore"):
        np.negative(sine, out=sine)
        out[..., first] = (cosine[:, None] * one + sine[:, None] * other).astype(x.dtype)
        np.negative(sine, out=sine)
        out[..., second] = (sine[:, None] * one + cosine[:, None] * other).astype(x.dtype)
    return {"output": out}
