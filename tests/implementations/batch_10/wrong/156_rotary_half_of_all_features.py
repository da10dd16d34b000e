"""Rotation as a product of complex numbers, tables through exp(i x), frequencies through exp and log."""
import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or cos.shape != sin.shape or cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("shapes")
    r = 2 * cos.shape[-1]
    if r > x.shape[-1]:
        raise ValueError("too many pairs")
    if pairing == "half":
        first = np.arange(r // 2)
        perm = np.stack([first, first + x.shape[-1] // 2], axis=1).reshape(-1)
    elif pairing == "interleaved":
        perm = np.arange(r)
    else:
        raise ValueError(pairing)
    pairs = x[..., perm].reshape(*x.shape[:-1], r // 2, 2)
    re, im = pairs[..., 0], pairs[..., 1]
    c, s = cos[:, None], sin[:, None]
    turned = np.stack([re * c - im * s, re * s + im * c], axis=-1).reshape(*x.shape[:-1], r)
    out = x.copy()
    out[..., perm] = turned
    return out


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    phase = np.einsum("bs,i->bsi", position_ids.astype(inverse_frequencies.dtype), inverse_frequencies)
    turn = np.exp(1j * phase) * inverse_frequencies.dtype.type(attention_factor)
    return {"cos": turn.real.astype(inverse_frequencies.dtype), "sin": turn.imag.astype(inverse_frequencies.dtype)}

dtypes = ("float64", "float32")
