"""Right implementations from the pages."""
import math

import ml_dtypes
import numpy as np

ALL = ("float64", "float32", "float16", "bfloat16")
NARROW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def wide(*arrays):
    dtype = np.dtype(np.float32)
    for a in arrays:
        dtype = np.result_type(dtype, np.float32 if a.dtype in NARROW else a.dtype)
    return dtype


# ------------------------------------------------------------ rotary
def check_apply(x, cos, sin, pairing):
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("rank")
    if cos.shape != sin.shape:
        raise ValueError("tables differ")
    if cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("tables do not fit the tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("tables too wide")
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing")


def places(pairs, pairing):
    i = np.arange(pairs)
    return (i, i + pairs) if pairing == "half" else (2 * i, 2 * i + 1)


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    check_apply(x, cos, sin, pairing)
    dtype = wide(x, cos, sin)
    a, b = places(cos.shape[2], pairing)
    first, second = x[..., a].astype(dtype), x[..., b].astype(dtype)
    c, s = cos.astype(dtype)[:, None], sin.astype(dtype)[:, None]
    out = np.array(x, order="C")
    with np.errstate(all="ignore"):
        out[..., a] = (c * first - s * second).astype(x.dtype)
        out[..., b] = (s * first + c * second).astype(x.dtype)
    return out


def check_tables(position_ids, inverse_frequencies):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    if position_ids.dtype.kind not in "iu":
        raise ValueError("positions are integers")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    p, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    check_tables(p, f)
    dtype = wide(f)
    phase = p.astype(dtype)[:, :, None] * f.astype(dtype)
    return {
        "cos": (np.cos(phase) * dtype.type(attention_factor)).astype(f.dtype),
        "sin": (np.sin(phase) * dtype.type(attention_factor)).astype(f.dtype),
    }


NEEDS = {
    "none": (), "proportional": (), "linear": ("factor",), "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "yarn": ("factor", "original_length"),
}


def check_frequencies(width, theta, scaling, given):
    if scaling not in NEEDS:
        raise ValueError("scaling")
    if width < 2 or width % 2:
        raise ValueError("width")
    if not theta > 0 or (scaling == "yarn" and not theta > 1):
        raise ValueError("theta")
    for name in NEEDS[scaling]:
        if given[name] is None:
            raise ValueError(name)
    if scaling != "none" and given["factor"] is not None and not given["factor"] > 0:
        raise ValueError("factor")
    if scaling == "llama3" and not given["high_frequency_factor"] > given["low_frequency_factor"]:
        raise ValueError("high_frequency_factor")
    if scaling == "dynamic" and width < 4:
        raise ValueError("width")
    if scaling == "proportional" and not 0 <= given["proportion"] <= 1:
        raise ValueError("proportion")
    if scaling == "longrope":
        for name in ("short_factors", "long_factors"):
            if np.shape(given[name]) != (width // 2,):
                raise ValueError(name)


def powers(width, theta):
    return float(theta) ** (-np.arange(0, width, 2, dtype=np.float64) / width)


def llama3(f, factor, original_length, low, high):
    turns = original_length * f / (2 * np.pi)
    g = np.clip((turns - low) / (high - low), 0, 1)
    return g * f + (1 - g) * f / factor


def yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate):
    low, high = (width * math.log(original_length / (2 * math.pi * b)) / (2 * math.log(theta)) for b in (beta_fast, beta_slow))
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    return low, (high + 0.001 if low == high else high)


def yarn_blend(f, low, high, factor):
    r = np.clip((np.arange(len(f)) - low) / (high - low), 0, 1)
    return r * f / factor + (1 - r) * f


def magnitude(a, factor):
    return 0.1 * a * math.log(factor) + 1


def yarn_factor(factor, a, b):
    return magnitude(a, factor) / magnitude(b, factor) if a and b else magnitude(1, factor)


def longrope_factor(factor, original_length):
    return math.sqrt(1 + math.log(factor) / math.log(original_length))


def result(f, attention_factor=1.0):
    return {"inverse_frequencies": np.asarray(f, np.float64), "attention_factor": np.asarray(attention_factor, np.float64)}


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None, low_frequency_factor=None,
    high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1, beta_fast=32, beta_slow=1, truncate=True,
    magnitude_scaling=None, magnitude_scaling_all_dimensions=None, attention_factor=None,
):
    check_frequencies(width, theta, scaling, locals())
    n = original_length if sequence_length is None else sequence_length
    if scaling == "dynamic":
        longest = max(n, original_length)
        theta = theta * (factor * longest / original_length - factor + 1) ** (width / (width - 2))
    f = powers(width, theta)
    if scaling == "linear":
        return result(f / factor)
    if scaling == "llama3":
        return result(llama3(f, factor, original_length, low_frequency_factor, high_frequency_factor))
    if scaling == "longrope":
        f = f / np.asarray(long_factors if n > original_length else short_factors, np.float64)
        return result(f, longrope_factor(factor, original_length) if attention_factor is None else attention_factor)
    if scaling == "proportional":
        f = f / (1 if factor is None else factor)
        f[math.floor(proportion * width / 2):] = 0
        return result(f)
    if scaling == "yarn":
        low, high = yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
        if attention_factor is None:
            attention_factor = yarn_factor(factor, magnitude_scaling, magnitude_scaling_all_dimensions)
        return result(yarn_blend(f, low, high, factor), attention_factor)
    return result(f)


# ------------------------------------------------------------ the others
def softmax(x, axis=-1):
    x = np.asarray(x)
    w = x.astype(wide(x))
    e = np.exp(w - w.max(axis=axis, keepdims=True, initial=-np.inf))
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    mask = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return np.where(mask, 0.0, -np.inf) if additive else mask


def check_split(x, num_heads, divisible=True):
    if x.ndim != 3:
        raise ValueError("rank")
    if num_heads < 1 or (divisible and x.shape[2] % num_heads):
        raise ValueError("num_heads")


def split_heads(x, num_heads):
    x = np.asarray(x)
    check_split(x, num_heads)
    b, s, f = x.shape
    return np.ascontiguousarray(x.reshape(b, s, num_heads, f // num_heads).transpose(0, 2, 1, 3)).copy()


def combine_heads(x):
    x = np.asarray(x)
    if x.ndim != 4:
        raise ValueError("rank")
    b, h, s, e = x.shape
    return np.array(x.transpose(0, 2, 1, 3), order="C").reshape(b, s, h * e)


def generator(seed):
    return np.random.default_rng([abs(int(seed)), int(seed < 0)])


def glorot_normal(fan_in, fan_out, seed):
    return generator(seed).standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))
