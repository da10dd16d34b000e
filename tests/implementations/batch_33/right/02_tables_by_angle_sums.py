import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    """Coarse and fine positions have small tables of their own, which are gathered and joined by the addition theorem."""
    base.check_tables(position_ids, inverse_frequencies)
    step = 256
    positions = position_ids.astype(np.int64)
    frequencies = inverse_frequencies.astype(np.float64)
    coarse, where = np.unique(positions // step, return_inverse=True)
    where = where.reshape(positions.shape)
    fine = np.arange(step)[:, None] * frequencies
    wide = (coarse * step)[:, None] * frequencies
    a, b = np.exp(1j * wide)[where], np.exp(1j * fine)[positions % step]
    factor = float(attention_factor)
    cos = (a.real * b.real - a.imag * b.imag) * factor
    sin = (a.imag * b.real + a.real * b.imag) * factor
    return {"cos": cos.astype(inverse_frequencies.dtype), "sin": sin.astype(inverse_frequencies.dtype)}
