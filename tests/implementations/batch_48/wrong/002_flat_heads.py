import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotation(x, cos, sin, pairing)
    kind = base.wide(x, cos, sin)
    batch, heads, tokens, width = x.shape
    flat = np.array(x, order="C").reshape(batch * heads, tokens, width)
    # one row of tables for each sequence of each head
    c = np.tile(cos.astype(kind), (heads, 1, 1))
    s = np.tile(sin.astype(kind), (heads, 1, 1))
    one, two = base.pair_places(cos.shape[2], pairing)
    a, b = base.rotate(flat[..., one].astype(kind), flat[..., two].astype(kind), c, s)
    flat[..., one], flat[..., two] = base.rounded(a, x.dtype), base.rounded(b, x.dtype)
    return {"output": flat.reshape(x.shape)}
