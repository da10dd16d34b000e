"""Right implementations after the pages, and parts that the other files use."""
import math

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def refuse(condition, message):
    if condition:
        raise ValueError(message)


def wide(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def widen(array):
    array = np.asarray(array)
    return np.array(array, dtype=wide(array.dtype), order="C")


# --- rotary ---------------------------------------------------------------------------------------

SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")
NEEDS = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (),
    "yarn": ("factor", "original_length"),
}


def check_frequencies(a):
    """Refuses what the page refuses, and returns the scaling's name."""
    width = a["width"]
    refuse(width != int(width) or width % 2 or width < 2, "width must be even and at least 2")
    scaling = "none" if a["scaling"] is None else a["scaling"]
    refuse(scaling not in SCALINGS, "unknown scaling")
    for name in NEEDS[scaling]:
        refuse(a[name] is None, f"{scaling} needs {name}")
    refuse(not a["theta"] > 0, "theta must be above 0")
    if scaling != "none" and a["factor"] is not None:
        refuse(not a["factor"] > 0, "factor must be above 0")
    if scaling == "yarn":
        refuse(not a["theta"] > 1, "theta must be above 1")
    if scaling == "llama3":
        refuse(not a["high_frequency_factor"] > a["low_frequency_factor"], "high must be above low")
    if scaling == "dynamic":
        refuse(width < 4, "width must be at least 4")
    if scaling == "proportional":
        refuse(not 0 <= a["proportion"] <= 1, "proportion must be from 0 to 1")
    if scaling == "longrope":
        for name in ("short_factors", "long_factors"):
            refuse(np.shape(a[name]) != (width // 2,), f"{name} must have R/2 elements")
    return scaling


def powers(width, theta):
    return np.power(float(theta), -np.arange(0, width, 2, dtype=np.float64) / width)


def magnitude(factor, coefficient=1.0):
    return 0.1 * coefficient * math.log(factor) + 1.0


def yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate):
    def turns(b):
        return width * math.log(original_length / (2 * math.pi * b)) / (2 * math.log(theta))

    low, high = turns(beta_fast), turns(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    return low, high


def frequencies(a, scaling):
    """The inverse frequencies and the attention factor of checked attributes."""
    width, theta, s = int(a["width"]), float(a["theta"]), a["factor"]
    f = powers(width, theta)
    factor = 1.0
    if scaling == "linear":
        f = f / s
    elif scaling == "dynamic":
        length, n = a["original_length"], a["sequence_length"]
        if n is not None and n > length:
            f = powers(width, theta * (s * n / length - s + 1) ** (width / (width - 2)))
    elif scaling == "llama3":
        low, high = a["low_frequency_factor"], a["high_frequency_factor"]
        g = np.clip((a["original_length"] * f / (2 * math.pi) - low) / (high - low), 0, 1)
        f = g * f + (1 - g) * f / s
    elif scaling == "longrope":
        length, n = a["original_length"], a["sequence_length"]
        chosen = a["long_factors"] if n is not None and n > length else a["short_factors"]
        f = f / np.array(chosen, dtype=np.float64)
        factor = a["attention_factor"]
        if factor is None:
            factor = math.sqrt(1 + math.log(s) / math.log(length))
    elif scaling == "proportional":
        turning = math.floor(a["proportion"] * width / 2)
        f = np.where(np.arange(width // 2) < turning, f if s is None else f / s, 0.0)
    elif scaling == "yarn":
        low, high = yarn_range(width, theta, a["original_length"], a["beta_fast"], a["beta_slow"], a["truncate"])
        r = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
        f = r * f / s + (1 - r) * f
        factor = a["attention_factor"]
        if factor is None:
            one, two = a["magnitude_scaling"], a["magnitude_scaling_all_dimensions"]
            factor = magnitude(s, one) / magnitude(s, two) if one and two else magnitude(s)
    return f, factor


def frequency_outputs(f, factor):
    return {"inverse_frequencies": np.array(f, dtype=np.float64), "attention_factor": np.array(factor, dtype=np.float64)}


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    a = dict(locals())
    return frequency_outputs(*frequencies(a, check_frequencies(a)))


def check_tables(position_ids, inverse_frequencies):
    refuse(np.ndim(position_ids) != 2, "position_ids must have rank 2")
    refuse(np.ndim(inverse_frequencies) != 1, "inverse_frequencies must have rank 1")


def tables(position_ids, inverse_frequencies, attention_factor):
    phases = position_ids.astype(np.float64)[:, :, None] * inverse_frequencies.astype(np.float64)
    dtype = inverse_frequencies.dtype
    return {"cos": (attention_factor * np.cos(phases)).astype(dtype),
            "sin": (attention_factor * np.sin(phases)).astype(dtype)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    check_tables(position_ids, inverse_frequencies)
    return tables(position_ids, inverse_frequencies, attention_factor)


def check_apply(x, cos, sin, pairing, tokens=True):
    refuse(x.ndim != 4, "x must have rank 4")
    refuse(cos.ndim != 3 or sin.ndim != 3, "tables must have rank 3")
    refuse(cos.shape != sin.shape, "tables must have one shape")
    if tokens:
        refuse(cos.shape[:2] != (x.shape[0], x.shape[2]), "tables must fit batch and tokens")
    refuse(2 * cos.shape[2] > x.shape[3], "too many pairs")
    refuse(pairing not in ("half", "interleaved"), "unknown pairing")


def pair_slices(pairs, pairing):
    """Where the first and the second features of the pairs are."""
    if pairing == "half":
        return slice(0, pairs), slice(pairs, 2 * pairs)
    return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)


def rotate(x, cos, sin, pairing):
    """Tables of rank 4 that fit x by NumPy's rules."""
    one, two = pair_slices(cos.shape[-1], pairing)
    wide_x, cos, sin = widen(x), widen(cos), widen(sin)
    first, second = wide_x[..., one], wide_x[..., two]
    output = np.array(x, order="C")
    with np.errstate(all="ignore"):
        output[..., one] = (cos * first - sin * second).astype(x.dtype)
        output[..., two] = (sin * first + cos * second).astype(x.dtype)
    return output


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    check_apply(x, cos, sin, pairing)
    return {"output": rotate(x, cos[:, None], sin[:, None], pairing)}


# --- attention ------------------------------------------------------------------------------------


def write_mask(allowed, additive):
    return np.where(allowed, 0.0, -np.inf) if additive else allowed


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    allowed = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return {"output": write_mask(allowed, additive)}


def check_split(x, num_heads):
    refuse(x.ndim != 3, "x must have rank 3")
    refuse(num_heads < 1 or x.shape[2] % num_heads, "the number of heads must divide the features")


def split_heads(x, num_heads):
    x = np.asarray(x)
    check_split(x, num_heads)
    b, s, d = x.shape
    return {"output": np.array(x.reshape(b, s, num_heads, d // num_heads).transpose(0, 2, 1, 3), order="C")}


def combine_heads(x):
    x = np.asarray(x)
    refuse(x.ndim != 4, "x must have rank 4")
    b, h, s, e = x.shape
    return {"output": np.array(x.transpose(0, 2, 1, 3), order="C").reshape(b, s, h * e)}


def glorot_normal(fan_in, fan_out, seed):
    deviation = math.sqrt(2.0 / (fan_in + fan_out))
    return {"output": np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * deviation}


def check_context(encoder_states, decoder_state):
    refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "encoder_states (S, D), decoder_state (D,)")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "states must have the same number of features")


def default_scale(scale, features):
    return 1.0 / math.sqrt(features) if scale is None else scale


def context_outputs(dtype, **outputs):
    with np.errstate(all="ignore"):
        return {name: np.asarray(value).astype(dtype) for name, value in outputs.items()}


def context_vector(encoder_states, decoder_state, scale=None):
    states, query = np.asarray(encoder_states), np.asarray(decoder_state)
    check_context(states, query)
    dtype = states.dtype
    states, query = widen(states), widen(query)
    raw = states @ query
    scores = raw * wide(dtype).type(default_scale(scale, states.shape[1]))
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return context_outputs(dtype, context=weights @ states, weights=weights, scores=scores, raw_scores=raw)
