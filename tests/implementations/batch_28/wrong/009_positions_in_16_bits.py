import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    p, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(p, f)
    dtype = base.wide(f)
    packed = p.astype(np.uint16)
    cos, sin = (np.empty((*p.shape, len(f)), f.dtype) for _ in "cs")
    for i, frequency in enumerate(f.astype(dtype)):
        phase = packed.astype(dtype) * frequency
        cos[:, :, i] = (np.cos(phase) * dtype.type(attention_factor)).astype(f.dtype)
        sin[:, :, i] = (np.sin(phase) * dtype.type(attention_factor)).astype(f.dtype)
    return {"cos": cos, "sin": sin}
