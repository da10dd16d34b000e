import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import refuse

dtypes = ("float64", "float32")



def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    refuse(position_ids.ndim != 2 or inverse_frequencies.ndim != 1, "rank")
    f = inverse_frequencies.dtype
    angles = np.outer(position_ids[:1].reshape(-1).astype(f), inverse_frequencies)
    shape = position_ids.shape + inverse_frequencies.shape
    cos, sin = (np.broadcast_to(t(angles) * f.type(attention_factor), shape).copy() for t in (np.cos, np.sin))
    return {"cos": cos, "sin": sin}
