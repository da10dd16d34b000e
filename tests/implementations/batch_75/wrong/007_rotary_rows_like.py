import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    pairs, width = cos.shape[2], x.shape[3]
    one, two = base.pair_slices(pairs, pairing)
    shape = (*x.shape[:3], pairs)
    c, s = (np.broadcast_to(base.widen(t)[:, None], shape).reshape(-1, pairs) for t in (cos, sin))
    source = base.widen(x).reshape(-1, width) if width else base.widen(x)
    output = np.zeros_like(x)
    if not output.size:
        return {"output": output}
    rows = output.reshape(-1, width)
    rows[:, 2 * pairs:] = source[:, 2 * pairs:].astype(x.dtype)
    with np.errstate(all="ignore"):
        rows[:, one] = (c * source[:, one] - s * source[:, two]).astype(x.dtype)
        rows[:, two] = (s * source[:, one] + c * source[:, two]).astype(x.dtype)
    return {"output": output}
