import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    pairs = cos.shape[2]
    one, two = base.pair_slices(pairs, pairing)
    cos2 = np.ones((x.shape[0], 1, *x.shape[2:]), dtype=base.wide(x.dtype))
    sin2 = np.zeros_like(cos2)
    for part in (one, two):
        cos2[..., part], sin2[..., part] = cos[:, None], sin[:, None]
    features = base.widen(x)
    partners = features.copy()  # what is not rotated has the sine 0
    partners[..., one], partners[..., two] = -features[..., two], features[..., one]
    with np.errstate(all="ignore"):
        return {"output": (features * cos2 + partners * sin2).astype(x.dtype)}
