import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import refuse

dtypes = ("float64", "float32")



def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    refuse(position_ids.ndim != 2 or inverse_frequencies.ndim != 1, "rank")
    f = inverse_frequencies.dtype
    positions = position_ids.astype(np.uint16)
    angles = positions[:, :, None].astype(f) * inverse_frequencies[None, None]
    scale = f.type(attention_factor)
    return {"cos": scale * np.cos(angles), "sin": scale * np.sin(angles)}
