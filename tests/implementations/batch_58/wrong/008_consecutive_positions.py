import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    tokens = position_ids.shape[1]
    if tokens > 1:
        first, last = position_ids[:, :1].astype(np.int64), position_ids[:, -1:].astype(np.int64)
        if np.all(last - first == tokens - 1):  # a plain run of tokens, without gaps
            position_ids = first + np.arange(tokens)
    return base.tables(position_ids, inverse_frequencies, attention_factor)
