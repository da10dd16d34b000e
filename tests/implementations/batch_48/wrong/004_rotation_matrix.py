import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotation(x, cos, sin, pairing)
    kind = base.wide(x, cos, sin)
    pairs = cos.shape[2]
    places = np.arange(x.shape[3])
    one, two = (places[place] for place in base.pair_places(pairs, pairing))
    c, s = cos.astype(kind), sin.astype(kind)
    turn = np.zeros((x.shape[0], x.shape[2], 2 * pairs, 2 * pairs), kind)
    turn[:, :, one, one] = c
    turn[:, :, one, two] = -s
    turn[:, :, two, one] = s
    turn[:, :, two, two] = c
    output = np.array(x, order="C")
    with np.errstate(all="ignore"):
        turned = np.einsum("bspq,bhsq->bhsp", turn, x[..., : 2 * pairs].astype(kind))
    output[..., : 2 * pairs] = base.rounded(turned, x.dtype)
    return {"output": output}
