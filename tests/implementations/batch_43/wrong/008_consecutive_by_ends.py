import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    p, f = base.as_array(position_ids), base.as_array(inverse_frequencies)
    base.check_tables(p, f)
    rows = p.astype(np.int64)
    count = rows.shape[1]
    if rows.size and (rows[:, -1] - rows[:, 0] == count - 1).all():
        rows = rows[:, :1] + np.arange(count)
    phases = rows.astype(np.float64)[:, :, None] * f.astype(np.float64)
    return base.tables_of(phases, attention_factor, f.dtype)
