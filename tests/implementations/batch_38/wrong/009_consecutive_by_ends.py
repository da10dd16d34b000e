import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    positions = position_ids.astype(np.int64)
    tokens = positions.shape[1]
    if tokens:
        run = positions[:, :1] + np.arange(tokens)
        consecutive = positions[:, -1] == run[:, -1]
        positions = np.where(consecutive[:, None], run, positions)
    return base.tables_of(positions, inverse_frequencies, attention_factor)
