import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotation(x, cos, sin, pairing)
    kind = base.wide(x, cos, sin)
    pairs, width = cos.shape[2], x.shape[3]
    one, two = base.pair_places(pairs, pairing)
    c, s = cos.astype(kind)[:, None], sin.astype(kind)[:, None]
    a, b = base.rotate(x[..., one].astype(kind), x[..., two].astype(kind), c, s)
    a, b = base.rounded(a, x.dtype), base.rounded(b, x.dtype)
    if pairing == "interleaved" and 2 * pairs == width:
        return {"output": np.stack([a, b], axis=-1).reshape(x.shape)}
    return {"output": np.concatenate([a, b, x[..., 2 * pairs:]], axis=-1)}
