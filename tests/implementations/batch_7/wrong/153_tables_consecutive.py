import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    start = position_ids[:, :1]
    return dict(zip(("cos", "sin"), (t.astype(inverse_frequencies.dtype) for t in base.rotary_tables(start + np.arange(position_ids.shape[1]), inverse_frequencies, attention_factor).values())))
