import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = map(np.asarray, (x, cos, sin))
    base.check_apply(x, cos, sin, pairing)
    if not sin.flags.writeable:
        sin = sin.copy()
    dtype = base.wide(x, cos, sin)
    a, b = base.places(cos.shape[2], pairing)
    out = np.array(x, order="C")
    first, second = out[..., a].astype(dtype), out[..., b].astype(dtype)
    with np.errstate(all="ignore"):
        np.negative(sin, out=sin)
        out[..., a] = (np.expand_dims(cos, 1).astype(dtype) * first + np.expand_dims(sin, 1).astype(dtype) * second).astype(x.dtype)
        np.negative(sin, out=sin)
        out[..., b] = (np.expand_dims(sin, 1).astype(dtype) * first + np.expand_dims(cos, 1).astype(dtype) * second).astype(x.dtype)
    return out
