import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    """Each pair is a complex number, multiplied by another; features are gathered by an order and put back by its inverse."""
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    batch, heads, tokens, width = x.shape
    pairs = cos.shape[2]
    order = np.stack(base.places(pairs, pairing), axis=-1).reshape(-1)
    back = np.argsort(order)
    work = base.carrier(x.dtype)
    kind = np.complex128 if work == np.float64 else np.complex64
    points = np.ascontiguousarray(x[..., order].astype(work)).view(kind)
    turns = np.empty(cos.shape, kind)
    turns.real, turns.imag = cos, sin
    with np.errstate(all="ignore"):
        for b in range(batch):  # token by token, last one first
            for s in reversed(range(tokens)):
                points[b, :, s] = turns[b, s] * points[b, :, s]
        moved = points.view(work)[..., back].astype(x.dtype)
    return {"output": np.concatenate([moved, x[..., 2 * pairs :]], axis=-1)}
