import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    """Every position is computed once, however often it occurs."""
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    kind = inverse_frequencies.dtype
    real = np.promote_types(kind, np.float32)
    B, S = position_ids.shape
    cos = np.empty((B, S, len(inverse_frequencies)), kind)
    sin = np.empty_like(cos)
    for b in range(B):
        once = np.unique(position_ids[b])
        at = np.arange(S) if len(once) == S else np.searchsorted(once, position_ids[b])
        phase = once.astype(real)[:, None] * inverse_frequencies.astype(real)
        cos[b] = (np.cos(phase) * real.type(attention_factor))[at]
        sin[b] = (np.sin(phase) * real.type(attention_factor))[at]
    return {"cos": cos, "sin": sin}

dtypes = ("float64", "float32")
