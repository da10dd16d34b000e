import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def partner_matrix(pairs, pairing, dtype):
    """The matrix that puts minus the second feature where the first was, and the first where the second was."""
    index = np.arange(2 * pairs)
    one, two = (index[part] for part in base.pair_slices(pairs, pairing))
    matrix = np.zeros((2 * pairs, 2 * pairs), dtype=dtype)
    matrix[two, one] = -1
    matrix[one, two] = 1
    return matrix


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    pairs = cos.shape[2]
    rotated = base.widen(x)[..., : 2 * pairs]
    spread = np.repeat if pairing == "interleaved" else lambda t, n, axis: np.concatenate([t] * n, axis=axis)
    cos2, sin2 = (spread(base.widen(t), 2, axis=-1)[:, None] for t in (cos, sin))
    output = np.array(x, order="C")
    with np.errstate(all="ignore"):
        partners = rotated @ partner_matrix(pairs, pairing, rotated.dtype)
        output[..., : 2 * pairs] = (rotated * cos2 + partners * sin2).astype(x.dtype)
    return {"output": output}
