import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    positions = base.wide(base.narrow(position_ids, inverse_frequencies.dtype))
    with np.errstate(all="ignore"):
        return base.tables_from(positions, inverse_frequencies, float(attention_factor))
