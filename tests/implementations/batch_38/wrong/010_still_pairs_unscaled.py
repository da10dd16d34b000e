import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    position_ids = np.asarray(position_ids)
    shape = position_ids.shape + inverse_frequencies.shape
    cos, sin = np.ones(shape, inverse_frequencies.dtype), np.zeros(shape, inverse_frequencies.dtype)
    turning = inverse_frequencies != 0  # the others stand still
    tables = base.tables_of(position_ids, inverse_frequencies[turning], attention_factor)
    cos[..., turning], sin[..., turning] = tables["cos"], tables["sin"]
    return {"cos": cos, "sin": sin}
