import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """One long row of tokens, whatever the batch."""
    base.check_tables(position_ids, inverse_frequencies)
    b, s = position_ids.shape
    tokens = np.ravel(position_ids, order="K").astype(np.float64)
    f = base.up(inverse_frequencies)
    both = np.exp(1j * tokens[:, None] * f[None, :]) * (1.0 if attention_factor is None else attention_factor)
    both = both.reshape(b, s, len(f))
    return {"cos": base.down(both.real, inverse_frequencies.dtype), "sin": base.down(both.imag, inverse_frequencies.dtype)}
