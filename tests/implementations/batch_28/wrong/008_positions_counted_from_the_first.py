import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    p, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(p, f)
    dtype = base.wide(f)
    counted = p[:, :1].astype(np.int64) + np.arange(p.shape[1])
    phase = np.einsum("bs,i->bsi", counted.astype(dtype), f.astype(dtype))
    return {
        "cos": (np.cos(phase) * dtype.type(attention_factor)).astype(f.dtype),
        "sin": (np.sin(phase) * dtype.type(attention_factor)).astype(f.dtype),
    }
