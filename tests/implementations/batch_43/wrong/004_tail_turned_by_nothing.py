import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.as_array(x), base.as_array(cos), base.as_array(sin)
    base.check_rotary(x, cos, sin, pairing)
    width = x.shape[3]
    one, two = base.pair_slices(cos.shape[2], pairing)
    w = base.wide(x.dtype)
    full_cos = np.ones(cos.shape[:2] + (width,), dtype=w)
    full_sin = np.zeros_like(full_cos)
    for part in (one, two):
        full_cos[..., part], full_sin[..., part] = cos, sin
    features = x.astype(w)
    partner = features.copy()
    partner[..., one] = -features[..., two]
    partner[..., two] = features[..., one]
    with np.errstate(all="ignore"):
        turned = features * full_cos[:, None] + partner * full_sin[:, None]
    return {"output": base.rounded(turned, x.dtype)}
