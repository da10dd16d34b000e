"""Pairs are complex numbers, and so are the turns; in double precision for every dtype."""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"half_precision_grade": "fused"}


def _complex(real, imaginary):
    z = np.empty(real.shape, np.complex128)
    z.real, z.imag = real, imaginary
    return z


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("x has four axes, the tables have three")
    if cos.shape != sin.shape:
        raise ValueError("tables of different shapes")
    pairs = cos.shape[2]
    if cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("tables for other tokens")
    if 2 * pairs > x.shape[3]:
        raise ValueError("more pairs than features")
    if pairing == "half":
        first, second = slice(0, pairs), slice(pairs, 2 * pairs)
    elif pairing == "interleaved":
        first, second = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    else:
        raise ValueError("pairing is half or interleaved")
    turn = _complex(cos, sin)[:, None]
    output = np.array(x)
    with np.errstate(all="ignore"):
        turned = _complex(x[..., first], x[..., second]) * turn
        output[..., first] = turned.real.astype(x.dtype)
        output[..., second] = turned.imag.astype(x.dtype)
    return output
