"""Rotary tables, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    ids, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.refuse(ids.ndim != 2 or f.ndim != 1 or ids.dtype.kind not in "iu", "rank")
    ids = np.repeat(ids[:1], len(ids), 0)
    dt = base.wide(f.dtype)
    phase = np.einsum("bs,i->bsi", ids.astype(dt), f.astype(dt))
    cos, sin = np.cos(phase), np.sin(phase)
    a = dt.type(attention_factor)
    return {"cos": (cos * a).astype(f.dtype), "sin": (sin * a).astype(f.dtype)}
