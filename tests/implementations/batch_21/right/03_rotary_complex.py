import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

import math

dtypes = base.FOUR


def apply_rotary(x, cos, sin, pairing="half"):
    """Each pair as a complex number, each token as another; one product."""
    base.check_rotary(x, cos, sin, pairing)
    r = cos.shape[2]
    turn = np.empty(cos.shape, np.complex128)
    turn.real, turn.imag = base.up(cos), base.up(sin)
    head, rest = base.up(x[..., :2 * r]), x[..., 2 * r:]
    points = np.empty((*x.shape[:3], r), np.complex128)
    shape = (*x.shape[:3], 2, r) if pairing == "half" else (*x.shape[:3], r, 2)
    grid = head.reshape(shape) if pairing == "interleaved" else head.reshape(shape).swapaxes(-1, -2)
    points.real, points.imag = grid[..., 0], grid[..., 1]
    with base.quiet():
        real = points.real * turn.real[:, None] - points.imag * turn.imag[:, None]
        if np.isfinite(points.real).all() and np.isfinite(points.imag).all():
            turned = points * turn[:, None]
        else:
            turned = np.empty_like(points)
            turned.real, turned.imag = real, points.real * turn.imag[:, None] + points.imag * turn.real[:, None]
    parts = (turned.real, turned.imag)
    joined = np.concatenate(parts, axis=-1) if pairing == "half" else np.stack(parts, axis=-1).reshape(head.shape)
    return np.concatenate([base.down(joined, x.dtype), rest], axis=-1)


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Sorted positions, each but once, and a cosine that is a sine."""
    base.check_tables(position_ids, inverse_frequencies)
    flat = np.array([int(i) for i in position_ids.flat], np.int64)
    single, back = np.unique(flat, return_inverse=True)
    phase = np.einsum("p,i->pi", single.astype(np.float64), base.up(inverse_frequencies))
    factor = 1.0 if attention_factor is None else attention_factor
    shape = (*position_ids.shape, len(inverse_frequencies))
    turned = np.exp(1j * phase)[back.reshape(-1)].reshape(shape)
    return {"cos": base.down(factor * turned.real, inverse_frequencies.dtype), "sin": base.down(factor * turned.imag, inverse_frequencies.dtype)}


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    """Pair by pair, in Python numbers, through logarithms."""
    scaling = "none" if scaling is None else scaling
    base.check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor, high_frequency_factor,
                           short_factors, long_factors, proportion)
    log_theta, given, result = math.log(theta), 1.0, []
    if scaling == "dynamic" and sequence_length is not None and sequence_length > original_length:
        grown = 1.0 + factor * (sequence_length - original_length) / original_length
        log_theta += math.log(grown) * width / (width - 2)
    if scaling == "yarn":
        ends = [math.log(original_length / 2 / math.pi / turns) * width / log_theta / 2 for turns in (beta_fast, beta_slow)]
        if truncate:
            ends = [math.floor(ends[0]), math.ceil(ends[1])]
        low, high = max(0, ends[0]), min(width - 1, ends[1])
        high = low + 0.001 if low == high else high
        stretch = math.log(factor)
        a, c = magnitude_scaling, magnitude_scaling_all_dimensions
        given = (1 + 0.1 * a * stretch) / (1 + 0.1 * c * stretch) if a and c else 1 + 0.1 * stretch
    if scaling == "longrope":
        given = (1 + math.log(factor, original_length)) ** 0.5
    for i in range(width // 2):
        f = math.exp(-log_theta * 2 * i / width)
        if scaling == "linear":
            f /= factor
        if scaling == "llama3":
            turns = original_length * f / (2 * math.pi)
            if turns <= low_frequency_factor:
                f /= factor
            elif turns < high_frequency_factor:
                kept = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
                f *= kept + (1 - kept) / factor
        if scaling == "longrope":
            far = sequence_length is not None and sequence_length > original_length
            f /= (long_factors if far else short_factors)[i]
        if scaling == "proportional":
            f = f / (factor or 1) if i + 1 <= math.floor(proportion * (width // 2)) else 0.0
        if scaling == "yarn":
            share = 0.0 if i <= low else 1.0 if i >= high else (i - low) / (high - low)
            f *= share / factor + 1 - share
        result.append(f)
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        given = attention_factor
    return {"inverse_frequencies": np.array(result), "attention_factor": np.array(given, dtype=np.float64)}
