import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def _whole(table, fill, width, pairing, work):
    """A table with a column for each feature; those that stay get the identity."""
    pairs = table.shape[2]
    a, b = base.pair_slices(pairs, pairing)
    whole = np.full((*table.shape[:2], width), fill, dtype=work)
    whole[..., a] = whole[..., b] = table
    return whole[:, None]


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    work, width = base.work_dtype(x), x.shape[3]
    a, b = base.pair_slices(cos.shape[2], pairing)
    wide = x.astype(work)
    partner = np.zeros(x.shape, dtype=work)
    partner[..., a], partner[..., b] = -wide[..., b], wide[..., a]
    c, s = _whole(cos, 1, width, pairing, work), _whole(sin, 0, width, pairing, work)
    with np.errstate(all="ignore"):
        return {"output": (wide * c + partner * s).astype(x.dtype)}
