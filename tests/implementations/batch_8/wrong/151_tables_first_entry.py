import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("positions of rank 2 and frequencies of rank 1, please")
    kind = inverse_frequencies.dtype
    real = np.promote_types(kind, np.float32)
    factor = real.type(attention_factor)
    shared = np.broadcast_to(position_ids[:1], position_ids.shape)
    phase = np.einsum("bs,i->bsi", shared.astype(real), inverse_frequencies.astype(real))
    cos, sin = np.cos(phase) * factor, np.sin(phase) * factor
    return {"cos": cos.astype(kind), "sin": sin.astype(kind)}

dtypes = ("float64", "float32")
