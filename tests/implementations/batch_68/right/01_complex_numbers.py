import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def complex_of(real, imaginary):
    plane = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.result_type(real.dtype, np.complex64))
    plane.real, plane.imag = real, imaginary
    return plane


def apply_rotary(x, cos, sin, pairing="half"):
    """Pairs are complex numbers, and are multiplied by those of their tokens."""
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    dtype = base.wide(x.dtype)
    one, two = base.pair_places(cos.shape[-1], pairing)
    turned = x.astype(dtype)
    with np.errstate(all="ignore"):
        points = complex_of(turned[..., one], turned[..., two])
        points = points * complex_of(cos.astype(dtype), sin.astype(dtype))[:, None]
    output = np.array(x, order="C", copy=True)
    output[..., one], output[..., two] = base.narrow(points.real, x.dtype), base.narrow(points.imag, x.dtype)
    return {"output": output}
