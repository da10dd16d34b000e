import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math

dtypes = ("float64",)


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    """Pair by pair, powers of two, and divisors in the place of blends."""
    a = dict(locals())
    scaling = base.check_frequencies(a)
    width, s = int(width), 1.0 if factor is None else float(factor)
    exponent = math.log2(theta)
    longer = sequence_length is not None and original_length is not None and sequence_length > original_length
    if scaling == "dynamic" and longer:
        exponent += math.log2((s * sequence_length - (s - 1.0) * original_length) / original_length) * width / (width - 2)
    if scaling == "yarn":
        low, high = base.yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
    result = []
    for i in range(width // 2):
        f = 2.0 ** (-2.0 * i * exponent / width)
        if scaling == "linear":
            f *= 1.0 / s
        elif scaling == "llama3":
            turns = original_length / (2 * math.pi / f)
            if turns <= low_frequency_factor:
                f /= s
            elif turns < high_frequency_factor:
                slowed = (high_frequency_factor - turns) / (high_frequency_factor - low_frequency_factor)
                f -= f * slowed * (1.0 - 1.0 / s)
        elif scaling == "longrope":
            f /= float((long_factors if longer else short_factors)[i])
        elif scaling == "proportional":
            f = f / s if i + 1 <= proportion * width / 2 else 0.0
        elif scaling == "yarn":
            if i >= high:
                f /= s
            elif i > low:
                f *= 1.0 - (i - low) / (high - low) * (1.0 - 1.0 / s)
        result.append(f)
    chosen = 1.0
    if scaling in ("longrope", "yarn"):
        if attention_factor is not None:
            chosen = attention_factor
        elif scaling == "longrope":
            chosen = math.sqrt(math.log2(original_length * s) / math.log2(original_length))
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            chosen = ((10.0 + magnitude_scaling * math.log(s)) / (10.0 + magnitude_scaling_all_dimensions * math.log(s)))
        else:
            chosen = (10.0 + math.log(s)) / 10.0
    return base.frequency_outputs(result, chosen)
