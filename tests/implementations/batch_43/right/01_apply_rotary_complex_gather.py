import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    """Pairs are gathered by index and turned as complex numbers, one batch entry after the other, tokens backwards."""
    x, cos, sin = base.as_array(x), base.as_array(cos), base.as_array(sin)
    base.check_rotary(x, cos, sin, pairing)
    pairs, width = cos.shape[2], x.shape[3]
    number = np.arange(pairs)
    one, two = (number, number + pairs) if pairing == "half" else (2 * number, 2 * number + 1)
    back = np.empty(width, dtype=np.intp)
    back[one], back[two] = number, number + pairs
    back[2 * pairs :] = np.arange(2 * pairs, width)
    kind = np.complex128 if x.dtype == np.float64 else np.complex64
    real = np.float64 if x.dtype == np.float64 else np.float32
    output = np.empty(x.shape, dtype=x.dtype)
    for entry in range(x.shape[0]):
        for token in reversed(range(x.shape[2])):
            row = np.take(x[entry, :, token], np.concatenate([one, two, np.arange(2 * pairs, width)]), axis=1)
            point = np.empty((x.shape[1], pairs), dtype=kind)
            point.real, point.imag = row[:, :pairs].astype(real), row[:, pairs : 2 * pairs].astype(real)
            turn = np.empty(pairs, dtype=kind)
            turn.real, turn.imag = cos[entry, token].astype(real), sin[entry, token].astype(real)
            with np.errstate(all="ignore"):
                point = point * turn
            row[:, :pairs] = base.rounded(point.real, x.dtype)
            row[:, pairs : 2 * pairs] = base.rounded(point.imag, x.dtype)
            output[entry, :, token] = row[:, back]
    return {"output": output}
