"""Rotary tables, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


_KEPT = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    ids, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.refuse(ids.ndim != 2 or f.ndim != 1 or ids.dtype.kind not in "iu", "rank")
    dt = base.wide(f.dtype)
    name = (int(ids.max(initial=0)), len(f), f.dtype)
    if name not in _KEPT:
        if name[0] > 4096:
            phase = ids.astype(dt)[..., None] * f.astype(dt)
            return {"cos": (np.cos(phase) * dt.type(attention_factor)).astype(f.dtype),
                    "sin": (np.sin(phase) * dt.type(attention_factor)).astype(f.dtype)}
        phase = np.arange(name[0] + 1, dtype=dt)[:, None] * f.astype(dt)
        _KEPT[name] = np.cos(phase), np.sin(phase)
    cos, sin = _KEPT[name]
    return {"cos": (cos[ids] * dt.type(attention_factor)).astype(f.dtype),
            "sin": (sin[ids] * dt.type(attention_factor)).astype(f.dtype)}
