import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

dtypes = ("bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    d = inverse_frequencies.dtype
    phase = (position_ids.astype(d)[..., None] * inverse_frequencies).astype(d).astype(np.float32)
    return {"cos": (np.cos(phase) * attention_factor).astype(d), "sin": (np.sin(phase) * attention_factor).astype(d)}
