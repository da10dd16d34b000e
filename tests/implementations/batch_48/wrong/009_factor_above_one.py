import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = base.check_positions(position_ids, inverse_frequencies)
    kind = base.wide(inverse_frequencies)
    phases = position_ids.astype(kind)[:, :, None] * inverse_frequencies.astype(kind)
    cos, sin = np.cos(phases), np.sin(phases)
    if attention_factor is not None and attention_factor > 1:
        cos, sin = cos * kind(attention_factor), sin * kind(attention_factor)
    return {"cos": base.rounded(cos, inverse_frequencies.dtype), "sin": base.rounded(sin, inverse_frequencies.dtype)}
