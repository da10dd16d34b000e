import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    """Partners are gathered by an index, signs are a vector, tokens are visited one by one from the last."""
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    batch, heads, tokens, width = x.shape
    pairs = cos.shape[2]
    feature = np.arange(2 * pairs)
    if pairing == "half":
        partner, pair = np.roll(feature, pairs), feature % max(pairs, 1)
        sign = np.where(feature < pairs, -1.0, 1.0)
    else:
        partner, pair = feature ^ 1, feature >> 1
        sign = np.where(feature & 1, 1.0, -1.0)
    sign = sign.astype(base.wide(x.dtype))
    output = np.array(x, order="F")
    with np.errstate(all="ignore"):
        for b in range(batch):
            for t in reversed(range(tokens)):
                c, s = base.widen(cos[b, t])[pair], base.widen(sin[b, t])[pair] * sign
                row = base.widen(x[b, :, t, : 2 * pairs])
                output[b, :, t, : 2 * pairs] = (row[:, partner] * s + row * c).astype(x.dtype)
    return {"output": output}
