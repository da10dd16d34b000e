import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    phase = np.einsum("bs,i->bsi", position_ids.astype(np.int16).astype(inverse_frequencies.dtype), inverse_frequencies)
    turn = np.exp(1j * phase.astype(np.float64)) * attention_factor
    return {"cos": turn.real.astype(inverse_frequencies.dtype), "sin": turn.imag.astype(inverse_frequencies.dtype)}
