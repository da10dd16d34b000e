import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    batch, heads, tokens, features = x.shape
    pairs = cos.shape[2]
    a, b = base.pair_slices(pairs, pairing)
    work = x.astype(np.float64)
    rows = work.reshape(batch * heads * tokens, features)
    shape = (batch, heads, tokens, pairs)
    c = np.broadcast_to(base.wide(cos)[:, None], shape).reshape(len(rows), pairs)
    s = np.broadcast_to(base.wide(sin)[:, None], shape).reshape(len(rows), pairs)
    first, second = base.turn(rows[:, a].copy(), rows[:, b].copy(), c, s)
    rows[:, a], rows[:, b] = first, second
    output = base.narrow(work, x.dtype)
    output[..., 2 * pairs:] = x[..., 2 * pairs:]
    return {"output": output}
