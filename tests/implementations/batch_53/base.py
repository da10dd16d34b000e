"""Right implementations after the pages, and parts that the other files use. Everything is carried in float64."""
import math

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")


def wide(array):
    return np.asarray(array).astype(np.float64)


def narrow(array, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


# ---- rotary -------------------------------------------------------------------------------------------------------

def check_rotary(x, cos, sin, pairing):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing must be half or interleaved")
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("x must be of rank 4 and the tables of rank 3")
    if cos.shape != sin.shape:
        raise ValueError("cos and sin differ in shape")
    if cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("the tables do not fit the tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("more pairs than features")
    return x, cos, sin


def pair_slices(pairs, pairing):
    if pairing == "half":
        return slice(0, pairs), slice(pairs, 2 * pairs)
    return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)


def turn(first, second, cos, sin):
    with np.errstate(all="ignore"):
        return cos * first - sin * second, sin * first + cos * second


def rotate(x, cos, sin, pairing):
    """x, cos and sin are checked; cos and sin may have one batch entry for all."""
    a, b = pair_slices(cos.shape[2], pairing)
    first, second = turn(wide(x[..., a]), wide(x[..., b]), wide(cos)[:, None], wide(sin)[:, None])
    output = np.array(x, order="C")
    output[..., a] = narrow(first, x.dtype)
    output[..., b] = narrow(second, x.dtype)
    return output


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = check_rotary(x, cos, sin, pairing)
    return {"output": rotate(x, cos, sin, pairing)}


def check_tables(position_ids, inverse_frequencies):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("position_ids must be of rank 2 and inverse_frequencies of rank 1")
    return position_ids, inverse_frequencies


def tables_from(positions, inverse_frequencies, attention_factor):
    """positions (B, S) in float64"""
    phases = positions[:, :, None] * wide(inverse_frequencies)
    dtype = inverse_frequencies.dtype
    with np.errstate(all="ignore"):
        return {
            "cos": narrow(np.cos(phases) * attention_factor, dtype),
            "sin": narrow(np.sin(phases) * attention_factor, dtype),
        }


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = check_tables(position_ids, inverse_frequencies)
    return tables_from(wide(position_ids), inverse_frequencies, float(attention_factor))


def yarn_turns_at(width, theta, original_length, turns):
    return width * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(theta))


def yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate):
    low = yarn_turns_at(width, theta, original_length, beta_fast)
    high = yarn_turns_at(width, theta, original_length, beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, width - 1)


def yarn_blend(frequencies, factor, low, high):
    if low == high:
        high += 0.001
    share = np.clip((np.arange(len(frequencies)) - low) / (high - low), 0, 1)
    return share * frequencies / factor + (1 - share) * frequencies


def powers(theta, width):
    return float(theta) ** (-2.0 * np.arange(width // 2) / width)


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
    if scaling is None:
        scaling = "none"
    if scaling not in SCALINGS:
        raise ValueError("no such scaling")
    width = int(width)
    if width < 2 or width % 2:
        raise ValueError("width must be even and at least 2")
    if not theta > 0:
        raise ValueError("theta must be above 0")
    needs = {
        "linear": (factor,),
        "dynamic": (factor, original_length),
        "llama3": (factor, original_length, low_frequency_factor, high_frequency_factor),
        "longrope": (factor, original_length, short_factors, long_factors),
        "yarn": (factor, original_length),
    }.get(scaling, ())
    if any(given is None for given in needs):
        raise ValueError("a parameter is missing")
    if scaling != "none" and factor is not None and not factor > 0:
        raise ValueError("factor must be above 0")
    n = original_length if sequence_length is None else sequence_length
    own = 1.0
    frequencies = powers(theta, width)
    if scaling == "linear":
        frequencies = frequencies / factor
    elif scaling == "dynamic":
        if width < 4:
            raise ValueError("width must be at least 4 under dynamic")
        if n > original_length:
            stretch = (factor * n / original_length - factor + 1) ** (width / (width - 2))
            frequencies = powers(theta * stretch, width)
    elif scaling == "llama3":
        if not high_frequency_factor > low_frequency_factor:
            raise ValueError("high_frequency_factor must be above low_frequency_factor")
        turns = original_length * frequencies / (2 * math.pi)
        kept = np.clip((turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0, 1)
        frequencies = kept * frequencies + (1 - kept) * frequencies / factor
    elif scaling == "longrope":
        lists = [np.asarray(given, dtype=np.float64) for given in (short_factors, long_factors)]
        if any(given.shape != (width // 2,) for given in lists):
            raise ValueError("lists of factors must have R/2 elements")
        frequencies = frequencies / lists[int(n > original_length)]
        if attention_factor is None:
            own = math.sqrt(1 + math.log(factor) / math.log(original_length))
    elif scaling == "proportional":
        if not 0 <= proportion <= 1:
            raise ValueError("proportion must lie between 0 and 1")
        count = math.floor(proportion * (width // 2))
        frequencies = np.where(np.arange(width // 2) < count, frequencies / (1 if factor is None else factor), 0.0)
    elif scaling == "yarn":
        if not theta > 1:
            raise ValueError("theta must be above 1 under yarn")
        low, high = yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
        frequencies = yarn_blend(frequencies, factor, low, high)
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            own = magnitude(magnitude_scaling, factor) / magnitude(magnitude_scaling_all_dimensions, factor)
        else:
            own = magnitude(1, factor)
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        own = float(attention_factor)
    return {"inverse_frequencies": frequencies, "attention_factor": np.array(own, dtype=np.float64)}


def magnitude(coefficient, factor):
    return 0.1 * coefficient * math.log(factor) + 1


# ---- the small ones -------------------------------------------------------------------------------------------------

def check_lengths(query_length, key_length):
    key_length = query_length if key_length is None else key_length
    if query_length < 0 or key_length < 0:
        raise ValueError("lengths are not negative")
    return int(query_length), int(key_length)


def written(allowed, additive):
    return {"output": np.where(allowed, 0.0, -np.inf) if additive else allowed}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    query_length, key_length = check_lengths(query_length, key_length)
    allowed = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return written(allowed, additive)


def check_split(x, num_heads):
    x = np.asarray(x)
    if x.ndim != 3:
        raise ValueError("x must be of rank 3")
    if num_heads < 1 or x.shape[2] % num_heads:
        raise ValueError("num_heads must divide the features")
    return x


def split_heads(x, num_heads):
    x = check_split(x, num_heads)
    batch, tokens, features = x.shape
    heads = np.array(x, order="C").reshape(batch, tokens, num_heads, features // num_heads)
    return {"output": np.array(heads.swapaxes(1, 2), order="C")}


def check_combine(x):
    x = np.asarray(x)
    if x.ndim != 4:
        raise ValueError("x must be of rank 4")
    return x


def combine_heads(x):
    x = check_combine(x)
    batch, heads, tokens, features = x.shape
    return {"output": np.array(x.swapaxes(1, 2), order="C").reshape(batch, tokens, heads * features)}


def check_glorot(fan_in, fan_out, seed):
    if fan_in < 1 or fan_out < 1 or seed < 0:
        raise ValueError("fans are positive, seeds not negative")


def glorot_normal(fan_in, fan_out, seed):
    check_glorot(fan_in, fan_out, seed)
    generator = np.random.Generator(np.random.PCG64(int(seed)))
    return {"output": generator.standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))}


def check_context(encoder_states, decoder_state):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder_states must be of rank 2 and decoder_state of rank 1")
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("states differ in their number of features")
    return encoder_states, decoder_state


def default_scale(scale, features):
    return (1 / math.sqrt(features) if features else 1.0) if scale is None else float(scale)


def softmax(scores):
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores - scores.max(initial=-np.inf))
        return exponentials / exponentials.sum()


def context_outputs(dtype, **outputs):
    return {name: narrow(array, dtype) for name, array in outputs.items()}


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = check_context(encoder_states, decoder_state)
    states, asking = wide(encoder_states), wide(decoder_state)
    with np.errstate(all="ignore"):
        raw = states @ asking
        scores = raw * default_scale(scale, states.shape[1])
        weights = softmax(scores)
        context = weights @ states
    return context_outputs(encoder_states.dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
