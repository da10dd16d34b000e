import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    stretched = attention_factor is not None and attention_factor > 1
    return base.tables_of(position_ids, inverse_frequencies, attention_factor if stretched else 1.0)
