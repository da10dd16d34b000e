import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    """One product of complex numbers, tokens before heads, tokens in tiles of 24."""
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    work = np.complex128 if x.dtype == np.float64 else np.complex64
    rotated = 2 * cos.shape[-1]
    output = np.array(x, copy=True, order="C")
    one, two = base.pair_slices(rotated, pairing)
    turn = np.empty(cos.shape, work)
    turn.real, turn.imag = cos, sin
    for start in range(0, x.shape[2], 24):
        rows = slice(start, start + 24)
        points = np.empty(x[:, :, rows, one].shape, work)
        points.real, points.imag = x[:, :, rows, one], x[:, :, rows, two]
        with np.errstate(all="ignore"):
            points = points * turn[:, None, rows]
        output[:, :, rows, one] = points.real.astype(x.dtype)
        output[:, :, rows, two] = points.imag.astype(x.dtype)
    return {"output": output}
