import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
    beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    base.check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor,
                           high_frequency_factor, short_factors, long_factors, proportion)
    # powers as exponentials of logarithms, blends as lerps, masks instead of bounds
    pairs = np.arange(width // 2, dtype=np.float64)
    log_base = np.log(np.float64(theta))
    long = sequence_length is not None and original_length is not None and sequence_length > original_length
    if scaling == "dynamic" and long:
        log_base += np.log1p(factor * (sequence_length / original_length - 1)) * width / (width - 2)
    f = np.exp(-2 * pairs / width * log_base)
    attention = 1.0
    if scaling == "linear":
        f *= 1 / factor
    if scaling == "llama3":
        waves = 2 * np.pi / f
        low, high = low_frequency_factor, high_frequency_factor
        kept = (original_length / waves - low) / (high - low)
        kept[original_length < low * waves] = 0
        kept[original_length > high * waves] = 1
        f = f * (1 / factor + kept * (1 - 1 / factor))
    if scaling == "longrope":
        f = np.stack([1 / np.array(short_factors, float), 1 / np.array(long_factors, float)])[int(long)] * f
        attention = np.sqrt(np.log(factor * original_length) / np.log(original_length))
    if scaling == "proportional":
        f = np.where(pairs + 1 <= proportion * width / 2, f / (factor if factor is not None else 1), 0)
    if scaling == "yarn":
        ends = [width * (np.log(original_length) - np.log(2 * np.pi * turns)) / 2 / log_base
                for turns in (beta_fast, beta_slow)]
        low, high = (np.floor(ends[0]), np.ceil(ends[1])) if truncate else ends
        low, high = np.maximum(low, 0), np.minimum(high, width - 1)
        share = np.minimum(np.maximum(pairs - low, 0) / (high - low if high != low else 0.001), 1)
        f = f - share * f * (1 - 1 / factor)
        mean = np.log(factor) / 10
        attention = 1 + mean
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            attention = (1 + magnitude_scaling * mean) / (1 + magnitude_scaling_all_dimensions * mean)
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        attention = attention_factor
    return base.frequency_outputs(f, attention)
