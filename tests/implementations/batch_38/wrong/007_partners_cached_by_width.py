import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_partners = {}


def _partner_table(features, rotated, pairing):
    key = (features, pairing)
    if key not in _partners:
        index, sign = np.arange(features), np.zeros(features)
        one, two = base.pair_slices(rotated, pairing)
        index[one], index[two] = np.arange(features)[two], np.arange(features)[one]
        sign[one], sign[two] = -1, 1
        _partners[key] = index, sign
    return _partners[key]


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    rotated = 2 * cos.shape[-1]
    index, sign = _partner_table(x.shape[-1], rotated, pairing)
    wx, cosine, sine = base.widened(x, cos, sin)
    if pairing == "half":
        cosine, sine = np.concatenate([cosine, cosine], -1), np.concatenate([sine, sine], -1)
    else:
        cosine, sine = np.repeat(cosine, 2, -1), np.repeat(sine, 2, -1)
    output = np.array(x, copy=True, order="C")
    with np.errstate(all="ignore"):
        partner = wx[..., index[:rotated]] * sign[:rotated].astype(wx.dtype)
        turned = wx[..., :rotated] * cosine[:, None] + partner * sine[:, None]
        output[..., :rotated] = turned.astype(x.dtype)
    return {"output": output}
