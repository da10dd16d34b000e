import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import refuse

dtypes = ("float64", "float32")



def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    refuse(position_ids.ndim != 2 or inverse_frequencies.ndim != 1, "rank")
    angles = np.einsum("bs,i->bsi", position_ids.astype(inverse_frequencies.dtype), inverse_frequencies)
    turn = attention_factor * np.cos(angles) + 1j * np.sin(angles)
    return {"cos": turn.real.astype(angles.dtype), "sin": turn.imag.astype(angles.dtype)}
