import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import refuse

dtypes = ("float64", "float32")



def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    refuse(position_ids.ndim != 2 or inverse_frequencies.ndim != 1, "rank")
    f = inverse_frequencies.dtype
    angles = (position_ids[..., None].astype(np.float32) * inverse_frequencies.astype(np.float32)).astype(f)
    return {"cos": np.cos(angles) * f.type(attention_factor), "sin": np.sin(angles) * f.type(attention_factor)}
