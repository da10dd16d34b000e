"""Rotary positions by complex numbers and logarithms."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    R = 2 * cos.shape[2]
    turned = x[..., :R]
    if pairing == "half":
        pairs = turned.reshape(x.shape[:3] + (2, R // 2))
        one, two = pairs[..., 0, :], pairs[..., 1, :]
    else:
        pairs = turned.reshape(x.shape[:3] + (R // 2, 2))
        one, two = pairs[..., 0], pairs[..., 1]
    with np.errstate(all="ignore"):
        c, s = cos[:, None], sin[:, None]
        z = one * c - two * s, one * s + two * c
    axis = -2 if pairing == "half" else -1
    turned = np.stack(z, axis).reshape(x.shape[:3] + (R,))
    return np.concatenate([turned, x[..., R:]], -1).astype(x.dtype)


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    ids, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.refuse(ids.ndim != 2 or f.ndim != 1 or ids.dtype.kind not in "iu", "rank")
    phase = np.multiply.outer(ids.astype(np.float64), f.astype(np.float64))
    z = attention_factor * np.exp(1j * phase)
    return {"cos": z.real.astype(f.dtype), "sin": z.imag.astype(f.dtype)}


def rotary_frequencies(width, theta=10000, factor=None):
    base.check_frequencies(width=width, theta=theta)
    f = np.exp(-np.arange(0, width, 2) / width * math.log(theta))
    return {"inverse_frequencies": f, "attention_factor": np.float64(1)}
