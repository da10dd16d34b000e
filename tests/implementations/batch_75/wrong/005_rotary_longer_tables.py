import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing, tokens=False)
    batch, _, tokens, _ = x.shape
    base.refuse(cos.shape[0] != batch, "tables of another batch")
    base.refuse(cos.shape[1] < tokens, "tables too short")
    cos, sin = cos[:, :tokens], sin[:, :tokens]
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
