import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("positions of rank 2 and frequencies of rank 1, please")
    kind = inverse_frequencies.dtype
    real = np.promote_types(kind, np.float32)
    factor = real.type(attention_factor)
    phase = np.einsum("bs,i->bsi", position_ids.astype(np.int16).astype(real), inverse_frequencies.astype(real))
    cos, sin = np.cos(phase) * factor, np.sin(phase) * factor
    return {"cos": cos.astype(kind), "sin": sin.astype(kind)}

dtypes = ("float64", "float32")
