"""Right implementations after the pages, and parts that the other files use."""
import math

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")


def work_dtype(*arrays):
    """float64 for float64, float32 for the others."""
    return np.dtype(np.float64) if any(a.dtype == np.float64 for a in arrays) else np.dtype(np.float32)


# ---------------------------------------------------------------- apply_rotary

def check_rotary(x, cos, sin, pairing):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    if not isinstance(pairing, str) or pairing not in ("half", "interleaved"):
        raise ValueError("pairing is neither half nor interleaved")
    if x.ndim != 4:
        raise ValueError("x is not of rank 4")
    if cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("tables are not of rank 3")
    if cos.shape != sin.shape:
        raise ValueError("cos and sin differ in shape")
    if cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("tables are for another batch or other tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("tables have more pairs than x")
    return x, cos, sin


def pair_slices(pairs, pairing):
    if pairing == "half":
        return slice(0, pairs), slice(pairs, 2 * pairs)
    return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = check_rotary(x, cos, sin, pairing)
    work = work_dtype(x)
    a, b = pair_slices(cos.shape[2], pairing)
    first, second = x[..., a].astype(work), x[..., b].astype(work)
    c, s = cos.astype(work)[:, None], sin.astype(work)[:, None]
    output = np.array(x, order="C", copy=True)
    with np.errstate(all="ignore"):
        output[..., a] = (c * first - s * second).astype(x.dtype)
        output[..., b] = (s * first + c * second).astype(x.dtype)
    return {"output": output}


# --------------------------------------------------------------- rotary_tables

def check_tables(position_ids, inverse_frequencies):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    if position_ids.ndim != 2:
        raise ValueError("position_ids are not of rank 2")
    if inverse_frequencies.ndim != 1:
        raise ValueError("inverse_frequencies are not of rank 1")
    return position_ids, inverse_frequencies


def tables(position_ids, inverse_frequencies, attention_factor):
    phases = position_ids.astype(np.float64)[:, :, None] * inverse_frequencies.astype(np.float64)
    dtype = inverse_frequencies.dtype
    with np.errstate(all="ignore"):
        return {
            "cos": (np.cos(phases) * float(attention_factor)).astype(dtype),
            "sin": (np.sin(phases) * float(attention_factor)).astype(dtype),
        }


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = check_tables(position_ids, inverse_frequencies)
    return tables(position_ids, inverse_frequencies, attention_factor)


# ---------------------------------------------------------- rotary_frequencies

NEEDS = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (),
    "yarn": ("factor", "original_length"),
}


def check_width(width):
    if int(width) != width or width < 2 or width % 2:
        raise ValueError("width is odd or below 2")
    return int(width)


def check_frequencies(given):
    """All refusals of the page; `given` maps names to arguments."""
    check_width(given["width"])
    scaling = given["scaling"]
    if not isinstance(scaling, str) or scaling not in SCALINGS:
        raise ValueError("no such scaling")
    for name in NEEDS[scaling]:
        if given[name] is None:
            raise ValueError(f"{scaling} needs {name}")
    if not given["theta"] > 0:
        raise ValueError("theta is not above 0")
    if scaling != "none" and given["factor"] is not None and not given["factor"] > 0:
        raise ValueError("factor is not above 0")
    if scaling == "yarn" and not given["theta"] > 1:
        raise ValueError("theta is not above 1")
    if scaling == "llama3" and not given["high_frequency_factor"] > given["low_frequency_factor"]:
        raise ValueError("high_frequency_factor is not above the low one")
    if scaling == "dynamic" and given["width"] < 4:
        raise ValueError("width is below 4")
    if scaling == "proportional" and not 0 <= given["proportion"] <= 1:
        raise ValueError("proportion is outside 0 to 1")
    if scaling == "longrope":
        for name in ("short_factors", "long_factors"):
            if np.shape(given[name]) != (given["width"] // 2,):
                raise ValueError(f"{name} has another number of elements than R/2")


def powers(width, theta):
    return float(theta) ** (-np.arange(0, width, 2, dtype=np.float64) / width)


def dynamic_powers(width, theta, factor, original_length, length):
    if length > original_length:
        theta = theta * (factor * length / original_length - factor + 1) ** (width / (width - 2))
    return powers(width, theta)


def llama3_frequencies(f, factor, original_length, low, high):
    turns = original_length * f / (2 * math.pi)
    g = np.clip((turns - low) / (high - low), 0, 1)
    return g * f + (1 - g) * f / factor


def yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate):
    def pair(turns):
        return width * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(theta))

    low, high = pair(beta_fast), pair(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    return low, high


def yarn_blend(f, factor, low, high):
    r = np.clip((np.arange(len(f)) - low) / (high - low), 0, 1)
    return r * f / factor + (1 - r) * f


def magnitude(factor, coefficient):
    return 0.1 * coefficient * math.log(factor) + 1


def yarn_attention(factor, one, other):
    if one and other:
        return magnitude(factor, one) / magnitude(factor, other)
    return magnitude(factor, 1)


def frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                magnitude_scaling_all_dimensions=None, attention_factor=None):
    """The numbers, without refusals."""
    width, length, attention = int(width), sequence_length, 1.0
    if length is None:
        length = original_length
    if scaling == "dynamic":
        f = dynamic_powers(width, theta, factor, original_length, length)
    else:
        f = powers(width, theta)
    if scaling == "linear":
        f = f / factor
    elif scaling == "llama3":
        f = llama3_frequencies(f, factor, original_length, low_frequency_factor, high_frequency_factor)
    elif scaling == "longrope":
        f = f / np.array(long_factors if length > original_length else short_factors, dtype=np.float64)
        attention = attention_factor
        if attention is None:
            attention = math.sqrt(1 + math.log(factor) / math.log(original_length))
    elif scaling == "proportional":
        turning = math.floor(proportion * (width // 2))
        f = np.where(np.arange(width // 2) < turning, f / (1 if factor is None else factor), 0.0)
    elif scaling == "yarn":
        low, high = yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
        f = yarn_blend(f, factor, low, high)
        attention = attention_factor
        if attention is None:
            attention = yarn_attention(factor, magnitude_scaling, magnitude_scaling_all_dimensions)
    return {"inverse_frequencies": f, "attention_factor": np.array(attention, dtype=np.float64)}


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    given = dict(locals())
    check_frequencies(given)
    return frequencies(**given)


# ----------------------------------------------------------------- causal_mask

def mask_of(allowed, additive):
    if additive:
        return {"output": np.where(allowed, 0.0, -np.inf)}
    return {"output": allowed}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    allowed = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + int(offset)
    return mask_of(allowed, additive)


# ------------------------------------------------- split_heads, combine_heads

def check_split(x, num_heads):
    x = np.asarray(x)
    if x.ndim != 3:
        raise ValueError("x is not of rank 3")
    if num_heads < 1 or x.shape[2] % num_heads:
        raise ValueError("num_heads does not divide the features")
    return x, int(num_heads)


def split_heads(x, num_heads):
    x, num_heads = check_split(x, num_heads)
    b, s, d = x.shape
    return {"output": x.reshape(b, s, num_heads, d // num_heads).transpose(0, 2, 1, 3).copy()}


def check_combine(x):
    x = np.asarray(x)
    if x.ndim != 4:
        raise ValueError("x is not of rank 4")
    return x


def combine_heads(x):
    x = check_combine(x)
    b, h, s, e = x.shape
    return {"output": np.array(x.transpose(0, 2, 1, 3), order="C").reshape(b, s, h * e)}


# --------------------------------------------------------------- glorot_normal

def check_fans(fan_in, fan_out, seed):
    if fan_in < 0 or fan_out < 0 or fan_in + fan_out < 1:
        raise ValueError("no such matrix")
    if int(seed) != seed or seed < 0:
        raise ValueError("seed is not an integer from 0")
    return int(fan_in), int(fan_out), int(seed)


def deviation(fan_in, fan_out):
    return math.sqrt(2 / (fan_in + fan_out))


def glorot_normal(fan_in, fan_out, seed):
    fan_in, fan_out, seed = check_fans(fan_in, fan_out, seed)
    numbers = np.random.default_rng(seed).standard_normal((fan_in, fan_out))
    return {"output": numbers * deviation(fan_in, fan_out)}


# -------------------------------------------------------------- context_vector

def check_context(encoder_states, decoder_state):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("states of wrong rank")
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("states of different widths")
    return encoder_states, decoder_state


def softmax_of(scores):
    exponentials = np.exp(scores - scores.max(initial=-np.inf))
    return exponentials / exponentials.sum()


def default_scale(width):
    return 1 / math.sqrt(width)


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = check_context(encoder_states, decoder_state)
    dtype, work = encoder_states.dtype, work_dtype(encoder_states)
    states, asks = encoder_states.astype(work), decoder_state.astype(work)
    scale = default_scale(states.shape[1]) if scale is None else scale
    with np.errstate(all="ignore"):
        raw = states @ asks
        scores = raw * work.type(scale)
        weights = softmax_of(scores)
        context = weights @ states
        return {"context": context.astype(dtype), "weights": weights.astype(dtype),
                "scores": scores.astype(dtype), "raw_scores": raw.astype(dtype)}
