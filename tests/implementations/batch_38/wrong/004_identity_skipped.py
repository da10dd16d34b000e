import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    output = base.rotate(x, cos[:, None], sin[:, None], pairing)
    still = ((cos == 1) & (sin == 0))[:, None]  # position 0 does not turn
    for part in base.pair_slices(2 * cos.shape[-1], pairing):
        np.copyto(output[..., part], x[..., part], where=still)
    return {"output": output}
