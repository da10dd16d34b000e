import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Rows that run from a start without gaps are counted, the others are read."""
    base.check_tables(position_ids, inverse_frequencies)
    b, s = position_ids.shape
    f, factor = base.up(inverse_frequencies), 1.0 if attention_factor is None else attention_factor
    cos, sin = np.empty((b, s, len(f))), np.empty((b, s, len(f)))
    for row in range(b):
        ids = np.asarray(position_ids[row]).astype(np.int64)
        if s and ids[-1] - ids[0] == s - 1:
            phase = np.multiply.outer(np.arange(ids[0], ids[0] + s, dtype=np.float64), f)
        else:
            phase = np.multiply.outer(ids.astype(np.float64), f)
        cos[row], sin[row] = np.cos(phase), np.sin(phase)
    return {"cos": base.down(cos * factor, inverse_frequencies.dtype), "sin": base.down(sin * factor, inverse_frequencies.dtype)}
