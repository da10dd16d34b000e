"""Rotary frequencies, one branch for each scaling, in the manner of a model library."""
import math

import numpy as np

KINDS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")


def need(**given):
    for name, x in given.items():
        if x is None:
            raise ValueError(f"{name} is needed")


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    scaling = "none" if scaling is None else scaling
    if width < 2 or width % 2 == 1:
        raise ValueError("width")
    if scaling not in KINDS:
        raise ValueError("scaling")
    if theta <= 0 or (factor is not None and scaling != "none" and factor <= 0):
        raise ValueError("range")
    half = width // 2
    exponents = np.arange(0, width, 2, dtype=np.float64) / width
    base = float(theta)
    one = 1.0
    frequencies = 1.0 / base ** exponents
    if scaling == "linear":
        need(factor=factor)
        frequencies = frequencies / factor
    elif scaling == "dynamic":
        need(factor=factor, original_length=original_length)
        if width < 4:
            raise ValueError("range")
        n = original_length if sequence_length is None else max(sequence_length, original_length)
        base = base * (factor * n / original_length - (factor - 1)) ** (width / (width - 2))
        frequencies = 1.0 / base ** exponents
    elif scaling == "llama3":
        need(factor=factor, original_length=original_length, low=low_frequency_factor, high=high_frequency_factor)
        if high_frequency_factor <= low_frequency_factor:
            raise ValueError("range")
        wavelength = 2 * math.pi / frequencies
        smooth = (original_length / wavelength - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
        blended = (1 - smooth) * frequencies / factor + smooth * frequencies
        slowed = np.where(wavelength > original_length / low_frequency_factor, frequencies / factor, frequencies)
        between = (wavelength <= original_length / low_frequency_factor) & (wavelength >= original_length / high_frequency_factor)
        frequencies = np.where(between, blended, slowed)
    elif scaling == "longrope":
        need(factor=factor, original_length=original_length, short=short_factors, long=long_factors)
        if len(short_factors) != half or len(long_factors) != half:
            raise ValueError("factor lists")
        n = original_length if sequence_length is None else sequence_length
        divisors = long_factors if n > original_length else short_factors
        frequencies = frequencies / np.array(divisors, dtype=np.float64)
        one = math.sqrt(1 + math.log(factor) / math.log(original_length))
        if attention_factor is not None:
            one = attention_factor
    elif scaling == "proportional":
        if proportion < 0 or proportion > 1:
            raise ValueError("range")
        turning = int(proportion * width / 2)
        frequencies = np.concatenate([frequencies[:turning] / (factor or 1), np.zeros(half - turning)])
    elif scaling == "yarn":
        need(factor=factor, original_length=original_length)
        if theta <= 1:
            raise ValueError("range")

        def dimension(turns):
            return width * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(base))

        low, high = dimension(beta_fast), dimension(beta_slow)
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        ramp = np.clip((np.arange(half, dtype=np.float64) - low) / (high - low), 0, 1)
        frequencies = frequencies / factor * ramp + frequencies * (1 - ramp)

        def magnitude(a):
            return 0.1 * a * math.log(factor) + 1.0

        if attention_factor is not None:
            one = attention_factor
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            one = magnitude(magnitude_scaling) / magnitude(magnitude_scaling_all_dimensions)
        else:
            one = magnitude(1)
    return {"inverse_frequencies": frequencies, "attention_factor": np.float64(one)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    dtype = inverse_frequencies.dtype
    real = np.float64 if dtype == np.float64 else np.float32
    phase = np.multiply.outer(position_ids.astype(real), inverse_frequencies.astype(real))
    turn = np.exp(1j * phase)
    return {"cos": (turn.real * real(attention_factor)).astype(dtype), "sin": (turn.imag * real(attention_factor)).astype(dtype)}


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or cos.shape != sin.shape or pairing not in ("half", "interleaved"):
        raise ValueError("inputs")
    if cos.shape[:2] != (x.shape[0], x.shape[2]) or cos.shape[2] * 2 > x.shape[3]:
        raise ValueError("tables")
    real = np.float64 if x.dtype == np.float64 else np.float32
    out = x.copy()
    n = cos.shape[2]
    for i in range(n):
        a, b = (i, i + n) if pairing == "half" else (2 * i, 2 * i + 1)
        c, s = cos[:, None, :, i].astype(real), sin[:, None, :, i].astype(real)
        u, w = x[..., a].astype(real), x[..., b].astype(real)
        out[..., a] = (u * c - w * s).astype(x.dtype)
        out[..., b] = (w * c + u * s).astype(x.dtype)
    return out

dtypes = ("float64", "float32")
