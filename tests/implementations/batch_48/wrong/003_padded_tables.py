import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def partner(x, pairs, pairing):
    """Every feature's partner in its pair, minus the second where the first stands; the rest has none, and stays."""
    out = np.array(x)
    one, two = base.pair_places(pairs, pairing)
    out[..., one], out[..., two] = -x[..., two], x[..., one]
    return out


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotation(x, cos, sin, pairing)
    kind = base.wide(x, cos, sin)
    pairs, width = cos.shape[2], x.shape[3]
    one, two = base.pair_places(pairs, pairing)
    c = np.ones((x.shape[0], 1, x.shape[2], width), kind)  # the rest turns by no angle
    s = np.zeros_like(c)
    c[..., one] = c[..., two] = cos[:, None]
    s[..., one] = s[..., two] = sin[:, None]
    work = x.astype(kind)
    with np.errstate(all="ignore"):
        output = work * c + partner(work, pairs, pairing) * s
    return {"output": base.rounded(output, x.dtype)}
