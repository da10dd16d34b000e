import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    out = base.turned(x, cos[:, None], sin[:, None], *base.places(cos.shape[2], pairing))
    still = ~np.any(sin != 0, axis=-1)  # the first token is not turned
    return {"output": np.where(still[:, None, :, None], x, out)}
