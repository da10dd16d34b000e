import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    d = inverse_frequencies.dtype
    phase = np.multiply.outer(position_ids.astype(np.float64), inverse_frequencies.astype(np.float64))
    turn = np.exp(1j * phase) * attention_factor
    return {"cos": turn.real.astype(d), "sin": turn.imag.astype(d)}


def apply_rotary(x, cos, sin, pairing="half"):
    """As a product of complex numbers, the real and the imaginary part of a pair."""
    base.check_rotary(x, cos, sin, pairing)
    r = cos.shape[2]
    pairs = x[..., :2 * r]
    pairs = pairs.reshape(x.shape[:3] + (2, r)).swapaxes(-1, -2) if pairing == "half" else pairs.reshape(x.shape[:3] + (r, 2))
    first, second = pairs[..., 0], pairs[..., 1]
    turned = np.empty(pairs.shape, x.dtype)
    with np.errstate(all="ignore"):
        c, s = cos[:, None], sin[:, None]
        turned[..., 0] = c * first + -s * second
        turned[..., 1] = c * second + s * first
    if pairing == "half":
        turned = turned.swapaxes(-1, -2)
    return np.concatenate([turned.reshape(x.shape[:3] + (2 * r,)), x[..., 2 * r:]], axis=-1)
