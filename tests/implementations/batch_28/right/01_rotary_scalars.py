"""The rotary operations in complex numbers and plain Python."""
import cmath
import math

import ml_dtypes  # noqa: F401
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    if [a.ndim for a in (x, cos, sin)] != [4, 3, 3] or cos.shape != sin.shape or pairing not in ("half", "interleaved"):
        raise ValueError("x (B, H, S, E), cos and sin (B, S, R/2), pairing half or interleaved")
    pairs = cos.shape[2]
    if (x.shape[0], x.shape[2]) != cos.shape[:2] or x.shape[3] < 2 * pairs:
        raise ValueError("the tables do not fit")
    # all in float64, pair by pair, from the last one to the first; the second feature first
    parts = []
    with np.errstate(all="ignore"):
        for i in reversed(range(pairs)):
            a, b = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + pairs)
            first, second = (np.swapaxes(x[..., j], 0, 1).astype(np.float64) for j in (a, b))
            c, s = cos[..., i].astype(np.float64), sin[..., i].astype(np.float64)
            parts.append((b, c * second + s * first))
            parts.append((a, -(s * second) + c * first))
        features = [x[..., j] for j in range(x.shape[3])]
        for j, part in parts:
            features[j] = np.swapaxes(part, 0, 1).astype(x.dtype)
    out = np.empty(x.shape, x.dtype)
    for j, feature in enumerate(features):
        out[..., j] = feature
    return out


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    p, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    if p.ndim != 2 or f.ndim != 1 or not np.issubdtype(p.dtype, np.integer):
        raise ValueError("position_ids (B, S) of integers, inverse_frequencies (R/2)")
    distinct, where = np.unique(p, return_inverse=True)  # each position once
    turns = np.array([[cmath.rect(float(attention_factor), int(q) * float(g)) for g in f] for q in distinct], np.complex128)
    turns = turns.reshape(len(distinct), len(f))[np.reshape(where, p.shape)]
    return {"cos": turns.real.astype(f.dtype), "sin": turns.imag.astype(f.dtype)}


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None, low_frequency_factor=None,
    high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1, beta_fast=32, beta_slow=1, truncate=True,
    magnitude_scaling=None, magnitude_scaling_all_dimensions=None, attention_factor=None,
):
    p = dict(locals())

    def need(*names):
        for name in names:
            if p[name] is None:
                raise ValueError(f"{scaling} needs {name}")
        return [p[name] for name in names]

    def ensure(condition, message):
        if not condition:
            raise ValueError(message)

    ensure(width >= 2 and width % 2 == 0, "width")
    ensure(theta > 0, "theta")
    half, attention = width // 2, 1.0
    log = [-(2 * i / width) * math.log(theta) for i in range(half)]  # logarithms of the frequencies
    if scaling == "none":
        f = [math.exp(x) for x in log]
    elif scaling == "linear":
        (s,) = need("factor")
        ensure(s > 0, "factor")
        f = [math.exp(x - math.log(s)) for x in log]
    elif scaling == "dynamic":
        s, length = need("factor", "original_length")
        ensure(s > 0 and width >= 4, "range")
        n = p["sequence_length"]
        f = [math.exp(x) for x in log]
        if n is not None and n > length:
            stretch = 1 + s * (n - length) / length
            f = [x * stretch ** (-2 * i / (width - 2)) for i, x in enumerate(f)]
    elif scaling == "llama3":
        s, length, low, high = need("factor", "original_length", "low_frequency_factor", "high_frequency_factor")
        ensure(s > 0 and high > low, "range")
        f = []
        for x in log:
            turns = length * math.exp(x) / math.tau
            divided = 1 if turns <= low else 0 if turns >= high else (high - turns) / (high - low)
            f.append(math.exp(x) * (1 - divided * (1 - 1 / s)))
    elif scaling == "longrope":
        s, length, short, long = need("factor", "original_length", "short_factors", "long_factors")
        ensure(s > 0 and np.shape(short) == np.shape(long) == (half,), "factors")
        n = p["sequence_length"]
        f = [math.exp(x) / float(d) for x, d in zip(log, short if n is None or n <= length else long)]
        attention = p["attention_factor"]
        if attention is None:
            attention = (1 + math.log(s, length)) ** 0.5
    elif scaling == "proportional":
        ensure(0 <= p["proportion"] <= 1, "proportion")
        s = 1 if p["factor"] is None else p["factor"]
        ensure(s > 0, "factor")
        turning = int(p["proportion"] * width / 2)
        f = [math.exp(x) / s if i < turning else 0.0 for i, x in enumerate(log)]
    elif scaling == "yarn":
        s, length = need("factor", "original_length")
        ensure(s > 0 and theta > 1, "range")
        ends = [half * (math.log(length / math.tau) - math.log(b)) / math.log(theta) for b in (p["beta_fast"], p["beta_slow"])]
        if p["truncate"]:
            ends = [math.floor(ends[0]), math.ceil(ends[1])]
        low, high = max(0, ends[0]), min(width - 1, ends[1])
        high += 0.001 * (low == high)
        f = []
        for i, x in enumerate(log):
            divided = min(1.0, max(0.0, (i - low) / (high - low)))
            f.append(math.exp(x) * (1 + divided * (1 / s - 1)))
        attention = p["attention_factor"]
        if attention is None:
            a, b = p["magnitude_scaling"] or 0, p["magnitude_scaling_all_dimensions"] or 0
            a, b = (a, b) if a and b else (1, 0)
            attention = (1 + a * math.log(s) / 10) / (1 + b * math.log(s) / 10)
    else:
        raise ValueError("scaling")
    return {"inverse_frequencies": np.array(f), "attention_factor": np.array(float(attention))}
