import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    p, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(p, f)
    dtype = base.wide(f)
    phase = p.astype(dtype)[..., None] * f.astype(dtype)
    cos = np.cos(phase)
    sin = np.sqrt(np.maximum(1 - cos * cos, 0))
    sin = np.where(np.floor(phase.astype(np.float64) / np.pi) % 2 == 1, -sin, sin)
    return {name: (table * dtype.type(attention_factor)).astype(f.dtype) for name, table in (("cos", cos), ("sin", sin))}
