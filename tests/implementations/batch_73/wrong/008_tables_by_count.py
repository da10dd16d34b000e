import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing, tokens=False)
    batch, _, tokens, _ = x.shape
    pairs = cos.shape[2]
    if cos.shape[0] * cos.shape[1] != batch * tokens:
        raise ValueError("the tables are for other tokens")
    cos, sin = np.array(cos).reshape(batch, tokens, pairs), np.array(sin).reshape(batch, tokens, pairs)
    return {"output": base.turned(x, cos[:, None], sin[:, None], *base.places(pairs, pairing))}
