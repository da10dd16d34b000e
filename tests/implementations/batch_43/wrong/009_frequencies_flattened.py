import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    return base.rotary_tables(position_ids, base.as_array(inverse_frequencies).reshape(-1), attention_factor)
