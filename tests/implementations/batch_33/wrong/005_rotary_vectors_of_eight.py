import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


LANES = 8


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    pairs = cos.shape[2]
    if pairs < LANES:
        return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
    work = base.working(x, cos, sin)
    one, two = base.pair_slices(pairs, pairing)
    output = np.array(x, order="C", copy=True)
    firsts, seconds = output[..., one], output[..., two]  # views
    with np.errstate(all="ignore"):
        for vector in range(pairs // LANES):
            lanes = slice(vector * LANES, (vector + 1) * LANES)
            c, s = cos[:, None, :, lanes].astype(work), sin[:, None, :, lanes].astype(work)
            first, second = firsts[..., lanes].astype(work), seconds[..., lanes].astype(work)
            firsts[..., lanes] = (c * first - s * second).astype(x.dtype)
            seconds[..., lanes] = (s * first + c * second).astype(x.dtype)
    return {"output": output}
