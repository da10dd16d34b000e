"""Right implementations after the pages, and parts that the other files use."""

import math

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def working(*arrays):
    """The dtype to compute in: float64 where anything is float64, else float32."""
    return np.dtype(np.float64) if any(np.asarray(a).dtype == np.float64 for a in arrays) else np.dtype(np.float32)


# apply_rotary


def check_rotary(x, cos, sin, pairing, width=True, tokens=True, tables=True):
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing is half or interleaved")
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("x has rank 4, the tables have rank 3")
    if tables and cos.shape != sin.shape:
        raise ValueError("cos and sin have different shapes")
    if tokens and (cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]):
        raise ValueError("tables for another batch or another number of tokens")
    if width and 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("more pairs than the features make")


def pair_slices(pairs, pairing):
    if pairing == "half":
        return slice(0, pairs), slice(pairs, 2 * pairs)
    return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)


def rotate(x, cos, sin, pairing):
    """x is (B, H, S, E); the tables are of rank 4 and fit by NumPy's rules."""
    work = working(x, cos, sin)
    one, two = pair_slices(cos.shape[-1], pairing)
    first, second = x[..., one].astype(work), x[..., two].astype(work)
    cos, sin = cos.astype(work), sin.astype(work)
    output = np.array(x, order="C", copy=True)
    with np.errstate(all="ignore"):
        output[..., one] = (cos * first - sin * second).astype(x.dtype)
        output[..., two] = (sin * first + cos * second).astype(x.dtype)
    return output


def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    return {"output": rotate(x, cos[:, None], sin[:, None], pairing)}


# rotary_tables


def check_tables(position_ids, inverse_frequencies):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("position_ids have rank 2, inverse_frequencies rank 1")


def tables_of(phases, attention_factor, dtype):
    factor = phases.dtype.type(attention_factor)
    return {"cos": (np.cos(phases) * factor).astype(dtype), "sin": (np.sin(phases) * factor).astype(dtype)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    check_tables(position_ids, inverse_frequencies)
    work = working(inverse_frequencies)
    phases = position_ids.astype(work)[:, :, None] * inverse_frequencies.astype(work)
    return tables_of(phases, attention_factor, inverse_frequencies.dtype)


# rotary_frequencies

NEEDED = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (),
    "yarn": ("factor", "original_length"),
}


def check_frequencies(width, theta, scaling, given):
    """`given` holds the parameters of the scaling by name."""
    if width < 2 or width % 2:
        raise ValueError("width is even and at least 2")
    if scaling not in NEEDED:
        raise ValueError("unknown scaling")
    for name in NEEDED[scaling]:
        if given[name] is None:
            raise ValueError(f"{scaling} needs {name}")
    if not theta > 0 or scaling == "yarn" and not theta > 1:
        raise ValueError("theta is too small")
    if scaling != "none" and given["factor"] is not None and not given["factor"] > 0:
        raise ValueError("factor is above 0")
    if scaling == "dynamic" and width < 4:
        raise ValueError("dynamic needs four features")
    if scaling == "llama3" and not given["high_frequency_factor"] > given["low_frequency_factor"]:
        raise ValueError("high_frequency_factor is above low_frequency_factor")
    if scaling == "proportional" and not 0 <= given["proportion"] <= 1:
        raise ValueError("proportion lies between 0 and 1")
    if scaling == "longrope":
        for name in ("short_factors", "long_factors"):
            if np.shape(given[name]) != (width // 2,):
                raise ValueError(f"{name} has a number for each pair")


def powers(width, theta):
    return float(theta) ** (-2.0 * np.arange(width // 2) / width)


def turns_at(width, theta, original_length, turns):
    return width * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(theta))


def yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate):
    low = turns_at(width, theta, original_length, beta_fast)
    high = turns_at(width, theta, original_length, beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, width - 1)


def yarn_blend(frequencies, factor, low, high):
    if low == high:
        high += 0.001
    share = np.clip((np.arange(len(frequencies)) - low) / (high - low), 0, 1)
    return share * frequencies / factor + (1 - share) * frequencies


def yarn_magnitude(factor, coefficient=1):
    return 0.1 * coefficient * math.log(factor) + 1


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    check_frequencies(width, theta, scaling, {
        "factor": factor, "original_length": original_length, "low_frequency_factor": low_frequency_factor,
        "high_frequency_factor": high_frequency_factor, "short_factors": short_factors,
        "long_factors": long_factors, "proportion": proportion})
    length = original_length if sequence_length is None else sequence_length
    result = 1.0
    base = float(theta)
    if scaling == "dynamic" and length > original_length:
        base *= (factor * length / original_length - factor + 1) ** (width / (width - 2))
    frequencies = powers(width, base)
    if scaling == "linear":
        frequencies = frequencies / factor
    elif scaling == "llama3":
        turns = original_length * frequencies / (2 * math.pi)
        kept = np.clip((turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0, 1)
        frequencies = kept * frequencies + (1 - kept) * frequencies / factor
    elif scaling == "longrope":
        chosen = long_factors if length > original_length else short_factors
        frequencies = frequencies / np.asarray(chosen, dtype=np.float64)
        result = math.sqrt(1 + math.log(factor) / math.log(original_length)) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        turning = math.floor(proportion * (width // 2))
        frequencies = frequencies / (1 if factor is None else factor)
        frequencies[turning:] = 0
    elif scaling == "yarn":
        low, high = yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
        frequencies = yarn_blend(frequencies, factor, low, high)
        if attention_factor is not None:
            result = attention_factor
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            result = yarn_magnitude(factor, magnitude_scaling) / yarn_magnitude(factor, magnitude_scaling_all_dimensions)
        else:
            result = yarn_magnitude(factor)
    return {"inverse_frequencies": frequencies, "attention_factor": np.array(float(result))}


# causal_mask


def numbers(mask):
    return np.where(mask, 0.0, -np.inf)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    keys = query_length if key_length is None else key_length
    mask = np.arange(keys)[None, :] <= np.arange(query_length)[:, None] + offset
    return {"output": numbers(mask) if additive else mask}


# heads


def check_split(x, num_heads, divisible=True):
    if x.ndim != 3:
        raise ValueError("x has rank 3")
    if num_heads < 1:
        raise ValueError("there must be a head")
    if divisible and x.shape[2] % num_heads:
        raise ValueError("num_heads does not divide the number of features")


def split_heads(x, num_heads):
    check_split(x, num_heads)
    B, S, D = x.shape
    return {"output": x.reshape(B, S, num_heads, D // num_heads).transpose(0, 2, 1, 3).copy()}


def check_combine(x):
    if x.ndim != 4:
        raise ValueError("x has rank 4")


def combine_heads(x):
    check_combine(x)
    B, H, S, E = x.shape
    return {"output": np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(B, S, H * E).copy()}


# glorot_normal


def generator(seed):
    return np.random.default_rng([int(seed < 0), abs(int(seed))])


def deviation(fan_in, fan_out):
    return math.sqrt(2 / (fan_in + fan_out))


def glorot_normal(fan_in, fan_out, seed):
    return {"output": generator(seed).standard_normal((fan_in, fan_out)) * deviation(fan_in, fan_out)}


# context_vector


def check_context(encoder_states, decoder_state, width=True):
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder_states have rank 2, decoder_state rank 1")
    if width and encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("states of different numbers of features")


def rounded(dtype, context, weights, scores, raw_scores):
    with np.errstate(all="ignore"):
        return {"context": np.asarray(context).astype(dtype), "weights": np.asarray(weights).astype(dtype),
                "scores": np.asarray(scores).astype(dtype), "raw_scores": np.asarray(raw_scores).astype(dtype)}


def default_scale(width, scale):
    return 1 / math.sqrt(width) if scale is None else scale


def context_vector(encoder_states, decoder_state, scale=None):
    check_context(encoder_states, decoder_state)
    work = working(encoder_states, decoder_state)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    raw_scores = states @ query
    scores = raw_scores * work.type(default_scale(states.shape[1], scale))
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return rounded(encoder_states.dtype, weights @ states, weights, scores, raw_scores)
