"""Right implementations after the pages, and parts that the other files use."""

import math

import ml_dtypes  # noqa: F401  (bfloat16 is registered with NumPy)
import numpy as np


def wide(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def narrow(array, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


# --- rotary -----------------------------------------------------------------------------------------------------------


def check_rotary_ranks(x, cos, sin):
    if x.ndim != 4:
        raise ValueError("x must be of rank 4")
    if cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("cos and sin must be of rank 3")


def check_pairing(pairing):
    if not isinstance(pairing, str) or pairing not in ("half", "interleaved"):
        raise ValueError("pairing must be half or interleaved")


def check_rotary(x, cos, sin, pairing):
    check_rotary_ranks(x, cos, sin)
    check_pairing(pairing)
    if cos.shape != sin.shape:
        raise ValueError("cos and sin differ in shape")
    if cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("the tables do not fit the tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("more pairs than features")


def pair_places(pairs, pairing):
    if pairing == "half":
        return slice(0, pairs), slice(pairs, 2 * pairs)
    return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)


def turn(x, cos, sin, pairing):
    """x (B, H, S, E); cos and sin broadcast against (B, H, S, R/2)."""
    one, two = pair_places(cos.shape[-1], pairing)
    dtype = wide(x.dtype)
    output = np.array(x, order="C", copy=True)
    first, second = x[..., one].astype(dtype), x[..., two].astype(dtype)
    cos, sin = cos.astype(dtype), sin.astype(dtype)
    with np.errstate(all="ignore"):
        output[..., one] = (cos * first - sin * second).astype(x.dtype)
        output[..., two] = (sin * first + cos * second).astype(x.dtype)
    return output


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    check_rotary(x, cos, sin, pairing)
    return {"output": turn(x, cos[:, None], sin[:, None], pairing)}


def check_tables(position_ids, inverse_frequencies):
    if position_ids.ndim != 2:
        raise ValueError("position_ids must be of rank 2")
    if inverse_frequencies.ndim != 1:
        raise ValueError("inverse_frequencies must be of rank 1")


def tables_of(phases, factor, dtype):
    with np.errstate(all="ignore"):
        cos, sin = np.cos(phases), np.sin(phases)
        factor = phases.dtype.type(1 if factor is None else factor)
        return {"cos": (cos * factor).astype(dtype), "sin": (sin * factor).astype(dtype)}


def phases_of(position_ids, inverse_frequencies):
    dtype = wide(inverse_frequencies.dtype)
    with np.errstate(all="ignore"):
        return position_ids.astype(dtype)[..., None] * inverse_frequencies.astype(dtype)


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    check_tables(position_ids, inverse_frequencies)
    return tables_of(phases_of(position_ids, inverse_frequencies), attention_factor, inverse_frequencies.dtype)


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
    if width < 2 or width % 2:
        raise ValueError("width must be even and at least 2")


def check_scaling(scaling):
    if not isinstance(scaling, str) or scaling not in NEEDS:
        raise ValueError("unknown scaling")


def check_needs(scaling, given, skip=()):
    for name in NEEDS[scaling]:
        if name not in skip and given[name] is None:
            raise ValueError(f"{scaling} needs {name}")


def check_theta_and_factor(scaling, theta, factor):
    if not theta > 0:
        raise ValueError("theta must be above 0")
    if scaling == "yarn" and not theta > 1:
        raise ValueError("theta must be above 1")
    if scaling != "none" and factor is not None and not factor > 0:
        raise ValueError("factor must be above 0")


def check_turns(scaling, low, high):
    if scaling == "llama3" and not high > low:
        raise ValueError("high_frequency_factor must be above the low one")


def check_dynamic(scaling, width):
    if scaling == "dynamic" and width < 4:
        raise ValueError("dynamic needs a width of at least 4")


def check_proportion(scaling, proportion):
    if scaling == "proportional" and not 0 <= proportion <= 1:
        raise ValueError("proportion must lie between 0 and 1")


def check_lists(scaling, width, *lists):
    if scaling == "longrope":
        for one in lists:
            if one is not None and np.shape(one) != (width // 2,):
                raise ValueError("a factor for each pair, no more and no less")


def powers(width, theta):
    return float(theta) ** (-2.0 * np.arange(width // 2, dtype=np.float64) / width)


def yarn_place(turns, width, theta, original_length):
    return width * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(theta))


def yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate):
    low = yarn_place(beta_fast, width, theta, original_length)
    high = yarn_place(beta_slow, width, theta, original_length)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    return low, high + 0.001 if low == high else high


def yarn_frequencies(width, theta, factor, low, high):
    plain = powers(width, theta)
    share = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
    return share * plain / factor + (1 - share) * plain


def llama3_frequencies(width, theta, factor, original_length, low, high):
    plain = powers(width, theta)
    kept = np.clip((original_length * plain / (2 * math.pi) - low) / (high - low), 0, 1)
    return kept * plain + (1 - kept) * plain / factor


def dynamic_frequencies(width, theta, factor, original_length, length):
    length = max(length, original_length)
    if length == original_length:
        return powers(width, theta)
    stretch = (factor * length / original_length - factor + 1) ** (width / (width - 2))
    return powers(width, theta * stretch)


def proportional_frequencies(width, theta, factor, proportion):
    result = powers(width, theta) / (1 if factor is None else factor)
    result[math.floor(proportion * width / 2) :] = 0
    return result


def magnitude(a, factor):
    return 0.1 * a * math.log(factor) + 1


def yarn_factor(factor, one, all_dimensions):
    if one and all_dimensions:
        return magnitude(one, factor) / magnitude(all_dimensions, factor)
    return magnitude(1, factor)


def longrope_factor(factor, original_length):
    return 1.0 if factor == 1 else math.sqrt(1 + math.log(factor) / math.log(original_length))


def frequencies_result(frequencies, attention_factor):
    return {
        "inverse_frequencies": np.asarray(frequencies, dtype=np.float64),
        "attention_factor": np.array(attention_factor, dtype=np.float64),
    }


def rotary_frequencies(
    width,
    theta=10000,
    scaling="none",
    factor=None,
    original_length=None,
    sequence_length=None,
    low_frequency_factor=None,
    high_frequency_factor=None,
    short_factors=None,
    long_factors=None,
    proportion=1,
    beta_fast=32,
    beta_slow=1,
    truncate=True,
    magnitude_scaling=None,
    magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    given = dict(locals())
    check_width(width)
    check_scaling(scaling)
    check_needs(scaling, given)
    check_theta_and_factor(scaling, theta, factor)
    check_turns(scaling, low_frequency_factor, high_frequency_factor)
    check_dynamic(scaling, width)
    check_proportion(scaling, proportion)
    check_lists(scaling, width, short_factors, long_factors)
    length = original_length if sequence_length is None else sequence_length
    own = 1.0
    if scaling == "none":
        result = powers(width, theta)
    elif scaling == "linear":
        result = powers(width, theta) / factor
    elif scaling == "dynamic":
        result = dynamic_frequencies(width, theta, factor, original_length, length)
    elif scaling == "llama3":
        result = llama3_frequencies(
            width, theta, factor, original_length, low_frequency_factor, high_frequency_factor
        )
    elif scaling == "longrope":
        divisors = long_factors if length > original_length else short_factors
        result = powers(width, theta) / np.asarray(divisors, dtype=np.float64)
        own = longrope_factor(factor, original_length) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        result = proportional_frequencies(width, theta, factor, proportion)
    else:
        low, high = yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
        result = yarn_frequencies(width, theta, factor, low, high)
        own = (
            yarn_factor(factor, magnitude_scaling, magnitude_scaling_all_dimensions)
            if attention_factor is None
            else attention_factor
        )
    return frequencies_result(result, own)


# --- the others -------------------------------------------------------------------------------------------------------


def mask_of(allowed, additive):
    return np.where(allowed, 0.0, -np.inf) if additive else allowed


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    offset = 0 if offset is None else offset
    allowed = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return {"output": mask_of(allowed, additive)}


def check_split(x, num_heads):
    if x.ndim != 3:
        raise ValueError("x must be of rank 3")
    if num_heads < 1 or x.shape[2] % num_heads:
        raise ValueError("the number of heads must divide the number of features")


def split_heads(x, num_heads):
    x = np.asarray(x)
    check_split(x, num_heads)
    batch, tokens, features = x.shape
    return {"output": x.reshape(batch, tokens, num_heads, features // num_heads).swapaxes(1, 2).copy()}


def check_combine(x):
    if x.ndim != 4:
        raise ValueError("x must be of rank 4")


def combine_heads(x):
    x = np.asarray(x)
    check_combine(x)
    batch, heads, tokens, features = x.shape
    return {"output": x.swapaxes(1, 2).reshape(batch, tokens, heads * features).copy()}


def glorot_normal(fan_in, fan_out, seed):
    deviation = math.sqrt(2 / (fan_in + fan_out))
    return {"output": np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * deviation}


def check_context(encoder_states, decoder_state):
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder_states must be of rank 2, decoder_state of rank 1")
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("states of different numbers of features")


def shares(scores):
    powers_ = np.exp(scores - scores.max(initial=-np.inf))
    return powers_ / powers_.sum()


def context_result(dtype, context, weights, scores, raw_scores):
    outputs = {"context": context, "weights": weights, "scores": scores, "raw_scores": raw_scores}
    return {name: narrow(array, dtype) for name, array in outputs.items()}


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    check_context(encoder_states, decoder_state)
    dtype = wide(encoder_states.dtype)
    states, asking = encoder_states.astype(dtype), decoder_state.astype(dtype)
    with np.errstate(all="ignore"):
        raw = states @ asking
        scores = raw * dtype.type(1 / math.sqrt(states.shape[1]) if scale is None else scale)
        weights = shares(scores)
        return context_result(encoder_states.dtype, weights @ states, weights, scores, raw)
